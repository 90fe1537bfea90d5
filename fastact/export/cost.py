"""What a model costs: its parameters, its multiply-accumulates, the elements of its values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import onnx
import onnx.inliner

from .elementwise import FLOATS
from .reading import ModelError, infer_shapes

Shape = tuple[int, ...]

# Inputs that hold a scale or a zero point, by position: constants of the number format.
_FORMAT_INPUTS = {
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QLinearConv": (1, 2, 4, 5, 6, 7),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "QGemm": (1, 2, 4, 5, 7, 8),
    "ConvInteger": (2, 3),
    "MatMulInteger": (2, 3),
}

# Operators that read integers as trained numbers, and the positions of these.
_INTEGER_WEIGHTS = {
    "DequantizeLinear": (0,),
    "QLinearConv": (3, 8),
    "QLinearMatMul": (0, 3),
    "QGemm": (3, 6),
    "ConvInteger": (1,),
    "MatMulInteger": (0, 1),
}

# Where the weights stand among the inputs; the rest of the name is its domain's affair.
_CONVOLUTIONS = {"Conv": 1, "FusedConv": 1, "NhwcFusedConv": 1, "ConvInteger": 1, "QLinearConv": 3}
_PRODUCTS = {"MatMul", "FusedMatMul", "MatMulInteger", "QLinearMatMul"}
_GEMMS = {"Gemm", "FusedGemm", "QGemm"}


@dataclass(frozen=True)
class Cost:
    """What a model costs at batch 1.

    Parameters
    ----------
    parameters : int
        Trained numbers.
    macs : int
        Multiply-accumulates of its convolutions and matrix products.
    elements : dict of str to int
        Elements of each value whose shape is known, inputs and outputs included: the cost of
        an activation is that of its output.
    """

    parameters: int
    macs: int
    elements: dict[str, int]


def cost(model: onnx.ModelProto) -> Cost:
    """Count what a model costs at batch 1.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. It is not changed.

    Returns
    -------
    Cost
        Its parameters, multiply-accumulates, and elements by value.

    Raises
    ------
    ValueError
        If the shape of something that multiplies is not known.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> digits = cost(cnn("digits", "gelu"))
    >>> digits.parameters, digits.macs, digits.elements["conv1_gelu"]
    (14378, 230720, 1024)
    """
    known = shapes(model)
    elements = {value: math.prod(shape) for value, shape in known.items()}
    return Cost(parameters(model), _macs(model, known), elements)


def parameters(model: onnx.ModelProto) -> int:
    """Count a model's trained numbers.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Returns
    -------
    int
        The elements of its constant arrays of floats and of quantised weights. Scalars are
        constants of a formula, scales and zero points those of a number format; neither counts.

    Examples
    --------
    >>> from fastact.export import activation, cnn
    >>> parameters(cnn("digits", "relu")), parameters(activation("gelu"))
    (14378, 0)
    """
    constants: dict[str, onnx.TensorProto] = {}
    for graph in _graphs(model):
        constants |= {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and not node.domain:
                for attribute in node.attribute:
                    if attribute.name == "value":
                        constants[node.output[0]] = attribute.t
    trained, formats = set(), set()
    for node in _nodes(model):
        for position, value in enumerate(node.input):
            if position in _FORMAT_INPUTS.get(node.op_type, ()):
                formats.add(value)
            elif position in _INTEGER_WEIGHTS.get(node.op_type, ()):
                trained.add(value)
    return sum(
        math.prod(tensor.dims)
        for name, tensor in constants.items()
        if tensor.dims and (name in trained or (tensor.data_type in FLOATS and name not in formats))
    )


def macs(model: onnx.ModelProto) -> int:
    """Count the multiply-accumulates of a model at batch 1.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Returns
    -------
    int
        Those of its convolutions and matrix products, quantised and fused ones included;
        recurrent layers and the functions of a runtime's own domain are not. The body of a
        loop counts once, and so does each branch of a condition.

    Raises
    ------
    ValueError
        If the shape of something that multiplies is not known; the message names it.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> macs(cnn("digits", "relu", batch="n"))
    230720
    """
    return _macs(model, shapes(model))


def elements(model: onnx.ModelProto, value: str) -> int:
    """Count the elements of one value of a model at batch 1.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. Where many values are asked for, `cost` infers the shapes once for all.
    value : str
        Its name.

    Returns
    -------
    int
        The count.

    Raises
    ------
    ValueError
        If the model has no such value or its shape is not known.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> elements(cnn("digits", "relu", batch="n"), "logits")
    10
    """
    return math.prod(_shape(shapes(model), value))


def shapes(model: onnx.ModelProto) -> dict[str, Shape]:
    """Infer the shape of every value of a model at batch 1.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. A first dimension of an input that has no size is the batch and taken as 1,
        and so is each other dimension of the same name.

    Returns
    -------
    dict of str to tuple of int
        The shapes that could be inferred, those of constants included.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> shapes(cnn("digits", "relu", batch="n"))["conv2"]
    (1, 32, 4, 4)
    """
    copy = _inlined(model)
    ports = [*copy.graph.input, *copy.graph.output]
    batches = set()
    for port in copy.graph.input:
        dims = port.type.tensor_type.shape.dim
        if dims and not dims[0].HasField("dim_value"):
            batches.add(dims[0].dim_param)
            dims[0].dim_value = 1
    for port in (*ports, *copy.graph.value_info):
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_param and dim.dim_param in batches:
                dim.dim_value = 1
    # Propagating data resolves the shapes that a graph computes; but a one-dimensional input is
    # taken for such a shape, and so is a Range, with memory for each of its elements.
    propagate = all(len(port.type.tensor_type.shape.dim) != 1 for port in copy.graph.input)
    propagate = propagate and all(node.op_type != "Range" for node in _nodes(copy))
    inferred = infer_shapes(copy, data_prop=propagate)

    found: dict[str, Shape] = {}
    for graph in _graphs(inferred):
        for port in (*graph.input, *graph.value_info, *graph.output):
            tensor = port.type.tensor_type
            if tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim):
                found[port.name] = tuple(d.dim_value for d in tensor.shape.dim)
        found |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    return found


def _macs(model: onnx.ModelProto, known: dict[str, Shape]) -> int:
    total = 0
    for node in _nodes(_inlined(model)):
        kind = node.op_type
        if kind in _CONVOLUTIONS:
            weight = _shape(known, node.input[_CONVOLUTIONS[kind]])
            total += math.prod(_shape(known, node.output[0])) * math.prod(weight[1:])
        elif kind == "ConvTranspose":
            weight = _shape(known, node.input[1])
            total += math.prod(_shape(known, node.input[0])) * math.prod(weight[1:])
        elif kind in _PRODUCTS or kind in _GEMMS:
            first = _shape(known, node.input[0])
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            total += math.prod(_shape(known, node.output[0])) * first[-2 if transposed else -1]
    return total


def _inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return onnx.inliner.inline_local_functions(model)
    except RuntimeError as error:  # of a call that is not as the function is
        raise ModelError(f"its functions cannot be called: {error}") from None


def _shape(known: dict[str, Shape], value: str) -> Shape:
    if value not in known:
        raise ValueError(
            f"the shape of {value!r} is not known; give the model's inputs fixed sizes"
        )
    return known[value]


def _graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yield the graph of a model and, depth first, those inside its nodes."""
    waiting = [model.graph]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                waiting += [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    for graph in _graphs(model):
        yield from graph.node
