"""ReLU or GELU: one network with every activation and form, timed and checked side by side."""

from __future__ import annotations

import datetime
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from .. import activations as registered
from .._extras import require
from . import child, figures
from .agreement import check_agreement
from .child import Progress
from .environment import Environment, usable_cpus
from .latency import ENOUGH_RUNS
from .profiles import PROFILES, Profile
from .results import Comparison, Distance
from .spread import noise, ratio_intervals, tells
from .verdict import decide

if TYPE_CHECKING:
    import onnx

    from .workload import Workload

#: The activations between which to choose, unless others are named. The first is the baseline.
COMPARED = ("relu", "gelu", "gelu_tanh")

#: Rounds that are timed at most, and the seconds for each model after which to stop short.
RUNS = 10_000
SECONDS_EACH = 2.0
WARMUP = 50

#: How often to time, each time twice as long, while the machine is too noisy.
ATTEMPTS = 3


def compare(
    network: str = "digits",
    *,
    model: onnx.ModelProto | str | os.PathLike[str] | None = None,
    data: Mapping[str, npt.NDArray[Any]] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    activations: Sequence[str] = COMPARED,
    profile: Profile | str = "custom",
    budget_ms: float | None = None,
    runs: int = RUNS,
    kernels: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Measure what a network costs and gives with each activation, in onnxruntime.

    The network is made with every activation in every form. All models run on the same inputs,
    in turns at batch 1, a new input in every round, in a process under the profile's
    constraints. Of a user's own model, variants are made in the same way.

    Parameters
    ----------
    network : str, optional
        One of `fastact.export.ARCHITECTURES`.
    model : onnx.ModelProto or path-like, optional
        A model to take instead.
    data : mapping of str to ndarray, optional
        Inputs for `model`, by name, one sample in each row; and ``labels``, the class of each
        sample, to tell the accuracy.
    shapes : mapping of str to sequence of int, optional
        Shapes of inputs of `model` that leave a dimension open.
    activations : sequence of str, optional
        Any of `fastact.activations`. The first is the baseline; for `model`, that is the model
        as it is.
    profile : Profile or str, optional
        The constraints, or the name of a set of them in `PROFILES`.
    budget_ms : float, optional
        Latency budget in milliseconds; a model meets it if its p90 does.
    runs : int, optional
        Timed runs of each model, at most; those that would go beyond 2 s for each model are
        left out. From 200 the percentiles mean something.
    kernels : bool, optional
        Whether to measure what the activations cost on arrays, too, which takes some seconds.
    progress : callable, optional
        Called with (what is going on, steps done, steps in all).

    Returns
    -------
    Comparison
        The measurements and the verdict.

    Raises
    ------
    ValueError
        If an argument is out of range or unknown, or does not fit the model.
    ImportError
        If onnx, onnxruntime or the images are not installed.
    ProfileError
        If the system cannot set the constraints, or they are too tight.
    RunError
        If a model does not run.
    DisagreementError
        If the forms of an activation compute different results, or two activations the same.

    Examples
    --------
    >>> result = compare(budget_ms=1.0)  # doctest: +SKIP
    >>> result.verdict.take  # doctest: +SKIP
    'relu/op'
    """
    report = progress or (lambda what, done, total: None)
    activations = checked(activations)
    profile = checked_profile(profile, budget_ms, runs)
    for module in ("onnx", "onnxruntime"):
        require(module, "report")
    from . import workload

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None  # before our own part in it
    if model is None:
        work = workload.of_architecture(
            network,
            activations,
            profile.precision,
            lambda done, total: report("exporting", done, total),
        )
    else:
        report("rewriting", 0, 1)
        work = workload.of_model(model, activations, data, shapes or {}, profile.precision)
    times = _run(work, profile, runs, report)
    measurements = figures.measurements(work, times, profile, report)
    unsteady = noise(times.samples_ns, times.preemptions, load, usable_cpus())
    notes = [*_profile_notes(profile), *work.notes]
    if measurements[0].latency.n < ENOUGH_RUNS:
        rough = f"Only {measurements[0].latency.n} runs: percentiles are rough below {ENOUGH_RUNS}."
        notes.insert(0, rough)
    from .functions import kernel_cost, properties

    return Comparison(
        network=work.network,
        weights=work.weights,
        data=work.data,
        profile=profile,
        budget_ms=budget_ms,
        environment=Environment.here(),
        measurements=measurements,
        noise=unsteady,
        verdict=decide(measurements, budget_ms, unsteady),
        properties=properties.table(activations),
        distances=tuple(_distance(*pair) for pair in itertools.combinations(activations, 2)),
        kernel_costs=kernel_cost.measure(activations, progress=report) if kernels else None,
        notes=tuple(notes),
        date=datetime.date.today().isoformat(),
    )


def checked(activations: Sequence[str]) -> tuple[str, ...]:
    """Check the activations of a comparison.

    Parameters
    ----------
    activations : sequence of str
        Their names.

    Returns
    -------
    tuple of str
        Each once.

    Raises
    ------
    ValueError
        If one is unknown, or there are fewer than two.
    """
    names = tuple(dict.fromkeys(activations))
    unknown = [name for name in names if name not in registered]
    if unknown:
        raise ValueError(f"unknown activation {unknown[0]!r}; known: {', '.join(registered)}")
    if len(names) < 2:
        raise ValueError(f"a comparison needs two activations or more, not {len(names)}")
    return names


def checked_profile(profile: Profile | str, budget_ms: float | None, runs: int) -> Profile:
    """Check how to measure.

    Parameters
    ----------
    profile, budget_ms, runs
        As for `compare`.

    Returns
    -------
    Profile
        The profile, fitted to this machine.

    Raises
    ------
    ValueError
        If an argument is out of range, or the profile is unknown.
    ProfileError
        If the profile does not fit this machine.
    """
    if budget_ms is not None and not (math.isfinite(budget_ms) and budget_ms > 0):
        raise ValueError(f"budget_ms must be a positive number of milliseconds, not {budget_ms}")
    if runs < 1:
        raise ValueError(f"runs must be at least 1, not {runs}")
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {profile!r}; known: {', '.join(PROFILES)}")
        profile = PROFILES[profile]
    return profile.fitted()


def _run(work: Workload, profile: Profile, runs: int, report: Progress) -> child.Times:
    contents = {model.name: model.content for model in work.models}
    if work.probe is not None:
        contents[figures.PROBE] = work.probe
    for attempt in range(ATTEMPTS):
        times = child.run_in_turns(
            contents,
            work.inputs,
            profile,
            runs=runs << attempt,
            warmup=WARMUP,
            limit_s=SECONDS_EACH * len(contents) * 2**attempt,
            progress=report,
        )
        # Where the noise hides which model is faster, longer runs may still tell.
        if runs < ENOUGH_RUNS or all(map(tells, ratio_intervals(times.samples_ns).values())):
            break
    # Variants of a user's model are verified as they are made. In 8 bits, one activation can be
    # rounded to another code in another form, and two activations to the same.
    if work.weights != "given" and profile.precision == "float32":
        outputs = {(m.activation, m.form): times.outputs[m.name] for m in work.models}
        # Through the layers of a random network, the two GELUs come too close to be told apart.
        check_agreement(outputs, apart=work.weights == "trained")
    return times


def _distance(one: str, other: str) -> Distance:
    from .functions import properties

    found = properties.distance(one, other)
    if math.isinf(found.value):
        return Distance(one, other, None, None)
    return Distance(one, other, found.value, found.at)


def _profile_notes(profile: Profile) -> list[str]:
    wanted = PROFILES.get(profile.name)
    if wanted is None or not isinstance(wanted.cpus, int) or not isinstance(profile.cpus, tuple):
        return []
    if len(profile.cpus) < wanted.cpus:
        return [
            f"Profile {profile.name} is meant for {wanted.cpus} CPUs, but this process may use "
            f"{len(profile.cpus)}."
        ]
    return []
