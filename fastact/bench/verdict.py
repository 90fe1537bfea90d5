"""ReLU or GELU: the rule that turns measurements into one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from .latency import milliseconds
from .results import Measurement, Split, Verdict
from .spread import Noise, tells

#: Sessions of one and the same file differ by up to 2 % in p50, in most rounds, because of
#: where their memory happens to lie. So a smaller difference is none.
SAME_RATIO = 1.03


def decide(
    measurements: Sequence[Measurement], budget_ms: float | None = None, noise: Noise | None = None
) -> Verdict:
    """Choose between the baseline and the others.

    Among the models that meet the budget, one that is more accurate than the baseline by more
    than chance wins; without such a one the faster wins; and when neither differs measurably,
    the baseline. A model that would have to be trained again is taken if no other meets the
    budget. What the noise hides is not decided.

    Parameters
    ----------
    measurements : sequence of Measurement
        The baseline and at least one other.
    budget_ms : float, optional
        Latency budget at p90, in milliseconds.
    noise : Noise, optional
        How steady the machine was, for the reason when that keeps from choosing.

    Returns
    -------
    Verdict
        The model to take, and the sentence that says why.

    Raises
    ------
    ValueError
        If there is nothing to compare.
    """
    if len(measurements) < 2:
        raise ValueError("a verdict needs a baseline and at least one other model")
    first = measurements[0]
    within = [m for m in measurements if m.meets(budget_ms)]
    undecided = [m for m in measurements if m.meets(budget_ms) is None]
    if not within and undecided:
        return _too_noisy(_hidden_budget(undecided[0], budget_ms), noise)

    ready = [m for m in within if not m.retrain] or within
    rivals = [m for m in ready if m is not first]
    rival = best(rivals) if rivals else None
    # Of whom the sentence speaks beside the baseline.
    other = rival or best([m for m in measurements[1:] if m.retrain == measurements[-1].retrain])
    take = _choose(first if first in ready else None, rival)
    if first in ready and rival and accuracy_sign(rival) == 0 and speed_sign(rival) is None:
        return _too_noisy(_hidden_ratio(rival, first), noise)

    clauses = [
        _budget_clause(measurements, first, other, take, budget_ms),
        f"{_speed_clause(other, first)}{_accuracy_clause(other, first)}",
        _advice(other, first, take),
        _retrain_clause(measurements, first, take),
    ]
    head = f"Take {take.name}: " if take else ""
    return Verdict(take.name if take else None, head + "; ".join(filter(None, clauses)) + ".")


def speed_sign(m: Measurement) -> int | None:
    """Tell whether a model is measurably slower or faster than the baseline.

    Parameters
    ----------
    m : Measurement
        The model.

    Returns
    -------
    int or None
        1 if slower, -1 if faster, 0 if as fast as far as it matters, None if this run cannot
        tell.
    """
    low, high = m.ratio_interval
    if m.ratio > SAME_RATIO and low > 1:
        return 1
    if m.ratio < 1 / SAME_RATIO and high < 1:
        return -1
    return 0 if tells(m.ratio_interval) else None


def accuracy_sign(m: Measurement) -> int:
    """Tell whether a model is more or less accurate than the baseline by more than chance.

    Parameters
    ----------
    m : Measurement
        The model.

    Returns
    -------
    int
        1 if more accurate, -1 if less, 0 if the difference can be chance or is not known.
    """
    return 0 if m.gain is None else m.gain.sign


def best(others: Sequence[Measurement]) -> Measurement:
    """Pick the one that speaks for all: by accuracy, then speed, then the order given.

    Parameters
    ----------
    others : sequence of Measurement
        At least one.

    Returns
    -------
    Measurement
        One of them.
    """
    surest = max(map(accuracy_sign, others))
    convincing = [m for m in others if accuracy_sign(m) == surest]
    fastest = min(m.latency.p50_ms for m in convincing)
    return next(m for m in convincing if m.latency.p50_ms <= fastest * SAME_RATIO)


def _choose(first: Measurement | None, rival: Measurement | None) -> Measurement | None:
    if first is None or rival is None:
        return first or rival
    if accuracy_sign(rival) != 0:
        return rival if accuracy_sign(rival) > 0 else first
    return rival if speed_sign(rival) == -1 else first


def _too_noisy(what: str, noise: Noise | None) -> Verdict:
    reasons = ", ".join(noise.reasons) if noise and noise.reasons else "the runs spread too much"
    advice = "stop other programs, or measure longer, and try again"
    return Verdict(None, f"No verdict: {what} ({reasons}); {advice}.", too_noisy=True)


def _hidden_ratio(m: Measurement, first: Measurement) -> str:
    low, high = m.ratio_interval
    return (
        f"the machine was too noisy to tell whether {m.name} is slower than {first.name}, "
        f"which took {low:.2f} to {high:.2f} times as long"
    )


def _hidden_budget(m: Measurement, budget_ms: float | None) -> str:
    low, high = map(milliseconds, m.p90_interval)
    return (
        f"the machine was too noisy to tell whether {m.name} meets the budget of {budget_ms:g} ms, "
        f"with a p90 of {low} to {high} ms"
    )


def _budget_clause(
    measurements: Sequence[Measurement],
    first: Measurement,
    other: Measurement,
    take: Measurement | None,
    budget_ms: float | None,
) -> str:
    if budget_ms is None:
        return ""
    budget = f"the budget of {budget_ms:g} ms at p90"
    if take is None:
        nearest = min(measurements, key=lambda m: m.latency.p90_ms)
        return f"No model meets {budget}, the nearest is {nearest.name} with {_p90(nearest)}"
    if all(m.meets(budget_ms) for m in measurements):
        return f"every model meets {budget}"
    rival = other if take is first else first
    if rival.meets(budget_ms):
        return f"it meets {budget} ({_p90(take)}), and so does {rival.name} ({_p90(rival)})"
    return f"it meets {budget} ({_p90(take)}) and {rival.name} does not ({_p90(rival)})"


def _p90(m: Measurement) -> str:
    return f"{milliseconds(m.latency.p90_ms)} ms"


def _speed_clause(other: Measurement, first: Measurement) -> str:
    theirs, ours = other.latency, first.latency
    figures = f"p50 {milliseconds(theirs.p50_ms)} against {milliseconds(ours.p50_ms)} ms"
    sign = speed_sign(other)
    if sign == 0:
        same = f"{other.name} is as fast as {first.name}"
        return f"as far as {theirs.n} runs can tell, {same} ({figures})"
    if sign is None:
        low, high = other.ratio_interval
        return f"{other.name} takes {low:.2f} to {high:.2f} times as long as {first.name}"
    where = (
        f"; of {_microseconds(other.split.total_us)} more, {_parts(other.split)}"
        if other.split is not None and sign > 0
        else ""
    )
    return f"{other.name} takes {other.ratio:.2f} times as long as {first.name} ({figures}{where})"


def _parts(split: Split) -> str:
    return (
        f"{_microseconds(split.fusion_us)} for what is no longer folded into the operator before "
        f"it and {_microseconds(split.arithmetic_us)} for arithmetic"
    )


def _microseconds(time_us: float) -> str:
    return f"{time_us:.3g} us" if abs(time_us) < 100 else f"{time_us:.0f} us"


def _accuracy_clause(other: Measurement, first: Measurement) -> str:
    gain = other.gain
    if gain is None:
        return ""
    points, (low, high) = 100 * gain.difference, (100 * end for end in gain.interval)
    span = f"95 % interval {low:+.2f} to {high:+.2f}, from {gain.source}"
    if gain.sign == 0:
        return (
            f" and is no more or less accurate as far as can be told ({points:+.2f} percentage "
            f"points, {span})"
        )
    more = "more" if gain.sign > 0 else "less"
    return (
        f" and is {more} accurate than {first.name} by {abs(points):.2f} percentage points ({span})"
    )


def _advice(other: Measurement, first: Measurement, take: Measurement | None) -> str:
    """Say what the choice does not say by itself."""
    sure, slower = accuracy_sign(other), speed_sign(other)
    if take is other and sure > 0 and slower == 1:
        return f"where that time is missing, take {first.name}"
    if take is first and first.activation == "relu" and sure == 0 and slower == 0:
        return "with nothing measurable between them, ReLU is what every runtime fuses"
    if take is first and sure > 0:
        return "that accuracy is what the budget costs"
    return ""


def _retrain_clause(
    measurements: Sequence[Measurement], first: Measurement, take: Measurement | None
) -> str:
    """Say what another function would save, or that the choice is one."""
    if take is not None and take.retrain:
        return f"{take.name} computes another function, so the model must be trained again first"
    swapped = [m for m in measurements if m.retrain]
    if not swapped or take is None:
        return ""
    fastest = min(swapped, key=lambda m: m.latency.p50_ms)
    ratio = fastest.latency.p50_ms / take.latency.p50_ms
    known = []
    if fastest.activation == "relu" and take.split is not None:
        more = _microseconds(take.split.total_us)
        known.append(f"of the {more} that {take.name} takes longer, {_parts(take.split)}")
    if fastest.output_change is not None:
        known.append(f"outputs change by {fastest.output_change:.2g} of the largest")
    why = f" ({'; '.join(known)})" if known else ""
    return (
        f"{fastest.name} would take {ratio:.2f} times as long, but only after training the model "
        f"again{why}"
    )
