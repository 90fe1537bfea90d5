"""Runs a model in onnxruntime, and counts the kernels that it called."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any


def run(path: str, x: Any) -> tuple[Any, int]:
    """Run a model of one input and one output.

    Parameters
    ----------
    path : str
        The ONNX file.
    x : ndarray
        The input.

    Returns
    -------
    y : ndarray
        The output.
    nodes : int
        Kernels called. At the level EXTENDED, since the next one depends on the CPU.
    """
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.enable_profiling = True
    options.profile_file_prefix = path
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {session.get_inputs()[0].name: x})
    profile = Path(session.end_profiling())
    events = json.loads(profile.read_text())
    profile.unlink()
    return y, sum(event["name"].endswith("_kernel_time") for event in events)
