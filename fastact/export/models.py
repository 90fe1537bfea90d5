"""The two kinds of model that can be exported: one activation, and a small CNN."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

from . import forms, weights
from .architectures import ARCHITECTURES
from .checks import one_of
from .graph import Port, build, dimension

CONSTANTS = {name: np.array(value, np.float32) for name, value in forms.CONSTANTS.items()}


def activation(
    name: str,
    *,
    form: str | None = None,
    opset: int | None = None,
    dtype: npt.DTypeLike = "float32",
    shape: Iterable[int | str] = (1, 64),
) -> onnx.ModelProto:
    """Make the ONNX model of one activation, from input ``x`` to output ``y``.

    Parameters
    ----------
    name : str
        ``"relu"``, ``"gelu"`` or ``"gelu_tanh"``: a key of `FORMS`.
    form : str, optional
        One of ``FORMS[name]``: ``"op"``, ONNX's own operator, or a written-out form. The
        default is the operator where the opset has it, and else the written-out form.
    opset : int, optional
        The opset of the file. The default is 17, or a later one if `form` needs it.
    dtype : dtype-like, optional
        ``"float32"``, or ``"float16"``, which is computed in float32 between two casts;
        for ``"relu"`` also ``"float64"``.
    shape : iterable of int or str, optional
        Sizes, and names of dynamic dimensions, of input and output.

    Returns
    -------
    onnx.ModelProto
        A checked model of the lowest IR version that `opset` allows.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is unknown, `opset` cannot hold the form, `dtype` has no kernel in
        onnxruntime, or a dimension is not positive.

    Examples
    --------
    >>> model = activation("gelu", shape=("batch", 64))
    >>> [node.op_type for node in model.graph.node]
    ['Div', 'Erf', 'Add', 'Mul', 'Mul']
    >>> model = activation("gelu", form="op")
    >>> [node.op_type for node in model.graph.node], model.opset_import[0].version
    (['Gelu'], 20)
    """
    form, opset = forms.select(name, form, opset)
    dtype = _dtype(name, dtype)
    dims = _shape(shape)
    if dtype == "float16":
        to_float32 = f"x_float32 = Cast <to = {onnx.TensorProto.FLOAT}> (x)"
        to_float16 = f"y = Cast <to = {onnx.TensorProto.FLOAT16}> (y_float32)"
        nodes = [to_float32, forms.nodes(name, form, "x_float32", "y_float32"), to_float16]
    else:
        nodes = [forms.nodes(name, form, "x", "y")]
    return build(
        f"{name}_{form}",
        Port("x", dtype, dims),
        Port("y", dtype, dims),
        nodes,
        CONSTANTS,
        opset,
        {"activation": name, "form": form, "opset": str(opset)},
    )


def cnn(
    arch: str,
    activation: str,
    *,
    form: str | None = None,
    opset: int | None = None,
    batch: int | str = 1,
) -> onnx.ModelProto:
    """Make the ONNX model of a small trained CNN, from ``image`` to ``logits``.

    Parameters
    ----------
    arch : str
        ``"digits"``: 8x8 images with values from 0 to 1, ten classes; a key of `ARCHITECTURES`.
    activation : str
        ``"relu"``, ``"gelu"`` or ``"gelu_tanh"``. Each has weights that were trained with it.
    form, opset : optional
        As for `activation`; the form changes how the activation is written, not its weights.
    batch : int or str, optional
        Images per run, or the name of a dynamic dimension.

    Returns
    -------
    onnx.ModelProto
        A checked model of the lowest IR version that `opset` allows.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is unknown, `opset` cannot hold the form, or `batch` is not positive.

    Examples
    --------
    >>> model = cnn("digits", "relu", batch="n")
    >>> [node.op_type for node in model.graph.node][:2]
    ['Conv', 'Relu']
    """
    architecture = ARCHITECTURES[one_of("architecture", arch, ARCHITECTURES)]
    form, opset = forms.select(activation, form, opset)
    batch = dimension(batch)
    writer = _Writer(activation, form, weights.load(arch)[activation])
    architecture.network(writer, _Value("image", architecture.image[0]))
    return build(
        f"{arch}_{activation}_{form}",
        Port("image", "float32", (batch, *architecture.image)),
        Port("logits", "float32", (batch, architecture.classes)),
        writer.nodes,
        writer.tensors,
        opset,
        {"arch": arch, "activation": activation, "form": form, "opset": str(opset)},
    )


class _Value(NamedTuple):
    """A value of the graph, and the size of its second dimension."""

    name: str
    channels: int


class _Writer:
    """The layers of a network as ONNX text (see `architectures.Layers`)."""

    def __init__(self, activation: str, form: str, trained: weights.Weights) -> None:
        self.nodes: list[str] = []
        self.tensors: dict[str, npt.NDArray[Any]] = dict(CONSTANTS)
        self._activation = activation
        self._form = form
        self._trained = trained

    def conv(self, name: str, x: _Value, channels: int, stride: int = 1) -> _Value:
        weight = self._parameter(f"{name}_weight", (channels, x.channels, 3, 3))
        bias = self._parameter(f"{name}_bias", (channels,))
        window = f"kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [{stride}, {stride}]"
        self.nodes.append(f"{name} = Conv <{window}> ({x.name}, {weight}, {bias})")
        return _Value(name, channels)

    def activation(self, x: _Value) -> _Value:
        y = f"{x.name}_{self._activation}"
        self.nodes.append(forms.nodes(self._activation, self._form, x.name, y))
        return _Value(y, x.channels)

    def average(self, name: str, x: _Value) -> _Value:
        # Reshape, not Flatten, which CoreML's MLProgram lacks; 0 keeps the batch as it is.
        shape = f"{name}_shape"
        self.tensors[shape] = np.array([0, x.channels], np.int64)
        self.nodes.append(f"{name}_mean = GlobalAveragePool ({x.name})")
        self.nodes.append(f"{name} = Reshape ({name}_mean, {shape})")
        return _Value(name, x.channels)

    def dense(self, name: str, x: _Value, features: int) -> _Value:
        weight = self._parameter(f"{name}_weight", (features, x.channels))
        bias = self._parameter(f"{name}_bias", (features,))
        self.nodes.append(f"{name} = Gemm <transB = 1> ({x.name}, {weight}, {bias})")
        return _Value(name, features)

    def _parameter(self, name: str, shape: tuple[int, ...]) -> str:
        # Shape inference lets some mismatches pass, so stale weights are caught here.
        if self._trained[name].shape != shape:
            raise ValueError(f"{name} has shape {self._trained[name].shape}, not {shape}")
        self.tensors[name] = self._trained[name]
        return name


def _dtype(activation: str, dtype: npt.DTypeLike) -> str:
    if dtype is None:  # which NumPy would take for float64
        raise TypeError("dtype must be a dtype or the name of one, not None")
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    entry = forms.ACTIVATIONS[activation]
    if name not in entry.dtypes:
        accepted = ", ".join(map(repr, entry.dtypes))
        raise ValueError(f"no {activation} of {name}: {entry.reason}; accepted: {accepted}")
    return name


def _shape(shape: Iterable[int | str]) -> tuple[int | str, ...]:
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise TypeError(f"shape must be a sequence of dimensions, not {shape!r}")
    return tuple(map(dimension, shape))
