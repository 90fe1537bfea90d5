"""From ONNX text and its tensors to a checked model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt
import onnx

from .._version import __version__
from .checks import integer

# The names that ONNX text has for the element types.
TYPES = {
    "float16": "float16",
    "float32": "float",
    "float64": "double",
    "int8": "int8",
    "uint8": "uint8",
}


class Port(NamedTuple):
    """An input or output of a model."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{TYPES[self.dtype]}[{','.join(map(str, self.shape))}] {self.name}"


def dimension(size: object) -> int | str:
    """Check one entry of a shape: a positive size, or the name of a dynamic dimension.

    Parameters
    ----------
    size : object
        The entry a user gave.

    Returns
    -------
    int or str
        The same, as a plain int or str.

    Raises
    ------
    TypeError
        If it is neither an integer nor a string.
    ValueError
        If it is not positive, too large for ONNX, or not a name. A fixed dimension of 0 would
        make a model that can compute nothing; a batch that may be empty needs a name.

    Examples
    --------
    >>> dimension(64), dimension("batch")
    (64, 'batch')
    """
    if isinstance(size, str):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", size):
            raise ValueError(f"a dimension's name must be an ASCII identifier, got {size!r}")
        return str(size)
    size = integer("a dimension that is not a name", size)
    if not 0 < size < 2**63:
        raise ValueError(
            f"a fixed dimension must be from 1 to 2**63 - 1, got {size}; "
            "a dimension that may be 0 needs a name, such as 'batch'"
        )
    return size


# Of opsets that the oldest onnx supported here does not know, but a runtime asked about may.
_LATER_IR = {23: 11, 24: 12, 25: 13, 26: 13, 27: 13, 28: 14}


def lowest_ir(opset: int) -> int:
    """Tell the lowest IR version that a file of an opset may have.

    Parameters
    ----------
    opset : int
        The opset of the default domain.

    Returns
    -------
    int
        The IR version.

    Examples
    --------
    >>> lowest_ir(13)
    7
    """
    if opset in _LATER_IR:
        return _LATER_IR[opset]
    return int(onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)]))


def build(
    name: str,
    source: Port,
    result: Port,
    nodes: Sequence[str],
    tensors: Mapping[str, npt.NDArray[Any]],
    opset: int,
    metadata: Mapping[str, str],
) -> onnx.ModelProto:
    """Parse the nodes of a graph, add the tensors they use, and check the model.

    Parameters
    ----------
    name : str
        The graph's name.
    source, result : Port
        The model's input and output.
    nodes : sequence of str
        ONNX text. Every node is named after its output.
    tensors : mapping of str to ndarray
        Constants and weights; those that no node names are left out.
    opset : int
        The opset of the default domain, the only one. The IR version is the lowest it allows,
        because a runtime refuses a file for a newer IR even if it knows every operator in it.
    metadata : mapping of str to str
        What to record in the file.

    Returns
    -------
    onnx.ModelProto
        The model, valid for onnx's checker and its strict shape inference.
    """
    properties = ", ".join(f'"{key}": "{value}"' for key, value in metadata.items())
    body = "\n".join(nodes)
    model = onnx.parser.parse_model(
        f"""
        <
          ir_version: {lowest_ir(opset)}, opset_import: ["": {opset}],
          metadata_props: [{properties}]
        >
        {name} ({source}) => ({result})
        {{
          {body}
        }}
        """
    )
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.shape.SetInParent()  # the parser leaves out the shape of a scalar
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(value, name) for name, value in tensors.items()
    )
    return finish(model)


def finish(model: onnx.ModelProto) -> onnx.ModelProto:
    """Name the nodes of a model, drop the tensors that none of them uses, and check it.

    Parameters
    ----------
    model : onnx.ModelProto
        A model whose only domain is the default one. It is changed.

    Returns
    -------
    onnx.ModelProto
        The same model, with fastact as its producer and the lowest IR version.
    """
    (opset,) = (entry.version for entry in model.opset_import)
    model.ir_version = lowest_ir(opset)
    model.producer_name, model.producer_version = "fastact", __version__
    for node in model.graph.node:
        node.name = node.output[0]
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    used = dict.fromkeys(value for node in model.graph.node for value in node.input)
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors[value] for value in used if value in tensors)
    if model.ir_version < 4:  # IR 3, of opset 7 and 8, wants every initializer among the inputs
        model.graph.input.extend(
            onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            for tensor in model.graph.initializer
        )
    # The full check includes strict shape inference. Not with data_prop=True besides: that takes
    # a one-dimensional input for a shape, and memory for each of its elements.
    onnx.checker.check_model(model, full_check=True)
    return model
