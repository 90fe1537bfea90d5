"""Writing a rewritten model, together with the data that it keeps in other files."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from pathlib import Path

import onnx

from .files import scratch
from .reading import LIMIT, ModelError, external


def store(model: onnx.ModelProto, output: Path, folder: Path) -> None:
    """Write a model whole or not at all; data in other files is copied beside it.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    output : Path
        The file to write or replace.
    folder : Path
        Where the model's external data is. It is copied if `output` is elsewhere.

    Raises
    ------
    ModelError
        If the model is over protobuf's 2 GB.
    OSError
        If a file cannot be written, or if one of the data's name and other contents is there.
        What was copied before is removed again.
    """
    if model.ByteSize() > LIMIT:
        raise ModelError(f"cannot write {output}: the model is over protobuf's 2 GB")
    copied: list[Path] = []
    with scratch(output) as written:
        written.write_bytes(model.SerializeToString(deterministic=True))
        try:
            for location in dict.fromkeys(where.location for where in external(model)):
                source, copy = folder / location, output.parent / location
                if not _is_there(copy, source) and _copy(source, copy):
                    copied.append(copy)
            os.replace(written, os.path.realpath(output))
        except BaseException:
            for copy in copied:
                copy.unlink(missing_ok=True)
            raise


def _is_there(copy: Path, source: Path) -> bool:
    if not copy.exists():
        return False
    if copy.samefile(source) or filecmp.cmp(source, copy, shallow=False):
        return True
    raise FileExistsError(errno.EEXIST, "exists with other data", os.fspath(copy))


def _copy(source: Path, copy: Path) -> bool:
    """Copy a file; False if another process has done so meanwhile."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with scratch(copy) as written:
        shutil.copyfile(source, written)
        try:
            os.link(written, copy)  # which does not replace what another process has written
        except FileExistsError:
            return not _is_there(copy, source)
        except OSError:  # a file system without links
            os.replace(written, copy)
    return True
