"""int8 models: static quantisation by onnxruntime, and lookup tables for the activations."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from .._extras import require
from . import table
from .checks import one_of
from .graph import finish
from .table import Quantization

Array = npt.NDArray[Any]

# The first opset whose QuantizeLinear takes a scale for each channel.
LOWEST_OPSET = 13

OPERATORS = ("QuantizeLinear", "DequantizeLinear")

# What onnxruntime leaves out of a quantised model: the codes end where the clamp does.
CLAMPS = ("Relu", "Clip")


def quantize(
    model: onnx.ModelProto,
    calibration: Iterable[Array],
    *,
    dtype: str = "int8",
    keep_float: Collection[str] = (),
) -> onnx.ModelProto:
    """Quantise a model to 8 bits, with QuantizeLinear and DequantizeLinear around its operators.

    Weights have a scale for each channel, biases 32 bits. The range of every other value is
    what it takes on the calibration inputs.

    Parameters
    ----------
    model : onnx.ModelProto
        A float32 model of one input, of opset 13 or later. It is not changed.
    calibration : iterable of ndarray
        Inputs like those that the model will meet.
    dtype : {"int8", "uint8"}, optional
        The codes of the values; weights are int8 in either case.
    keep_float : collection of str, optional
        Names of nodes that compute in float32 still, between a DequantizeLinear and a
        QuantizeLinear.

    Returns
    -------
    onnx.ModelProto
        The quantised model. The same arguments give the same bytes on one machine.

    Raises
    ------
    ValueError
        If the opset is too early, there is nothing to calibrate on, or `dtype` is unknown.
    ImportError
        If onnxruntime is not installed.

    Notes
    -----
    Take uint8 for onnxruntime on x86: by default it computes parts of an int8 model in float32
    there (on Arm, and with its session option ``session.qdqisint8allowed``, it does not). Some
    other runtimes take int8 alone.

    Examples
    --------
    >>> from fastact.export import cnn, digits
    >>> model = quantize(cnn("digits", "relu"), digits.load("train")[0][:8, np.newaxis])
    >>> sum(node.op_type == "QuantizeLinear" for node in model.graph.node)
    7
    """
    one_of("dtype of quantised values", dtype, table.DTYPES)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    if opset < LOWEST_OPSET:
        raise ValueError(
            f"a quantised model needs opset {LOWEST_OPSET} or later, for a scale for each "
            f"channel, but it has opset {opset}"
        )
    inputs = list(calibration)
    if not inputs:
        raise ValueError("calibration holds no inputs")
    clamps = [node.output[0] for node in model.graph.node if node.op_type in CLAMPS]
    quantised = _quantize_static(model, inputs, dtype, keep_float, keep_clamps=False)
    if not _clamps_hold(quantised, clamps, dtype):
        # A clamp whose results were all 0 has a range of no width, which starts anywhere.
        quantised = _quantize_static(model, inputs, dtype, keep_float, keep_clamps=True)
    del quantised.metadata_props[:]
    quantised.metadata_props.extend(model.metadata_props)
    return finish(quantised)


def look_up(
    model: onnx.ModelProto, activation: str, sites: Sequence[tuple[str, str]], dtype: str
) -> onnx.ModelProto:
    """Replace the activations of a quantised model by tables of their results.

    Parameters
    ----------
    model : onnx.ModelProto
        From `quantize`, with the nodes of each activation kept in float32.
    activation : str
        One of `fastact.activations`.
    sites : sequence of tuple of str
        Names of the values before and after each activation. The values in between are named
        after the latter.
    dtype : {"int8", "uint8"}
        The codes of the values.

    Returns
    -------
    onnx.ModelProto
        The changed model. It gives the codes that rounding the exact results gives.
    """
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    (opset,) = (o.version for o in changed.opset_import if o.domain == "")
    quantizers = {n.input[0]: n for n in graph.node if n.op_type == "QuantizeLinear"}
    for x, y in sites:
        before, after = quantizers[x], quantizers[y]
        source, result = before.output[0], after.output[0]
        codes, _ = table.results(
            activation, dtype, _quantization(graph, before), _quantization(graph, after)
        )
        for name, value in table.tensors(result, codes, dtype, opset).items():
            graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        nodes = table.nodes(source, result, dtype, opset)
        ports = f"({dtype}[] {source}) => ({dtype}[] {result})"
        lookup = onnx.parser.parse_graph(f"lookup {ports} {{ {nodes} }}").node
        island = {node.name for node in (*_island(graph, y), after)}
        kept = [node for node in graph.node if node.name not in island]
        place = 1 + next(i for i, node in enumerate(kept) if node.name == before.name)
        del graph.node[:]
        graph.node.extend([*kept[:place], *lookup, *kept[place:]])
    return finish(changed)


def right(model: onnx.ModelProto, images: Array, labels: Array) -> int:
    """Count the images that a classifier gets right in onnxruntime.

    Parameters
    ----------
    model : onnx.ModelProto
        A model of one input and one output, of any batch.
    images, labels : ndarray
        What to classify, and the right classes.

    Returns
    -------
    int
        The count.
    """
    runtime = require("onnxruntime", "report")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (source,) = session.get_inputs()
    size = source.shape[0] if isinstance(source.shape[0], int) else 1
    found = [session.run(None, {source.name: batch})[0] for batch in batches(images, size)]
    return int((np.concatenate(found).argmax(axis=1)[: len(labels)] == labels).sum())


def batches(images: Array, size: int) -> Iterator[Array]:
    """Cut images into batches of one size; the last is filled up with the first images again.

    Parameters
    ----------
    images : ndarray
        The images.
    size : int
        Images in a batch.

    Yields
    ------
    ndarray
        A batch.

    Examples
    --------
    >>> [batch.tolist() for batch in batches(np.arange(5), 3)]
    [[0, 1, 2], [3, 4, 0]]
    """
    count = -(-len(images) // size)
    yield from np.resize(images, (count, size, *images.shape[1:]))


class _Reader:
    """Calibration inputs one by one, as onnxruntime asks for them."""

    def __init__(self, name: str, inputs: Iterable[Array]) -> None:
        self._rest = iter([{name: values} for values in inputs])

    def get_next(self) -> dict[str, Array] | None:
        return next(self._rest, None)


def _quantize_static(
    model: onnx.ModelProto,
    inputs: Iterable[Array],
    dtype: str,
    keep_float: Collection[str],
    keep_clamps: bool,
) -> onnx.ModelProto:
    tool = require("onnxruntime.quantization", "report")
    prepared = onnx.shape_inference.infer_shapes(model)
    # Otherwise the tool logs the advice to infer shapes first, which has been done.
    prepared.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    with tempfile.TemporaryDirectory(prefix="fastact-") as folder:
        # From a file: a model in memory would be changed.
        source, result = Path(folder, "float.onnx"), Path(folder, "quantised.onnx")
        source.write_bytes(prepared.SerializeToString())
        tool.quantize_static(
            source,
            result,
            _Reader(model.graph.input[0].name, inputs),
            quant_format=tool.QuantFormat.QDQ,
            per_channel=True,
            activation_type=tool.QuantType.QUInt8 if dtype == "uint8" else tool.QuantType.QInt8,
            weight_type=tool.QuantType.QInt8,
            nodes_to_exclude=list(keep_float),
            extra_options={
                "QDQKeepRemovableActivations": keep_clamps,
                # Otherwise pooling stays in float32 after an activation that does.
                "ForceQuantizeNoInputCheck": True,
            },
        )
        return onnx.load(os.fspath(result))


def _clamps_hold(model: onnx.ModelProto, results: Iterable[str], dtype: str) -> bool:
    """Tell whether the codes of every clamp that was left out start at its lower end, 0."""
    computed = {node.output[0] for node in model.graph.node if node.op_type in CLAMPS}
    # The tool renames what an output of the model is computed as.
    quantizers = {
        node.input[0].removesuffix("_QuantizeLinear_Input"): node
        for node in model.graph.node
        if node.op_type == "QuantizeLinear"
    }
    return all(
        _quantization(model.graph, quantizers[y]).zero_point == np.iinfo(dtype).min
        for y in results
        if y not in computed
    )


def _quantization(graph: onnx.GraphProto, node: onnx.NodeProto) -> Quantization:
    constants = {tensor.name: tensor for tensor in graph.initializer}
    scale, zero_point = (onnx.numpy_helper.to_array(constants[name]) for name in node.input[1:])
    return Quantization(float(scale), int(zero_point))


def _island(graph: onnx.GraphProto, y: str) -> Iterator[onnx.NodeProto]:
    """Yield the nodes between the value `y` and the DequantizeLinear before it, and that one."""
    producers = {node.output[0]: node for node in graph.node}
    waiting = [y]
    while waiting:
        node = producers.pop(waiting.pop(), None)
        if node is not None:
            yield node
            waiting += [] if node.op_type == "DequantizeLinear" else node.input
