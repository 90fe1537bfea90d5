"""The trained weights that are part of the package, one file per architecture."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .files import write_bytes

Weights = dict[str, npt.NDArray[np.float32]]


def path(arch: str) -> Path:
    """Tell where the weights of an architecture are kept.

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
def load(arch: str) -> dict[str, Weights]:
    """Read the trained weights of an architecture.

    Parameters
    ----------
    arch : str
        A key of `fastact.export.ARCHITECTURES`.

    Returns
    -------
    dict of str to dict of str to ndarray
        For each activation, the tensors by name.
    """
    trained: dict[str, Weights] = {}
    with np.load(path(arch)) as archive:
        for key in archive.files:
            activation, _, name = key.partition("/")
            trained.setdefault(activation, {})[name] = archive[key]
    return trained


def store(file: Path, trained: Mapping[str, Weights]) -> None:
    """Write the trained weights of an architecture; the same weights give the same bytes.

    Parameters
    ----------
    file : Path
        Where to.
    trained : mapping of str to dict of str to ndarray
        For each activation, the tensors by name.
    """
    arrays: dict[str, Any] = {
        f"{activation}/{name}": weight
        for activation, tensors in trained.items()
        for name, weight in tensors.items()
    }
    buffer = io.BytesIO()
    # Not compressed: weights hardly shrink, and zlib's output depends on its version.
    np.savez(buffer, **arrays)
    write_bytes(file, buffer.getvalue())
