"""Running two models on the same inputs in onnxruntime, to compare their outputs."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from .._extras import require
from .reading import LIMIT, ModelError

Inputs = Mapping[str, npt.NDArray[Any]]

# What a dimension without a size is given, in turn, until the model runs. Convolutional
# networks with strides need the large ones.
SIZES = (2, 1, 8, 32, 224)
# The elements that are drawn for all inputs together, at most.
MOST_ELEMENTS = 2**25


def difference(
    before: onnx.ModelProto, after: onnx.ModelProto, inputs: Inputs | None = None
) -> tuple[float, float]:
    """Run two models and compare their outputs.

    Parameters
    ----------
    before, after : onnx.ModelProto
        The models, with all of their data inside.
    inputs : mapping of str to ndarray, optional
        What to run them on. The default is random: normal values of scale 1 and then 3, zeros
        and ones for integers.

    Returns
    -------
    absolute : float
        The largest difference of an output value.
    relative : float
        The largest difference relative to the largest value of its output, or to 1 if that is
        larger.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.
    ModelError
        If onnxruntime refuses a model or the inputs, or if the outputs differ in shape or type.

    Examples
    --------
    >>> from fastact.export import activation
    >>> exact, tanh = activation("gelu"), activation("gelu_tanh")
    >>> difference(exact, exact)
    (0.0, 0.0)
    >>> absolute, _ = difference(exact, tanh, {"x": np.full((1, 64), 2.7, np.float32)})
    >>> round(absolute, 5)
    0.00047
    """
    first, second = _session(before, "the model"), _session(after, "the rewritten model")
    tries = [[inputs]] if inputs is not None else _random(first)
    reason = ""
    for batches in tries:
        try:
            expected = [first.run(None, batch) for batch in batches]
        except Exception as error:  # onnxruntime has no class of its own for all of its errors
            reason = _first_line(error)
            continue
        pairs = [
            pair
            for batch, results in zip(batches, expected, strict=True)
            for pair in zip(results, _run(second, batch), strict=True)
        ]
        changes = [_compare(old, new) for old, new in pairs]
        absolute, relative = zip((0.0, 0.0), *changes, strict=True)
        return max(absolute), max(relative)
    kind = "the given" if inputs is not None else "random"
    advice = "" if inputs is not None else "; give inputs that it accepts"
    raise ModelError(f"the model does not run on {kind} inputs: {reason}{advice}")


def read_inputs(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read the inputs of a model from a file of NumPy's.

    Parameters
    ----------
    path : Path
        An ``.npz`` file: one array for each input, by name.

    Returns
    -------
    dict of str to ndarray
        The arrays.

    Raises
    ------
    ModelError
        If it is no such file.
    OSError
        If it cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, AttributeError, TypeError, EOFError, zipfile.BadZipFile):
        raise ModelError(f"cannot read {path}: it is not an .npz file of plain arrays") from None


def _session(model: onnx.ModelProto, what: str) -> Any:
    runtime = require("onnxruntime", "report")
    if model.ByteSize() > LIMIT:
        raise ModelError(f"{what} is over protobuf's 2 GB and cannot be run")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its errors are told as exceptions, and once is enough
    # As written: what the optimiser makes of a spelling is not the question here.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise ModelError(
            f"onnxruntime {runtime.__version__} does not load {what}: {_first_line(error)}"
        ) from None


def _run(session: Any, inputs: Inputs) -> list[Any]:
    try:
        return list(session.run(None, inputs))
    except Exception as error:
        raise ModelError(f"the rewritten model does not run: {_first_line(error)}") from None


def _random(session: Any) -> Iterator[list[Inputs]]:
    """Yield pairs of inputs, with ever other sizes where the model leaves them open."""
    ports = session.get_inputs()
    for port in ports:
        if port.type not in _DTYPES:
            raise ModelError(f"no random input for {port.name!r} of {port.type}; give inputs")
    open_sizes = any(not isinstance(size, int) for port in ports for size in port.shape)
    for size in SIZES if open_sizes else (1,):
        shapes = [_shape(port, size) for port in ports]
        if sum(map(math.prod, shapes)) > MOST_ELEMENTS or max(map(len, shapes), default=0) > 32:
            raise ModelError(f"no random inputs for the shapes {shapes}; give inputs")
        random = np.random.default_rng(1)
        yield [
            {port.name: _draw(random, port, size, scale) for port in ports} for scale in (1.0, 3.0)
        ]


def _draw(random: np.random.Generator, port: Any, size: int, scale: float) -> npt.NDArray[Any]:
    shape = _shape(port, size)
    dtype = np.dtype(_DTYPES[port.type])
    if dtype.kind == "f":
        return np.asarray(random.standard_normal(shape) * scale, dtype)
    return random.integers(0, 2, shape).astype(dtype)


def _shape(port: Any, size: int) -> list[int]:
    return [entry if isinstance(entry, int) else size for entry in port.shape]


_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
    **{f"tensor({name})": name for name in ("int8", "int16", "int32", "int64")},
    **{f"tensor({name})": name for name in ("uint8", "uint16", "uint32", "uint64")},
}


def _compare(old: Any, new: Any) -> tuple[float, float]:
    old, new = np.asarray(old), np.asarray(new)
    if old.shape != new.shape or old.dtype != new.dtype:
        raise ModelError(
            f"an output became {new.dtype}{list(new.shape)}, which was {old.dtype}{list(old.shape)}"
        )
    if old.dtype.kind not in "fiub":  # strings: the same or as different as can be
        return (0.0, 0.0) if (old == new).all() else (np.inf, np.inf)
    old, new = old.astype(np.float64), new.astype(np.float64)
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    apart = np.abs(np.where(same, 0, old) - np.where(same, 0, new))
    largest = float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0))
    scale = float(np.abs(old[np.isfinite(old)]).max(initial=1))
    return largest, largest / scale


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
