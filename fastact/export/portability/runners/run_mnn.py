"""Converts a model to MNN as its converter does by default, runs it, and counts its operators."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np


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
        Operators of the converted model, without its input and constants.
    """
    mnn = importlib.import_module("MNN")
    # Not MNN.tools.mnnconvert, the module of the command: when it is imported it runs the first
    # `pip install` on the PATH for a package that reports every conversion to MNN's makers.
    tools = importlib.import_module("_tools")
    converted, text = f"{path}.mnn", f"{path}.json"
    for stale in (converted, text):
        Path(stale).unlink(missing_ok=True)
    for source, target in (
        (("-f", "ONNX", "--modelFile", path), ("--MNNModel", converted)),
        (("-f", "MNN", "--modelFile", converted), ("--JsonFile", text)),
    ):
        tools.mnnconvert(["mnnconvert", *source, *target, "--bizCode", "fastact"])
        if not os.path.exists(target[1]):
            raise RuntimeError("its converter refuses the model")

    interpreter = mnn.Interpreter(converted)
    session = interpreter.createSession({"backend": "CPU", "precision": "high", "numThread": 1})
    interpreter.getSessionInput(session).copyFrom(_tensor(mnn, x.astype(np.float32)))
    interpreter.runSession(session)
    result = interpreter.getSessionOutput(session)
    y = _tensor(mnn, np.zeros(result.getShape(), np.float32))
    result.copyToHostTensor(y)
    kinds = [operator["type"] for operator in json.loads(Path(text).read_text())["oplists"]]
    return np.array(y.getNumpyData()), sum(kind not in ("Input", "Const") for kind in kinds)


def _tensor(mnn: Any, values: Any) -> Any:
    kind, layout = mnn.Halide_Type_Float, mnn.Tensor_DimensionType_Caffe
    return mnn.Tensor(values.shape, kind, values, layout)
