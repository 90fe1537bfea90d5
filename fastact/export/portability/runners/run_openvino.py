"""Runs a model in OpenVINO on the CPU, and counts the operators that it compiled it to."""

from __future__ import annotations

import importlib
from typing import Any

# What carries data in and out, and what changes nothing but its shape, layout or type.
_NO_WORK = {"Input", "Output", "Const", "Reshape", "Reorder", "Convert"}


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
        The output, computed in float32: the CPU may take bfloat16 by default.
    nodes : int
        Operators of the compiled model, those without work left out.
    """
    openvino = importlib.import_module("openvino")
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    kinds = [node.get_rt_info()["layerType"] for node in compiled.get_runtime_model().get_ops()]
    y = compiled([x])[0]
    return y, sum(getattr(kind, "value", kind) not in _NO_WORK for kind in kinds)
