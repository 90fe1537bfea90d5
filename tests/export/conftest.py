"""What the export tests share: quiet onnxruntime sessions, and a process that may die."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

import fastact
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


SECONDS = 60  # which no model here takes: then it hangs


class Reader:
    """The process of read_models.py, which is started again when it has died."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model.onnx"
        self.log = folder / "stderr"
        self.process: subprocess.Popen[str] | None = None

    def ask(self, function: str, data: bytes, options: Any) -> str:
        """Tell what becomes of a file: "read", "refused", or what must not be."""
        process = self.process or self.start()
        self.path.write_bytes(data)
        assert process.stdin is not None
        process.stdin.write(json.dumps([function, str(self.path), options]) + "\n")
        process.stdin.flush()
        return self.answer()

    def start(self) -> subprocess.Popen[str]:
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", Path(__file__).with_name("read_models.py")],
                env={**os.environ, "PYTHONPATH": str(Path(fastact.__file__).parents[1])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.answer() == "ready"
        return self.process

    def answer(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], SECONDS)[0]:
            self.stop()
            return f"takes more than {SECONDS} s"
        line = self.process.stdout.readline().rstrip("\n")
        if not line:
            code = self.process.wait()
            self.stop()
            return f"died: {code}: {self.log.read_text()[:400]}"
        return line

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Read files in a process whose memory and time are limited."""
    reader = Reader(tmp_path_factory.mktemp("reader"))
    yield reader
    reader.stop()
