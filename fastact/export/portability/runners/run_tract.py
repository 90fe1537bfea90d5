"""Runs a model in tract, and counts the operators that its profile lists."""

from __future__ import annotations

import importlib
import json
from typing import Any

_NO_WORK = {"Source", "Const", "Cast"}  # what carries data in, or changes its type


def run(path: str, x: Any) -> tuple[Any, int | None]:
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
    nodes : int or None
        Operators of the optimised model, those without work left out; None of a model of images,
        since the profile that tells them takes seconds.
    """
    tract = importlib.import_module("tract")
    model = tract.onnx().load(path).into_model().into_runnable()
    y = model.run([x])[0].to_numpy()
    if x.ndim > 2:
        return y, None
    nodes = json.loads(model.profile_json([x]))["nodes"]
    return y, sum(node["op_name"] not in _NO_WORK for node in nodes)
