"""The weights of the networks: trained ones, which are part of the package, and random ones."""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .files import write_bytes

Weights = dict[str, npt.NDArray[np.float32]]

# Gives the tensor of a name and shape.
Source = Callable[[str, tuple[int, ...]], npt.NDArray[np.float32]]

SEED = 1
BIAS_BOUND = 0.1

# The entry of an activation beside its tensors: test images that are classified rightly, and all.
SCORE = "test"


class Trained(NamedTuple):
    """The result of a training."""

    tensors: Weights
    correct: int  # of the test images
    images: int


def path(arch: str) -> Path:
    """Tell where the trained weights of an architecture are kept.

    Parameters
    ----------
    arch : str
        A key of `fastact.export.ARCHITECTURES`.

    Returns
    -------
    Path
        A file beside this module.
    """
    return Path(__file__).with_name(f"weights_{arch}.npz")


@functools.cache
def load(arch: str) -> dict[str, Trained]:
    """Read the trained weights of an architecture.

    Parameters
    ----------
    arch : str
        A key of `fastact.export.ARCHITECTURES` that is trained.

    Returns
    -------
    dict of str to Trained
        For each activation, the tensors by name, and how many test images they get right.

    Examples
    --------
    >>> load("digits")["relu"].tensors["conv1_weight"].shape
    (16, 1, 3, 3)
    """
    tensors: dict[str, Weights] = {}
    scores: dict[str, tuple[int, int]] = {}
    with np.load(path(arch)) as archive:
        for key in archive.files:
            activation, _, name = key.partition("/")
            if name == SCORE:
                correct, images = archive[key].tolist()
                scores[activation] = (correct, images)
            else:
                weight = archive[key].astype(np.float32)
                tensors.setdefault(activation, {})[name] = weight
    return {name: Trained(tensors[name], *scores[name]) for name in tensors}


def store(file: Path, trained: Mapping[str, Trained]) -> None:
    """Write the trained weights of an architecture; the same weights give the same bytes.

    Parameters
    ----------
    file : Path
        Where to.
    trained : mapping of str to Trained
        For each activation, the tensors by name. Their values are those of float16, which
        takes half the space and costs no accuracy.

    Raises
    ------
    ValueError
        If a weight is no float16 value.
    """
    arrays: dict[str, Any] = {}
    for activation, (tensors, correct, images) in trained.items():
        for name, weight in tensors.items():
            half = weight.astype(np.float16)
            if not np.array_equal(half, weight):
                raise ValueError(f"{name} of {activation} has values that float16 has not")
            arrays[f"{activation}/{name}"] = half
        arrays[f"{activation}/{SCORE}"] = np.array([correct, images])
    buffer = io.BytesIO()
    # Not compressed: weights hardly shrink, and zlib's output depends on its version.
    np.savez(buffer, **arrays)
    write_bytes(file, buffer.getvalue())


def score(correct: int, images: int) -> str:
    """Write an accuracy as it stands in a model's metadata.

    Parameters
    ----------
    correct, images : int
        How many test images are classified rightly, and how many there are.

    Returns
    -------
    str
        The share and the counts.

    Examples
    --------
    >>> score(355, 360)
    '0.9861 (355 of 360 test images)'
    """
    return f"{correct / images:.4f} ({correct} of {images} test images)"


def trained_source(tensors: Weights) -> Source:
    """Take weights from a training.

    Parameters
    ----------
    tensors : dict of str to ndarray
        The trained weights by name.

    Returns
    -------
    callable
        Gives the tensor of a name, and raises ValueError if there is none or its shape is not
        the wanted one: shape inference lets some mismatches pass, so stale weights are caught
        here.
    """

    def source(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        if name not in tensors:
            raise ValueError(f"the weights have no {name}; they have {', '.join(tensors)}")
        if tensors[name].shape != shape:
            raise ValueError(f"{name} has shape {tensors[name].shape}, not {shape}")
        return tensors[name]

    return source


def random_source(seed: int = SEED) -> Source:
    """Draw weights as He's initialisation does, and small biases.

    Parameters
    ----------
    seed : int, optional
        Another seed gives other weights.

    Returns
    -------
    callable
        Gives the next tensor, the same bits everywhere: `uniform` draws them.

    Examples
    --------
    >>> random_source()("weight", (1, 2)).tolist()
    [[0.040951307862997055, 1.5604519844055176]]
    """
    bits = np.random.PCG64(seed)

    def source(name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        # Of a uniform distribution of the variance 2 / fan-in. That is right for ReLU; biases,
        # such as batch norm leaves, keep a deep network with GELU from fading to nothing.
        bound = math.sqrt(6 / math.prod(shape[1:])) if len(shape) > 1 else BIAS_BOUND
        return ((2 * uniform(bits, shape) - 1) * bound).astype(np.float32)

    return source


def uniform(bits: np.random.PCG64, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Draw numbers from 0 to 1, the same bits on every machine and in every NumPy.

    NumPy keeps the raw output of its bit generators as it is, not what its distributions make
    of it; so the numbers are made here, by operations that round nothing.

    Parameters
    ----------
    bits : numpy.random.PCG64
        Where they come from.
    shape : tuple of int
        How many.

    Returns
    -------
    ndarray of float64
        Multiples of 2**-53 below 1.
    """
    raw = bits.random_raw(math.prod(shape)) >> np.uint64(11)
    return raw.reshape(shape).astype(np.float64) * 2.0**-53
