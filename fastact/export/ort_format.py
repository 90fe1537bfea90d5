"""onnxruntime's own file format, for builds that hold only the operators a model needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from .._extras import require
from .files import save, write_all


def save_ort(
    model: onnx.ModelProto, path: str | os.PathLike[str], *, delegated: bool = False
) -> tuple[Path, Path]:
    """Write a model in onnxruntime's format, and the list of operators that it needs.

    The graph is one that onnxruntime has optimised already, but for what suits one processor
    only: it runs on all, in the installed onnxruntime and later ones. The order of what stands
    in the file is onnxruntime's own and can differ from run to run.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    path : path-like
        The file to write, ending in ``.ort``. An existing file is replaced.
    delegated : bool, optional
        Whether a provider such as NNAPI or CoreML shall run the model. Operators stay those of
        ONNX then, as far as it may want them, and are optimised on the device where it does not.

    Returns
    -------
    model : Path
        `path`.
    operators : Path
        The file beside it, ending in ``.required_operators.config``: what onnxruntime's build
        script takes as ``--include_ops_by_config``.

    Raises
    ------
    ValueError
        If `path` does not end in ``.ort``, or onnxruntime cannot convert the model.
    OSError
        If a file cannot be written.
    ImportError
        If onnxruntime is not installed.

    Examples
    --------
    >>> from fastact.export import activation
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model, operators = save_ort(activation("gelu"), Path(folder, "gelu.ort"))
    ...     print(operators.name, operators.read_text(), sep=": ", end="")
    gelu.required_operators.config: com.microsoft;1;Gelu
    """
    path = Path(path)
    if path.suffix != ".ort":
        raise ValueError(f"the file must end in .ort, got {path.name!r}")
    require("onnxruntime", "report")
    with tempfile.TemporaryDirectory(prefix="fastact-") as folder:
        source = save(model, Path(folder, "model.onnx"))
        # In a process of its own: the tool sets up logging, and takes command-line arguments.
        tool = [sys.executable, "-m", "onnxruntime.tools.convert_onnx_models_to_ort"]
        style, mark = ("Runtime", ".with_runtime_opt") if delegated else ("Fixed", "")
        options = ["--optimization_style", style, "--target_platform", "arm"]
        done = subprocess.run(
            [*tool, *options, str(source)], capture_output=True, text=True, check=False
        )
        converted = source.with_suffix(f"{mark}.ort")
        if done.returncode or not converted.is_file():
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            raise ValueError(f"onnxruntime cannot convert the model: {lines[-1]}")
        listed = source.with_suffix(f".required_operators{mark}.config").read_text()
        data = converted.read_bytes()
    # Without the comments, which name the folder of the conversion.
    wanted = [line for line in listed.splitlines() if line and not line.startswith("#")]
    operators = path.with_suffix(".required_operators.config")
    write_all({path: data, operators: "".join(f"{line}\n" for line in wanted).encode()})
    return path, operators
