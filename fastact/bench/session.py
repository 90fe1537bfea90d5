"""An onnxruntime session under a device's constraints, and what the runtime made of the model."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require

#: Printed with every figure: onnxruntime's highest level, its default.
OPTIMIZATION = "all"

#: One input, or all inputs by name.
Sample = npt.NDArray[Any] | Mapping[str, npt.NDArray[Any]]

_ERRORS_ONLY = 3  # onnxruntime's severities: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal


def session_options(
    threads: int = 1, *, spinning: bool = False, optimization: str = OPTIMIZATION
) -> Any:
    """Return onnxruntime options for a small device: few threads, none of them spinning.

    Parameters
    ----------
    threads : int, optional
        Threads inside an operator. Operators run one after the other.
    spinning : bool, optional
        Whether threads that wait keep a CPU busy.
    optimization : str, optional
        How far the graph is changed: ``"disabled"``, ``"basic"``, ``"extended"`` or ``"all"``.

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
    levels = ort.GraphOptimizationLevel
    level = (
        "ORT_DISABLE_ALL" if optimization == "disabled" else f"ORT_ENABLE_{optimization.upper()}"
    )
    options.graph_optimization_level = getattr(levels, level)
    options.log_severity_level = _ERRORS_ONLY
    # A waiting thread that spins looks fast on an idle workstation and drains a battery.
    for pool in ("intra_op", "inter_op"):
        options.add_session_config_entry(f"session.{pool}.allow_spinning", str(int(spinning)))
    return options


class Session:
    """A model, loaded and bound to buffers for its inputs and outputs.

    Call `load`, then `run`, then read `output`: a run allocates and copies nothing, as in an
    application on a device.

    Parameters
    ----------
    model : bytes or str
        The serialised model, or the path of its file.
    sample : ndarray or mapping of str to ndarray
        The input, or all inputs by name; it gives the buffers their shapes and is the input of
        the first run.
    threads, spinning, optimization : optional
        See `session_options`.

    Attributes
    ----------
    inputs : dict of str to ndarray
        The bound buffers of the inputs.
    output : ndarray
        The bound buffer of the first output.
    create_ms, first_run_ms : float
        How long loading and optimising the model took, and how long the first run,
        in milliseconds.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.
    ValueError
        If one array is given to a model of several inputs.

    Examples
    --------
    >>> session = Session(model.SerializeToString(), images[:1])  # doctest: +SKIP
    >>> session(images[:1]).shape  # doctest: +SKIP
    (1, 10)
    """

    def __init__(
        self,
        model: bytes | str,
        sample: Sample,
        *,
        threads: int = 1,
        spinning: bool = False,
        optimization: str = OPTIMIZATION,
    ) -> None:
        ort = require("onnxruntime", "report")
        options = session_options(threads, spinning=spinning, optimization=optimization)

        start = time.perf_counter_ns()
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.create_ms = (time.perf_counter_ns() - start) / 1e6

        self._names = [port.name for port in self._session.get_inputs()]
        self.inputs = {
            name: np.array(values, order="C") for name, values in self._named(sample).items()
        }
        start = time.perf_counter_ns()
        results = self._session.run(None, self.inputs)
        self.first_run_ms = (time.perf_counter_ns() - start) / 1e6

        self._binding = self._session.io_binding()
        # On the CPU an OrtValue made from an array shares the array's memory.
        wrap = ort.OrtValue.ortvalue_from_numpy
        for name, buffer in self.inputs.items():
            self._binding.bind_ortvalue_input(name, wrap(buffer))
        buffers = []
        for port, result in zip(self._session.get_outputs(), results, strict=True):
            if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
                buffers.append(np.empty_like(result))
                self._binding.bind_ortvalue_output(port.name, wrap(buffers[-1]))
            else:  # strings, sequences and maps have no buffer of a fixed size
                self._binding.bind_output(port.name)
        self.output: npt.NDArray[Any] = buffers[0] if buffers else np.empty(0)

    def _named(self, values: Sample) -> Mapping[str, npt.NDArray[Any]]:
        if isinstance(values, Mapping):
            return values
        if len(self._names) != 1:
            raise ValueError(f"the model has inputs {', '.join(self._names)}; give each by name")
        return {self._names[0]: values}

    def load(self, values: Sample) -> None:
        """Copy an input into the bound buffer.

        Parameters
        ----------
        values : ndarray or mapping of str to ndarray
            The input or inputs, of the buffers' shapes and dtypes.
        """
        for name, array in self._named(values).items():
            np.copyto(self.inputs[name], array, casting="no")

    def run(self) -> None:
        """Run the model on `inputs`; the result is then in `output`."""
        self._session.run_with_iobinding(self._binding)

    def __call__(self, values: Sample) -> npt.NDArray[Any]:
        """Run the model and return a copy of its first output.

        Parameters
        ----------
        values : ndarray or mapping of str to ndarray
            The input or inputs, of the buffers' shapes and dtypes.

        Returns
        -------
        ndarray
            The output.
        """
        self.load(values)
        self.run()
        return self.output.copy()


def optimized_operators(model: bytes | str, optimization: str = OPTIMIZATION) -> Counter[str]:
    """Count the operators that onnxruntime runs, after its optimisations on this CPU.

    Parameters
    ----------
    model : bytes or str
        The serialised model, or the path of its file.
    optimization : str, optional
        How far the graph is changed; see `session_options`.

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
    options = session_options(optimization=optimization)
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
