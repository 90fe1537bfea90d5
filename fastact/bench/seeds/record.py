"""What an activation gives in accuracy over several trainings, and how much of that is noise.

`study` has trained each network from five seeds with every activation, and recorded which
test images each of them gets right; here is what the record tells.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import statistics
from .statistics import Accuracy, Difference, Right

#: How a model computes. "int8" is static quantisation with uint8 codes and int8 weights.
PRECISIONS = ("float32", "int8")


@dataclass(frozen=True, eq=False)
class Study:
    """The record of one network: which test images it gets right, trained from several seeds.

    Parameters
    ----------
    arch : str
        The network.
    seeds : tuple of int
        What it was trained from; the weights that come with fastact are those of seed 1.
    right : dict of (str, str) to ndarray of bool, shape (seeds, images)
        For each activation and precision, which test images are classified rightly.
    about : dict
        How it was made: epochs, learning rate, machine, versions.
    """

    arch: str
    seeds: tuple[int, ...]
    right: dict[tuple[str, str], Right]
    about: dict[str, Any]

    @property
    def activations(self) -> tuple[str, ...]:
        """The activations that were tried."""
        return tuple(dict.fromkeys(activation for activation, _ in self.right))

    def accuracy(self, activation: str, precision: str = "float32") -> Accuracy:
        """Tell the accuracy of an activation over the seeds.

        Parameters
        ----------
        activation : str
            One of `activations`.
        precision : {"float32", "int8"}, optional
            How the model computes.

        Returns
        -------
        Accuracy
            Counts, mean and interval; see `statistics.accuracy`.

        Raises
        ------
        ValueError
            If there is no such activation or precision.

        Examples
        --------
        >>> len(load("digits").accuracy("gelu").counts)
        5
        """
        return statistics.accuracy(self._of(activation, precision))

    def difference(self, a: str, b: str, precision: str = "float32") -> Difference:
        """Tell how much more accurate one activation is than another, and how sure that is.

        Parameters
        ----------
        a, b : str
            Two of `activations`.
        precision : {"float32", "int8"}, optional
            How the models compute.

        Returns
        -------
        Difference
            The mean of ``a - b`` with its errors; see `statistics.difference`.

        Raises
        ------
        ValueError
            If there is no such activation or precision.

        Examples
        --------
        >>> load("digits").difference("relu", "relu").more_than_noise
        False
        """
        return statistics.difference(self._of(a, precision), self._of(b, precision))

    def _of(self, activation: str, precision: str) -> Right:
        for what, name, known in (
            ("activation", activation, self.activations),
            ("precision", precision, PRECISIONS),
        ):
            if name not in known:
                raise ValueError(f"unknown {what} {name!r}; accepted: {', '.join(known)}")
        return self.right[activation, precision]


def path(arch: str) -> Path:
    """Tell where the record of a network is kept.

    Parameters
    ----------
    arch : str
        The network.

    Returns
    -------
    Path
        A file beside this module.
    """
    return Path(__file__).with_name(f"{arch}.npz")


def load(arch: str) -> Study:
    """Read the record of a network.

    Parameters
    ----------
    arch : str
        A network that is trained.

    Returns
    -------
    Study
        The record that comes with fastact.

    Raises
    ------
    ValueError
        If there is none. The networks that are not trained have none.

    Examples
    --------
    >>> load("lenet5").seeds
    (1, 2, 3, 4, 5)
    >>> load("resnet8")
    Traceback (most recent call last):
    ValueError: no study of 'resnet8': only networks that are trained have one: digits, lenet5
    """
    studied = [file.stem for file in sorted(path("*").parent.glob("*.npz"))]
    if arch not in studied:
        raise ValueError(
            f"no study of {arch!r}: only networks that are trained have one: {', '.join(studied)}"
        )
    return read(path(arch))


def read(file: Path) -> Study:
    """Read a record.

    Parameters
    ----------
    file : Path
        From `store`.

    Returns
    -------
    Study
        The record.
    """
    with np.load(file) as archive:
        head = json.loads(str(archive["head"]))
        bits = np.unpackbits(archive["right"], axis=-1, count=head["images"]).astype(bool)
    pairs = [(name, precision) for name in head["activations"] for precision in PRECISIONS]
    right = dict(zip(pairs, bits.reshape(len(pairs), *bits.shape[2:]), strict=True))
    return Study(head["arch"], tuple(head["seeds"]), right, head["about"])


def store(file: Path, study: Study) -> None:
    """Write a record, a bit for each image; the same record gives the same bytes.

    Parameters
    ----------
    file : Path
        Where to.
    study : Study
        The record.
    """
    from ...export.files import write_bytes

    bits = np.array([[study.right[a, p] for p in PRECISIONS] for a in study.activations])
    head = {
        "arch": study.arch,
        "activations": study.activations,
        "seeds": study.seeds,
        "images": bits.shape[-1],
        "about": study.about,
    }
    buffer = io.BytesIO()
    np.savez(buffer, head=np.array(json.dumps(head)), right=np.packbits(bits, axis=-1))
    write_bytes(file, buffer.getvalue())
