"""The latency of any ONNX models, without a question about activations: `fastact bench`."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._extras import require
from . import child
from .child import Progress
from .environment import Environment, usable_cpus
from .figures import measured
from .latency import ENOUGH_RUNS
from .measure import RUNS, SECONDS_EACH, WARMUP, checked_profile
from .profiles import Profile
from .results import SCHEMA, Measurement, model_dict
from .spread import Noise, noise


@dataclass(frozen=True)
class Bench:
    """Models, timed in turns.

    Parameters
    ----------
    data : str
        What they were run on.
    batch : int
        Samples in one run.
    profile : Profile
        The constraints under which they were measured.
    budget_ms : float or None
        The latency budget at p90, in milliseconds.
    environment : Environment
        The machine and the versions.
    measurements : tuple of Measurement
        One for each model; ratios are to the first.
    noise : Noise
        How steady the machine was.
    notes : tuple of str
        What to keep in mind when reading the figures.
    command : str
        What made this, as typed in a shell; "" if it was no command.
    date : str
        When, as in ``"2026-11-30"``.
    """

    data: str
    batch: int
    profile: Profile
    budget_ms: float | None
    environment: Environment
    measurements: tuple[Measurement, ...]
    noise: Noise
    notes: tuple[str, ...]
    command: str = ""
    date: str = ""

    def throughput(self, m: Measurement) -> float:
        """Return how many samples a model gets through in a second, one run after the other.

        Parameters
        ----------
        m : Measurement
            One of `measurements`.

        Returns
        -------
        float
            From the mean latency.
        """
        return 1000 * self.batch / m.latency.mean_ms

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data, ready for JSON.

        Returns
        -------
        dict
            Times in milliseconds; ``"schema"`` is the version of this layout.
        """
        models = [
            {**model_dict(m, self.budget_ms), "throughput": self.throughput(m)}
            for m in self.measurements
        ]
        return {
            "schema": SCHEMA,
            "command": self.command,
            "date": self.date,
            "data": self.data,
            "batch": self.batch,
            "profile": self.profile.to_dict(),
            "budget_ms": self.budget_ms,
            "environment": self.environment.to_dict(),
            "models": models,
            "noise": self.noise.to_dict(),
            "notes": list(self.notes),
        }


def bench(
    models: Sequence[str | os.PathLike[str]],
    *,
    data: Mapping[str, npt.NDArray[Any]] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    profile: Profile | str = "custom",
    budget_ms: float | None = None,
    runs: int = RUNS,
    progress: Progress | None = None,
) -> Bench:
    """Time models in turns, by the protocol of `compare`.

    Parameters
    ----------
    models : sequence of path-like
        Files of models that take the same inputs.
    data, shapes, profile, budget_ms, runs, progress : optional
        As for `compare`.

    Returns
    -------
    Bench
        The measurements, in the order of the files.

    Raises
    ------
    ValueError
        If there is no model, models take different inputs, or an argument does not fit.
    ModelError
        If a file cannot be worked with.
    ImportError, OSError, ProfileError, RunError
        As `compare`.

    Examples
    --------
    >>> bench(["a.onnx"]).measurements[0].latency.p50_ms  # doctest: +SKIP
    0.0067
    """
    profile = checked_profile(profile, budget_ms, runs)
    if not models:
        raise ValueError("give at least one model")
    for module in ("onnx", "onnxruntime"):
        require(module, "report")
    from ..export.reading import embedded
    from ..export.rewriting import load
    from .own.inputs import Batches, inputs_for
    from .workload import inputs_text, stacked

    report = progress or (lambda what, done, total: None)
    load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    contents: dict[str, bytes] = {}
    batches: Batches | None = None
    for path in dict.fromkeys(os.fspath(path) for path in models):
        model = embedded(*load(path))
        taken = inputs_for(model, shapes, data)
        if batches is None:
            batches = taken
        elif _signature(taken) != _signature(batches):
            raise ValueError(
                f"{path} takes other inputs than {next(iter(contents))}: "
                f"{_signature(taken)} and not {_signature(batches)}; time them one by one"
            )
        contents[path] = model.SerializeToString()
    assert batches is not None
    inputs = stacked(batches)
    times = child.run_in_turns(
        contents,
        inputs,
        profile,
        runs=runs,
        warmup=WARMUP,
        limit_s=SECONDS_EACH * len(contents),
        outputs=False,
        progress=report,
    )
    found: list[Measurement] = []
    for name, content in contents.items():
        report("memory", len(found), len(contents))
        found.append(Measurement(name, "", "", **measured(name, content, times, inputs, profile)))
    report("memory", len(found), len(contents))
    few = found[0].latency.n
    rough = f"Only {few} runs: percentiles are rough below {ENOUGH_RUNS}."
    return Bench(
        data=inputs_text(batches, data is not None),
        batch=batches.size,
        profile=profile,
        budget_ms=budget_ms,
        environment=Environment.here(),
        measurements=tuple(found),
        noise=noise(times.samples_ns, times.preemptions, load_average, usable_cpus()),
        notes=(*batches.notes, *([rough] if few < ENOUGH_RUNS else [])),
        date=datetime.date.today().isoformat(),
    )


def _signature(batches: Any) -> str:
    shapes = {name: (values.dtype, np.shape(values)) for name, values in batches.inputs[0].items()}
    return ", ".join(f"{name} {dtype}{list(shape)}" for name, (dtype, shape) in shapes.items())
