"""From the raw durations of a measurement to its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._extras import require
from . import child
from .latency import Latency, slower_share
from .profiles import Profile
from .results import Accuracy, Gain, Interval, Measurement, Split
from .session import optimized_operators
from .spread import interval, quantiles, resampled_percentiles

if TYPE_CHECKING:
    import onnx

    from .workload import Model, Workload

#: The name under which the network runs whose ReLU is not folded.
PROBE = "unfused relu"


def measurements(
    work: Workload, times: child.Times, profile: Profile, report: child.Progress
) -> tuple[Measurement, ...]:
    """Gather what was measured of every model of a workload.

    Parameters
    ----------
    work : Workload
        What was run.
    times : Times
        What the process found that ran it.
    profile : Profile
        How it was run.
    report : callable
        Called with (what is going on, steps done, steps in all).

    Returns
    -------
    tuple of Measurement
        In the order of the models.
    """
    relu = next((model.name for model in work.models if model.activation == "relu"), None)
    middle = {name: float(np.median(values)) for name, values in times.samples_ns.items()}
    found: list[Measurement] = []
    for model in work.models:
        report("memory", len(found), len(work.models))
        accuracy = _accuracy(work, times.outputs, model.name)
        found.append(
            Measurement(
                name=model.name,
                activation=model.activation,
                form=model.form,
                **measured(model.name, model.content, times, work.inputs, profile),
                accuracy=accuracy,
                seeds=model.seeds,
                gain=model.gain or _gain(accuracy, model, work),
                split=_split(model, relu, middle),
                output_change=model.output_change,
                retrain=model.retrain,
            )
        )
    report("memory", len(found), len(work.models))
    return tuple(found)


def measured(
    name: str,
    content: bytes,
    times: child.Times,
    inputs: Mapping[str, npt.NDArray[Any]],
    profile: Profile,
) -> dict[str, Any]:
    """Gather what was measured of one model, relative to the first of `times`.

    Parameters
    ----------
    name : str
        Its name in `times`.
    content : bytes
        The serialised model.
    times : Times
        What the process found that ran it.
    inputs, profile
        What it was run on, and how.

    Returns
    -------
    dict
        Fields of `Measurement`.
    """
    from ..export.cost import parameters

    samples = times.samples_ns
    first = next(iter(samples))
    drawn = resampled_percentiles({first: samples[first], name: samples[name]}, (50, 90))
    peak_mb, model_mb = child.memory(content, inputs, profile)
    model = require("onnx", "onnx").ModelProto.FromString(content)
    macs, elements = _sizes(model)
    return {
        "latency": Latency.of(samples[name]),
        "quantiles_ms": quantiles(samples[name]),
        "ratio": float(np.median(samples[name]) / np.median(samples[first])),
        "ratio_interval": interval(drawn[name][:, 0] / drawn[first][:, 0]),
        "p90_interval": _milliseconds(interval(drawn[name][:, 1])),
        "slower_share": slower_share(samples[name], samples[first]),
        "create_ms": times.create_ms[name],
        "first_run_ms": times.first_run_ms[name],
        "peak_mb": peak_mb,
        "model_mb": model_mb,
        "file_bytes": len(content),
        "parameters": parameters(model),
        "macs": macs,
        "activation_elements": elements,
        "operators": dict(optimized_operators(content, profile.optimization)),
    }


def _milliseconds(ends_ns: Interval) -> Interval:
    return ends_ns[0] / 1e6, ends_ns[1] / 1e6


def _sizes(model: onnx.ModelProto) -> tuple[int | None, int | None]:
    """Count multiply-accumulates, and elements that go through activations."""
    from ..export import inspect

    found = inspect(model)
    elements = [entry.elements for entry in found.activations]
    known = [count for count in elements if count is not None]
    return found.macs, sum(known) if len(known) == len(elements) else None


def _split(model: Model, relu: str | None, middle_ns: Mapping[str, float]) -> Split | None:
    if relu is None or model.activation == "relu" or PROBE not in middle_ns:
        return None
    fusion = middle_ns[PROBE] - middle_ns[relu]
    return Split(fusion / 1e3, (middle_ns[model.name] - middle_ns[PROBE]) / 1e3)


def _accuracy(
    work: Workload, outputs: Mapping[str, npt.NDArray[Any]], name: str
) -> Accuracy | None:
    from .own.inputs import correct

    if work.labels is None:
        return None
    right, before = (
        correct(list(outputs[entry]), work.labels) for entry in (name, work.models[0].name)
    )
    return Accuracy(
        images=right.size,
        correct=int(right.sum()),
        gained=int((right & ~before).sum()),
        lost=int((before & ~right).sum()),
    )


def _gain(accuracy: Accuracy | None, model: Model, work: Workload) -> Gain | None:
    """Tell the accuracy relative to the baseline's, of one training on the same inputs.

    Only inputs that one gets right and the other wrong tell the two apart (McNemar, 1947).
    """
    if accuracy is None or model is work.models[0]:
        return None
    difference = (accuracy.gained - accuracy.lost) / accuracy.images
    error = math.sqrt(accuracy.gained + accuracy.lost) / accuracy.images
    ends = (difference - 2 * error, difference + 2 * error)
    return Gain(difference, error, ends, f"{accuracy.images} labelled inputs, one training")
