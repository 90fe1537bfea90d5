"""Asks onnxruntime's mobile-usability checker whether a provider takes a whole model."""

from __future__ import annotations

import importlib
from typing import Any


def nnapi(path: str, x: Any) -> tuple[None, int]:
    """Ask about NNAPI.

    Parameters
    ----------
    path : str
        The ONNX file.
    x : ndarray
        The input, which is not looked at: nothing is computed.

    Returns
    -------
    y : None
        No output.
    nodes : int
        Nodes of the model.
    """
    return _whole("check_nnapi_partitions", path)


def coreml(path: str, x: Any) -> tuple[None, int]:
    """Ask about CoreML's NeuralNetwork format; as `nnapi`.

    Parameters
    ----------
    path : str
        The ONNX file.
    x : ndarray
        The input, which is not looked at.

    Returns
    -------
    y : None
        No output.
    nodes : int
        Nodes of the model.
    """
    return _whole("check_coreml_partitions", path, "coreml_supported_neuralnetwork_ops.md")


def coreml_mlprogram(path: str, x: Any) -> tuple[None, int]:
    """Ask about CoreML's MLProgram format; as `nnapi`.

    Parameters
    ----------
    path : str
        The ONNX file.
    x : ndarray
        The input, which is not looked at.

    Returns
    -------
    y : None
        No output.
    nodes : int
        Nodes of the model.
    """
    return _whole("check_coreml_partitions", path, "coreml_supported_mlprogram_ops.md")


def _whole(check: str, path: str, *lists: str) -> tuple[None, int]:
    onnx = importlib.import_module("onnx")
    checker = importlib.import_module("onnxruntime.tools.mobile_helpers.usability_checker")
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    found = getattr(checker, check)(model, True, *lists)
    if found.num_supported_nodes < found.num_nodes:
        absent = {name.split(":")[1] for name in found.unsupported_ops}
        because = f"has no {' and no '.join(sorted(absent))}" if absent else "not its rank or shape"
        raise NotImplementedError(because)
    return None, found.num_nodes
