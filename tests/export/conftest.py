"""onnxruntime sessions as the export tests use them: one thread, quiet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

from fastact.export import targets

Array = npt.NDArray[Any]

_VERSION = ".".join(onnxruntime.__version__.split(".")[:2])
_LOADABLE = targets.find(f"onnxruntime>={_VERSION}").opset or onnx.defs.onnx_opset_version()


def _session(model: onnx.ModelProto, **options: Any) -> onnxruntime.InferenceSession:
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    if opset > _LOADABLE:
        pytest.skip(f"onnxruntime {_VERSION} loads opsets up to {_LOADABLE}")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    # As by default on Arm; on x86 onnxruntime would compute parts of an int8 model in float32.
    settings.add_session_config_entry("session.qdqisint8allowed", "1")
    for name, value in options.items():
        setattr(settings, name, value)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="session")
def newest_loadable() -> int:
    """Tell the newest opset that both the installed onnx and the installed onnxruntime know."""
    return min(onnx.defs.onnx_opset_version(), _LOADABLE)


@pytest.fixture(scope="session")
def run() -> Callable[[onnx.ModelProto, Array], Array]:
    """Run a model of one input and one output."""

    def run(model: onnx.ModelProto, x: Array) -> Array:
        session = _session(model)
        (source,) = session.get_inputs()
        (result,) = session.run(None, {source.name: x})
        return np.asarray(result)

    return run


@pytest.fixture
def optimised(tmp_path: Path) -> Callable[[onnx.ModelProto], list[str]]:
    """List the operators that onnxruntime makes of a model, in order.

    At the level EXTENDED: the next one rewrites convolutions for the cache lines of the CPU at
    hand, so its graphs differ from machine to machine.
    """

    def optimised(model: onnx.ModelProto) -> list[str]:
        path = tmp_path / "optimised.onnx"
        _session(
            model,
            graph_optimization_level=onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
            optimized_model_filepath=str(path),
        )
        nodes = onnx.load(path).graph.node
        return [f"{node.domain}:{node.op_type}".removeprefix(":") for node in nodes]

    return optimised
