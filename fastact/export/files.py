"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx


def save(model: onnx.ModelProto, path: str | os.PathLike[str]) -> Path:
    """Write a model as one self-contained file, whole or not at all.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    path : path-like
        The file to write. An existing file is replaced.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    TypeError
        If `model` is not a ``ModelProto``.
    ValueError
        If the model keeps a tensor in another file.
    OSError
        If the file cannot be written. Nothing is left behind then, and an existing file is
        as it was.

    Examples
    --------
    >>> import pathlib, tempfile, onnx
    >>> from fastact.export import activation, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(activation("relu"), pathlib.Path(folder, "relu.onnx"))
    ...     onnx.load(path).graph.name
    'relu_op'
    """
    if not isinstance(model, onnx.ModelProto):
        raise TypeError(f"model must be an onnx.ModelProto, not {type(model).__name__}")
    for tensor in tensors(model):
        if onnx.external_data_helper.uses_external_data(tensor):
            raise ValueError(f"tensor {tensor.name!r} is kept in another file; load its data first")
    path = Path(path)
    write_bytes(path, model.SerializeToString(deterministic=True))
    return path


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` whole or not at all.

    Parameters
    ----------
    path : Path
        The file to write or replace. A symbolic link stays one; its target is written.
    data : bytes
        The new contents.

    Raises
    ------
    OSError
        If it cannot be written; the error names `path`.
    """
    write_all({path: data})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files, of which none is changed unless there is room for all.

    Parameters
    ----------
    contents : mapping of Path to bytes
        The files to write or replace, and their new contents.

    Raises
    ------
    OSError
        If one cannot be written; the error names it.
    """
    with contextlib.ExitStack() as stack:
        written = {}
        for path, data in contents.items():
            written[path] = stack.enter_context(scratch(path))
            written[path].write_bytes(data)
        for path, name in written.items():
            os.replace(name, os.path.realpath(path))


@contextlib.contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Make an empty file in the folder of another one, which is to be renamed to that.

    Parameters
    ----------
    path : Path
        The file to write or replace. A symbolic link stays one; its target is written.

    Yields
    ------
    Path
        Where to write it. What is there at the end is removed.

    Raises
    ------
    OSError
        If it cannot be written; the error names `path`.
    """
    target = Path(os.path.realpath(path))
    name = target.parent / f".fastact-{secrets.token_hex(8)}.tmp"
    try:
        if target.exists() and not target.is_file():
            # Renaming over a device such as /dev/null would take the device away.
            raise OSError(errno.EEXIST, "exists and is not a regular file")
        # open() gives the permissions of the umask; tempfile's functions would give 0600.
        with open(name, "xb"):
            pass
        yield name
    except OSError as error:
        if error.filename is None or str(name) in (str(error.filename), str(error.filename2)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise
    finally:
        with contextlib.suppress(OSError):
            name.unlink()


def tensors(message: Any) -> Iterator[onnx.TensorProto]:
    """Yield every tensor of a message, those of subgraphs and functions included.

    Parameters
    ----------
    message : protobuf message
        A model or a part of one.

    Yields
    ------
    onnx.TensorProto
        A tensor, which may be changed in place.
    """
    return (part for part in parts(message) if isinstance(part, onnx.TensorProto))


def parts(message: Any) -> Iterator[Any]:
    """Yield a message and every one inside it.

    Parameters
    ----------
    message : protobuf message
        A model or a part of one.

    Yields
    ------
    protobuf message
        An outer one before those inside.
    """
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from parts(part)
