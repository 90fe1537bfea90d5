"""Writes the layers of a network as ONNX text."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import forms
from .weights import Source

CONSTANTS = {name: np.array(value, np.float32) for name, value in forms.CONSTANTS.items()}


class Value(NamedTuple):
    """A value of the graph, and its shape without the batch."""

    name: str
    shape: tuple[int, ...]


class Writer:
    """The layers of a network as ONNX text (see `architectures.Layers`).

    Parameters
    ----------
    activation, form : str
        The activation at every site, and how it is written.
    opset : int
        The opset of the file.
    source : callable
        Where the weights come from.

    Attributes
    ----------
    nodes : list of str
        The ONNX text.
    tensors : dict of str to ndarray
        Constants and weights by name.
    sites : list of tuple of str
        Names of the values before and after each activation.
    """

    def __init__(self, activation: str, form: str, opset: int, source: Source) -> None:
        self.nodes: list[str] = []
        self.tensors: dict[str, npt.NDArray[Any]] = dict(CONSTANTS)
        self.sites: list[tuple[str, str]] = []
        self._activation = activation
        self._form = form
        self._opset = opset
        self._source = source

    def conv(
        self,
        name: str,
        x: Value,
        channels: int,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        pad: bool = True,
    ) -> Value:
        """Write Conv."""
        return self._conv(name, x, (channels, x.shape[0], *kernel), stride, pad, groups=1)

    def depthwise(
        self, name: str, x: Value, kernel: tuple[int, int] = (3, 3), stride: int = 1
    ) -> Value:
        """Write Conv with as many groups as channels."""
        channels = x.shape[0]
        return self._conv(name, x, (channels, 1, *kernel), stride, pad=True, groups=channels)

    def activation(self, x: Value) -> Value:
        """Write the activation in its form."""
        y = f"{x.name}_{self._activation}"
        self.sites.append((x.name, y))
        self.nodes.append(forms.nodes(self._activation, self._form, self._opset, x.name, y))
        return Value(y, x.shape)

    def add(self, name: str, x: Value, y: Value) -> Value:
        """Write Add."""
        self.nodes.append(f"{name} = Add ({x.name}, {y.name})")
        return Value(name, x.shape)

    def max_pool(self, name: str, x: Value) -> Value:
        """Write MaxPool."""
        window = "kernel_shape = [2, 2], strides = [2, 2]"
        self.nodes.append(f"{name} = MaxPool <{window}> ({x.name})")
        channels, height, width = x.shape
        return Value(name, (channels, height // 2, width // 2))

    def average(self, name: str, x: Value) -> Value:
        """Write GlobalAveragePool, whose result is then flattened."""
        mean = f"{name}_mean"
        self.nodes.append(f"{mean} = GlobalAveragePool ({x.name})")
        return self.flatten(name, Value(mean, (x.shape[0], 1, 1)))

    def flatten(self, name: str, x: Value) -> Value:
        """Write Reshape: not Flatten, which CoreML's MLProgram lacks."""
        features = math.prod(x.shape)
        self.tensors[f"{name}_shape"] = np.array([0, features], np.int64)  # 0 keeps the batch
        self.nodes.append(f"{name} = Reshape ({x.name}, {name}_shape)")
        return Value(name, (features,))

    def dense(self, name: str, x: Value, features: int) -> Value:
        """Write Gemm."""
        weight, bias = self._parameters(name, (features, *x.shape))
        self.nodes.append(f"{name} = Gemm <transB = 1> ({x.name}, {weight}, {bias})")
        return Value(name, (features,))

    def _conv(
        self, name: str, x: Value, shape: tuple[int, ...], stride: int, pad: bool, groups: int
    ) -> Value:
        weight, bias = self._parameters(name, shape)
        height, width = kernel = shape[2:]
        before = [(size - 1) // 2 if pad else 0 for size in kernel]
        after = [size // 2 if pad else 0 for size in kernel]
        self.nodes.append(
            f"{name} = Conv <kernel_shape = [{height}, {width}], pads = {[*before, *after]}, "
            f"strides = [{stride}, {stride}], group = {groups}> ({x.name}, {weight}, {bias})"
        )
        padded = [size + sum(pads) for size, *pads in zip(x.shape[1:], before, after, strict=True)]
        sizes = [(size - k) // stride + 1 for size, k in zip(padded, kernel, strict=True)]
        return Value(name, (shape[0], *sizes))

    def _parameters(self, name: str, shape: tuple[int, ...]) -> tuple[str, str]:
        names = (f"{name}_weight", f"{name}_bias")
        for tensor, dims in zip(names, (shape, shape[:1]), strict=True):
            self.tensors[tensor] = self._source(tensor, dims)
        return names
