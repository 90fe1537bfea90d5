"""The digit images that the digits CNN is trained and measured on, from scikit-learn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._extras import require
from .checks import one_of

NAME = "scikit-learn's digits"

# The split: image i of scikit-learn's 1,797 is a test image when i is a multiple of this.
TEST_EVERY = 5


def load(split: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Load the images of one side of the split.

    Parameters
    ----------
    split : {"train", "test"}
        1,437 images for training, or the 360 kept apart for measuring.

    Returns
    -------
    images : ndarray of float32, shape (n, 1, 8, 8)
        Values from 0, the paper, to 1, the ink.
    labels : ndarray of int64, shape (n,)
        The digits.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    ValueError
        If `split` is neither.

    Examples
    --------
    >>> images, labels = load("test")
    >>> images.shape, labels[:4].tolist()
    ((360, 1, 8, 8), [0, 5, 0, 5])
    """
    one_of("split", split, ("train", "test"))
    data = require("sklearn.datasets", "report").load_digits()
    chosen = (np.arange(len(data.target)) % TEST_EVERY == 0) == (split == "test")
    # scikit-learn's values are 0 to 16.
    images = np.asarray(data.images[chosen, np.newaxis] / 16, np.float32)
    return images, np.asarray(data.target[chosen], np.int64)
