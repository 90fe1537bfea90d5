"""An onnxruntime session under a device's constraints, and what the runtime made of the model."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

#: Printed with every figure: onnxruntime's highest level, its default.
OPTIMIZATION = "all"

_ERRORS_ONLY = 3  # onnxruntime's severities: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal


def session_options(threads: int = 1) -> Any:
    """Return onnxruntime options for a small device: few threads, none of them spinning.

    Parameters
    ----------
    threads : int, optional
        Threads inside an operator. Operators run one after the other.

    Returns
    -------
    onnxruntime.SessionOptions
        The options.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.
    """
    ort = require("onnxruntime", "report")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = _ERRORS_ONLY
    # A waiting thread that spins looks fast on an idle workstation and drains a battery.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return options


class Session:
    """A model with one input and one output, loaded and bound to two buffers.

    Write into `input`, call `run`, read `output`: a run allocates and copies nothing, as
    in an application on a device.

    Parameters
    ----------
    model : bytes
        The serialised model.
    sample : ndarray
        An input; it gives the buffers their shape and is the input of the first run.
    threads : int, optional
        Threads inside an operator.

    Attributes
    ----------
    input, output : ndarray
        The bound buffers.
    create_ms, first_run_ms : float
        How long loading and optimising the model took, and how long the first run,
        in milliseconds.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.

    Examples
    --------
    >>> session = Session(model.SerializeToString(), images[:1])  # doctest: +SKIP
    >>> session(images[:1]).shape  # doctest: +SKIP
    (1, 10)
    """

    def __init__(self, model: bytes, sample: npt.NDArray[Any], *, threads: int = 1) -> None:
        ort = require("onnxruntime", "report")
        options = session_options(threads)

        start = time.perf_counter_ns()
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.create_ms = (time.perf_counter_ns() - start) / 1e6

        (source,), (target,) = self._session.get_inputs(), self._session.get_outputs()
        self.input = np.array(sample, order="C")
        start = time.perf_counter_ns()
        (first,) = self._session.run(None, {source.name: self.input})
        self.first_run_ms = (time.perf_counter_ns() - start) / 1e6

        self.output: npt.NDArray[Any] = np.empty_like(first)
        self._binding = self._session.io_binding()
        # On the CPU an OrtValue made from an array shares the array's memory.
        wrap = ort.OrtValue.ortvalue_from_numpy
        self._binding.bind_ortvalue_input(source.name, wrap(self.input))
        self._binding.bind_ortvalue_output(target.name, wrap(self.output))

    def load(self, values: npt.NDArray[Any]) -> None:
        """Copy an input into the bound buffer.

        Parameters
        ----------
        values : ndarray
            The input, of the buffer's shape and dtype.
        """
        np.copyto(self.input, values, casting="no")

    def run(self) -> None:
        """Run the model on `input`; the result is then in `output`."""
        self._session.run_with_iobinding(self._binding)

    def __call__(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Run the model on `values` and return a copy of the output.

        Parameters
        ----------
        values : ndarray
            The input, of the buffer's shape and dtype.

        Returns
        -------
        ndarray
            The output.
        """
        self.load(values)
        self.run()
        return self.output.copy()


def optimized_operators(model: bytes) -> Counter[str]:
    """Count the operators that onnxruntime runs, after its optimisations on this CPU.

    Parameters
    ----------
    model : bytes
        The serialised model.

    Returns
    -------
    Counter
        How often each operator occurs; ``.total()`` is the number of nodes.

    Raises
    ------
    ImportError
        If onnxruntime or onnx is not installed.
    """
    onnx, ort = require("onnx", "onnx"), require("onnxruntime", "report")
    options = session_options()
    with tempfile.TemporaryDirectory(prefix="fastact-") as folder:
        optimized = Path(folder) / "optimized.onnx"
        options.optimized_model_filepath = str(optimized)
        ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return Counter(_operators(onnx.load(optimized).graph))


def _operators(graph: Any) -> Iterator[str]:
    """Name each node's operator, those inside If and Loop included."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from _operators(inner)
