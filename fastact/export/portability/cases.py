"""The models that are tried, their inputs, and the outputs that they should give."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fastact

from .. import models
from ..architectures import ARCHITECTURES
from ..choice import choose, operators
from ..files import save
from ..forms import ACTIVATIONS, DEFAULT_OPSET, FORMS, lowest_opset
from ..targets import find

Array = npt.NDArray[Any]

# Besides the lowest that holds a form; all known to the oldest onnx that fastact allows.
OPSETS = (13, 17, 20, 22)

CNN_ACTIVATIONS = ("relu", "gelu", "gelu_tanh")

# The exact and the tanh form of GELU differ most at 2.7. Infinities
# are left out: every written-out form gives NaN at one of them.
_POINTS = np.concatenate([np.linspace(-10, 10, 1999), [2.7, -2.7]])[np.newaxis]


@dataclass(frozen=True)
class Case:
    """A model: an activation by itself, or a CNN.

    Parameters
    ----------
    activation, form : str
        The activation and how it is written.
    opset : int
        The opset of the file.
    dtype : str, optional
        The type of input and output.
    arch : str, optional
        The CNN; empty for an activation by itself.
    """

    activation: str
    form: str
    opset: int
    dtype: str = "float32"
    arch: str = ""

    @property
    def name(self) -> str:
        """The case in one word, which names its files.

        Examples
        --------
        >>> Case("gelu", "erf", 13).name, Case("relu", "op", 17, arch="lenet5").name
        ('gelu-erf-13-float32', 'lenet5-relu-op-17-float32')
        """
        words = (self.arch, self.activation, self.form, str(self.opset), self.dtype)
        return "-".join(word for word in words if word)

    @property
    def input(self) -> Array:
        """What the model is run on: the same values at every call."""
        if not self.arch:
            return _POINTS.astype(self.dtype)
        source = np.random.default_rng(zlib.crc32(self.arch.encode()))
        return source.random((1, *ARCHITECTURES[self.arch].image), np.float32)

    @property
    def expected(self) -> Array:
        """What the model should give.

        Of an activation, the float64 result of fastact, rounded to the type; of a CNN, what the
        onnxruntime at hand gives.
        """
        if not self.arch:
            y = getattr(fastact, self.activation)(self.input.astype(np.float64))
            return np.asarray(y.astype(self.dtype))
        import onnxruntime

        session = onnxruntime.InferenceSession(
            models.cnn(self.arch, self.activation).SerializeToString(),
            providers=["CPUExecutionProvider"],
        )
        (y,) = session.run(None, {"image": self.input})
        return np.asarray(y)

    def write(self, folder: Path) -> dict[str, str]:
        """Write the model and its input, if they are not there yet.

        Parameters
        ----------
        folder : Path
            Where to.

        Returns
        -------
        dict
            ``name``, and the files ``path`` and ``input``.
        """
        path, given = folder / f"{self.name}.onnx", folder / f"{self.name}.npy"
        if not given.exists():
            if self.arch:
                model = models.cnn(self.arch, self.activation, form=self.form, opset=self.opset)
            else:
                model = models.activation(
                    self.activation,
                    form=self.form,
                    opset=self.opset,
                    dtype=self.dtype,
                    shape=_POINTS.shape,
                )
            save(model, path)
            np.save(given, self.input)
        return {"name": self.name, "path": str(path), "input": str(given)}


def activations() -> list[Case]:
    """List every activation in every form at several opsets, and once as float16.

    Returns
    -------
    list of Case
        The cases, which are the same for every runtime.

    Examples
    --------
    >>> [case.name for case in activations() if case.form == "erf"][:2]
    ['gelu-erf-9-float32', 'gelu-erf-13-float32']
    """
    cases = []
    for name, forms in FORMS.items():
        for form in forms:
            lowest = lowest_opset(name, form)
            opsets = sorted({lowest, *(opset for opset in OPSETS if opset > lowest)})
            cases += [Case(name, form, opset) for opset in opsets]
            if "float16" in ACTIVATIONS[name].dtypes:
                cases.append(Case(name, form, max(lowest, DEFAULT_OPSET), "float16"))
    return cases


def networks(target: str, archs: Iterable[str] = tuple(ARCHITECTURES)) -> list[Case]:
    """List the CNNs, each activation written as it is chosen for a target.

    Parameters
    ----------
    target : str
        One of `TARGETS`.
    archs : iterable of str, optional
        Which CNNs.

    Returns
    -------
    list of Case
        The cases; an activation that the target cannot run, or leaves to the CPU, has none.

    Examples
    --------
    >>> [case.name for case in networks("nnapi", ["digits"])]
    ['digits-relu-op-17-float32', 'digits-gelu_tanh-tanh-17-float32']
    """
    cases = []
    for activation in CNN_ACTIVATIONS:
        try:
            choice = choose(activation, target)
        except ValueError:
            continue
        if find(target).missing(operators(activation, choice.form, choice.opset)):
            continue
        cases += [Case(activation, choice.form, choice.opset, arch=arch) for arch in archs]
    return cases
