"""Changing the opset of a model, which must not change what it computes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx.version_converter

from .reading import ModelError, check, embedded, external
from .scopes import scopes

# Operators that look the same in a later opset and compute something else there.
_CHANGED_MEANING = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13, "GroupNormalization": 21}

_NEWEST_TYPES = {
    10: {onnx.TensorProto.UINT4, onnx.TensorProto.INT4},
    9: {
        onnx.TensorProto.FLOAT8E4M3FN,
        onnx.TensorProto.FLOAT8E4M3FNUZ,
        onnx.TensorProto.FLOAT8E5M2,
        onnx.TensorProto.FLOAT8E5M2FNUZ,
    },
}


def opset_of(message: Any) -> int:
    """Tell the version of the default domain that a model or function is written in.

    Parameters
    ----------
    message : onnx.ModelProto or onnx.FunctionProto
        What imports the opset.

    Returns
    -------
    int
        The version; 1 if it imports none, as the standard says.
    """
    versions = [entry.version for entry in message.opset_import if entry.domain in ("", "ai.onnx")]
    return int(versions[0]) if versions else 1


def with_opset(model: onnx.ModelProto, opset: int, folder: Path | None = None) -> onnx.ModelProto:
    """Bring a model to another opset and to the lowest IR version that this allows.

    Where the operators are the same in both, only the number changes: onnx's own converter has
    no way down for many of these, and drops the metadata of nodes. It is used for the rest.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. It is not changed.
    opset : int
        The version of the default domain.
    folder : Path, optional
        Where its external data is.

    Returns
    -------
    onnx.ModelProto
        The model at that opset, valid for the checker. Whether it computes the same is for the
        caller to verify.

    Raises
    ------
    ModelError
        If an operator of the model has no equal there.

    Examples
    --------
    >>> from fastact.export import activation
    >>> model = with_opset(activation("gelu", opset=17), 13)
    >>> opset_of(model), model.ir_version
    (13, 7)
    """
    before = opset_of(model)
    if before == opset:
        return model
    result = _renumbered(model, opset)
    if result is None:
        result = _converted(model, opset, folder)
    if result.ir_version < 4:  # where every initializer had to be an input as well
        tensors = {tensor.name for tensor in result.graph.initializer}
        inputs = [port for port in result.graph.input if port.name not in tensors]
        del result.graph.input[:]
        result.graph.input.extend(inputs)
    result.ir_version = lowest_ir_of(result)
    return result


def lowest_ir_of(model: onnx.ModelProto) -> int:
    """Tell the lowest IR version that can hold a model.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Returns
    -------
    int
        From 4 on, as before that every initializer had to be an input.
    """
    imports = [entry for entry in model.opset_import if entry.domain in ("", "ai.onnx.ml")]
    version = max(4, onnx.helper.find_min_ir_version_for(imports))
    if model.functions:
        version = max(version, 8)
    types = {tensor.data_type for tensor in model.graph.initializer}
    for needed, names in _NEWEST_TYPES.items():
        if types & names:
            version = max(version, needed)
    return int(version)


def missing(model: onnx.ModelProto, opset: int) -> list[str]:
    """List the operators of a model that an opset lacks.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    opset : int
        The version of the default domain.

    Returns
    -------
    list of str
        Each once.
    """
    return [kind for kind in dict.fromkeys(_kinds(model)) if not has(kind, opset)]


def has(kind: str, opset: int) -> bool:
    """Tell whether an opset has an operator.

    Parameters
    ----------
    kind : str
        The operator, of the default domain.
    opset : int
        The version.

    Returns
    -------
    bool
        True if it has.

    Examples
    --------
    >>> has("Gelu", 19), has("Gelu", 20)
    (False, True)
    """
    try:
        return not onnx.defs.get_schema(kind, opset, "").deprecated
    except onnx.defs.SchemaError:
        return False


def _kinds(model: onnx.ModelProto) -> Iterator[str]:
    for scope in scopes(model):
        for node in scope.body.node:
            if node.domain in ("", "ai.onnx"):
                yield node.op_type


def _renumbered(model: onnx.ModelProto, opset: int) -> onnx.ModelProto | None:
    """Change the number alone; None if that is not valid or changes a meaning."""
    low, high = sorted([opset_of(model), opset])
    if any(low < _CHANGED_MEANING.get(kind, 0) <= high for kind in _kinds(model)):
        return None
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for owner in (result, *result.functions):
        for entry in owner.opset_import:
            if entry.domain in ("", "ai.onnx"):
                entry.version = opset
    # The data of tensors plays no part in the check, and may be in other files.
    skeleton = onnx.ModelProto()
    skeleton.CopyFrom(result)
    outside = {where.tensor for where in external(model)}
    inside = [tensor for tensor in skeleton.graph.initializer if tensor.name not in outside]
    declared = {port.name for port in skeleton.graph.input}
    skeleton.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in skeleton.graph.initializer
        if tensor.name in outside - declared
    )
    del skeleton.graph.initializer[:]
    skeleton.graph.initializer.extend(inside)
    try:
        check(skeleton)
    except ModelError:
        return None
    return result


def _converted(model: onnx.ModelProto, opset: int, folder: Path | None) -> onnx.ModelProto:
    before = opset_of(model)
    reason = f"opset {before} does not go to {opset}"
    absent = missing(model, opset)
    if absent:
        lowest = next(
            version for version in range(opset, before + 1) if not missing(model, version)
        )
        raise ModelError(
            f"{reason}: opset {opset} has no {', '.join(absent)}; the lowest that has is {lowest}"
        )
    if model.functions:
        raise ModelError(f"{reason}: onnx's converter does not keep functions")
    try:
        result = onnx.version_converter.convert_version(embedded(model, folder), opset)
        check(result)
    except (RuntimeError, ValueError) as error:
        stuck = re.search(r"No Adapter .* for (\w+)", str(error))
        text = (
            f"onnx's converter has no way for {stuck[1]}" if stuck else " ".join(str(error).split())
        )
        raise ModelError(f"{reason}: {text[:300]}") from None
    outside = {where.tensor for where in external(model)}
    kept = {tensor.name: tensor for tensor in model.graph.initializer if tensor.name in outside}
    for tensor in result.graph.initializer:
        if tensor.name in kept:
            tensor.CopyFrom(kept[tensor.name])
    # The converter drops what is written about a node.
    notes = {node.output[0]: node for node in model.graph.node if node.output}
    for node in result.graph.node:
        old = notes.get(node.output[0]) if node.output else None
        if old is not None and not node.metadata_props:
            node.metadata_props.extend(old.metadata_props)
    return result
