"""Reading a model from a file, with a reason where that fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from google.protobuf.message import DecodeError

from .files import parts, tensors

# What protobuf can hold in one message, and so in one file.
LIMIT = 2**31 - 1
# More than any network has, once the calls of its functions are replaced by what they do.
MOST_NODES = 250_000

_ELEMENT_TYPES = frozenset(onnx.TensorProto.DataType.values())


class ModelError(ValueError):
    """A file or a model that cannot be worked with; the message names it and the reason."""


class External:
    """A tensor's data in another file: ``location`` beside the model, ``offset``, ``length``."""

    def __init__(self, tensor: onnx.TensorProto) -> None:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        self.tensor = tensor.name
        self.location = entries.get("location", "")
        try:
            self.offset = int(entries.get("offset", "0"))
            self.length = int(entries.get("length", "0"))
        except ValueError as error:
            raise ModelError(
                f"tensor {tensor.name!r} is kept in another file, but {error}"
            ) from None


def read(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """Read a model and check it; data in other files stays there.

    Parameters
    ----------
    path : path-like
        A file of ONNX in its binary form, whatever its name.

    Returns
    -------
    onnx.ModelProto
        The model.

    Raises
    ------
    OSError
        If the file cannot be read.
    ModelError
        If it is no valid model, if it is over protobuf's 2 GB, or if data that it keeps in
        other files is missing, cut short, or outside of its own folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.onnx")
    ...     _ = path.write_text("text")
    ...     read(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    fastact.export.reading.ModelError: cannot read ...model.onnx: it is not an ONNX model
    """
    path = Path(path)
    try:
        model = _parse(path)
        _check_external(model, path.parent)
        check(model, path)
    except ModelError as error:
        raise ModelError(f"cannot read {path}: {error}") from None
    return model


def check(model: onnx.ModelProto, path: Path | None = None) -> None:
    """Check a model with onnx's checker, and for what that lets pass and nothing can work with.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    path : Path, optional
        Its file, beside which its external data is.

    Raises
    ------
    ModelError
        If there is a fault.
    """
    try:
        if path is not None and any(external(model)):
            onnx.checker.check_model(os.fspath(path))
        else:
            onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError) as error:
        raise ModelError(f"it is not valid: {' '.join(str(error).split())[:300]}") from None
    for part in parts(model):
        if isinstance(part, onnx.NodeProto) and not part.output:
            raise ModelError(f"it is not valid: node {part.name or part.op_type!r} has no output")
        kind = getattr(part, "data_type", getattr(part, "elem_type", 0))
        if isinstance(kind, int) and kind not in _ELEMENT_TYPES:
            raise ModelError(f"it has element type {kind}, which onnx {onnx.__version__} lacks")
    _check_calls(model)


def infer_shapes(model: onnx.ModelProto, *, data_prop: bool = False) -> onnx.ModelProto:
    """Infer the types and shapes of a model's values.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. It is not changed.
    data_prop : bool, optional
        Whether to compute the shapes that the graph itself computes.

    Returns
    -------
    onnx.ModelProto
        A copy that states what could be inferred.

    Raises
    ------
    ModelError
        If types or shapes contradict each other.
    """
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=data_prop)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        text = " ".join(str(error).split())[:300]
        raise ModelError(f"its types or shapes do not fit together: {text}") from None


def external(model: onnx.ModelProto) -> Iterator[External]:
    """Yield where each tensor that is kept in another file is.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Yields
    ------
    External
        One for each tensor.
    """
    for tensor in tensors(model):
        if onnx.external_data_helper.uses_external_data(tensor):
            yield External(tensor)


def embedded(model: onnx.ModelProto, folder: Path | None) -> onnx.ModelProto:
    """Return a model with all of its data inside.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. It is not changed.
    folder : Path or None
        Where its external data is; None if it must not have any.

    Returns
    -------
    onnx.ModelProto
        A copy, or the model itself if nothing is outside.

    Raises
    ------
    ModelError
        If there is data outside and no folder, or if all of it is over protobuf's 2 GB.
    """
    outside = list(external(model))
    if not outside:
        return model
    if folder is None:
        raise ModelError(
            f"tensor {outside[0].tensor!r} is kept in another file: give the model as a path"
        )
    size = model.ByteSize() + sum(where.length for where in outside)
    if size > LIMIT:
        raise ModelError(f"with its external data the model has {size} bytes; {_OVER}")
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    onnx.load_external_data_for_model(copy, os.fspath(folder))
    return copy


_OVER = "protobuf holds 2 GB in one model"


def _parse(path: Path) -> onnx.ModelProto:
    size = path.stat().st_size
    if path.is_dir():
        raise ModelError("it is a folder")
    if size == 0:
        raise ModelError("it is empty")
    if size > LIMIT:
        raise ModelError(f"it has {size} bytes; {_OVER}, so keep its weights as external data")
    data = path.read_bytes()
    if data[4:8] == b"ORTM":
        raise ModelError("it is in onnxruntime's .ort format; give the .onnx it was made from")
    if data.startswith(b"version https://git-lfs"):
        raise ModelError("it is a pointer of Git LFS; fetch the file itself with git lfs pull")
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:
        # Every ONNX file starts with field 1, the IR version; what else does is a guess.
        if data[:1] == b"\x08":
            raise ModelError("it is cut short or damaged") from None
        raise ModelError("it is not an ONNX model") from None
    if not model.HasField("graph") or not model.ir_version:
        raise ModelError("it is not an ONNX model")
    return model


def _check_calls(model: onnx.ModelProto) -> None:
    """Refuse functions that call each other without end, or twice each, which grows like 2^n."""
    functions = {(function.domain, function.name): function for function in model.functions}
    if not functions:
        return
    count, waiting = 0, [*model.graph.node]
    while waiting:
        node = waiting.pop()
        count += 1
        if count > MOST_NODES:
            raise ModelError(f"its functions make more than {MOST_NODES} nodes, or have no end")
        if (node.domain, node.op_type) in functions:
            waiting += functions[node.domain, node.op_type].node
        for part in node.attribute:
            for graph in (part.g, *part.graphs):
                waiting += graph.node


def _check_external(model: onnx.ModelProto, folder: Path) -> None:
    for where in external(model):
        what = f"tensor {where.tensor!r} is kept in {where.location!r}"
        # Either kind of separator, for the file may have come from another system.
        parts = {*PurePosixPath(where.location).parts, *PureWindowsPath(where.location).parts}
        absolute = PurePosixPath(where.location).is_absolute()
        if absolute or PureWindowsPath(where.location).anchor or ".." in parts or not parts:
            raise ModelError(f"{what}, which is not inside the model's own folder")
        file = folder / where.location
        if not file.is_file():
            raise ModelError(f"{what}, and there is no such file beside it")
        size = file.stat().st_size
        if where.offset + where.length > size:
            raise ModelError(
                f"{what}, at byte {where.offset} to {where.offset + where.length}, "
                f"but the file has {size}"
            )
