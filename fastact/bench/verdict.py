"""ReLU or GELU: the rule that turns measurements into one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .latency import milliseconds
from .results import Measurement, Verdict

# Sessions of one and the same file differ by up to 2 % in p50, in most rounds, because of
# where their memory happens to lie.
_SAME_RATIO = 1.03
# A difference in speed must show in the single rounds too: by a sign test, at three
# standard deviations of a fair coin.
_SURE_SPEED = 3.0
# A difference in accuracy counts from two standard errors.
_SURE_ACCURACY = 2.0


def decide(measurements: Sequence[Measurement], budget_ms: float | None = None) -> Verdict:
    """Choose between the ReLU model and the others.

    Among the models that meet the budget, one that is more accurate than ReLU by more than
    chance wins; without such a one the faster wins; and when neither differs measurably,
    ReLU, which every runtime fuses and quantises.

    Parameters
    ----------
    measurements : sequence of Measurement
        The ReLU model and at least one other.
    budget_ms : float, optional
        Latency budget at p90, in milliseconds.

    Returns
    -------
    Verdict
        The model to take, and the sentence that says why.

    Raises
    ------
    ValueError
        If there is no ReLU model or nothing to compare it with.
    """
    relu = next((m for m in measurements if m.activation == "relu"), None)
    others = [m for m in measurements if m.activation != "relu"]
    if relu is None or not others:
        raise ValueError("a verdict needs the ReLU model and at least one other")

    affordable = [m for m in measurements if m.meets(budget_ms)]
    other = _best([m for m in others if m in affordable] or others)
    if not affordable:
        take = None
    elif relu not in affordable:
        take = other
    elif other not in affordable:
        take = relu
    elif (accuracy_sign(other), -speed_sign(other, relu)) > (0, 0):
        take = other
    else:
        take = relu

    clauses = [
        _budget_clause(measurements, relu, other, take, budget_ms),
        f"{_speed_clause(other, relu)} and {_accuracy_clause(other)}",
        _advice(other, relu, take),
    ]
    head = f"Take {take.name}: " if take else ""
    return Verdict(take.name if take else None, head + "; ".join(filter(None, clauses)) + ".")


def speed_sign(other: Measurement, relu: Measurement) -> int:
    """Tell whether a model is measurably slower or faster than the ReLU model.

    Parameters
    ----------
    other, relu : Measurement
        Two models timed in the same rounds.

    Returns
    -------
    int
        1 if `other` is slower, -1 if faster, 0 if this run cannot tell.
    """
    ratio = other.latency.p50_ms / relu.latency.p50_ms
    lean = (other.slower_share - 0.5) * 2 * math.sqrt(other.latency.n)
    if ratio > _SAME_RATIO and lean > _SURE_SPEED:
        return 1
    if ratio < 1 / _SAME_RATIO and lean < -_SURE_SPEED:
        return -1
    return 0


def accuracy_error(other: Measurement) -> float:
    """Return the standard error of a model's accuracy relative to the ReLU model's.

    Both classify the same images, so only those that one gets right and the other wrong
    tell them apart (McNemar's test).

    Parameters
    ----------
    other : Measurement
        The model.

    Returns
    -------
    float
        The standard error, 0 to 1, under the hypothesis that the two are equally good.
    """
    return math.sqrt(other.gained + other.lost) / other.images


def accuracy_sign(other: Measurement) -> int:
    """Tell whether a model is more or less accurate than the ReLU model by more than chance.

    Parameters
    ----------
    other : Measurement
        The model.

    Returns
    -------
    int
        1 if more accurate, -1 if less, 0 if the difference can be chance.
    """
    net = other.gained - other.lost
    if abs(net) <= _SURE_ACCURACY * accuracy_error(other) * other.images:
        return 0
    return 1 if net > 0 else -1


def _best(others: Sequence[Measurement]) -> Measurement:
    """Pick the one that speaks for all: by accuracy, then speed, then the order given."""
    surest = max(map(accuracy_sign, others))
    convincing = [m for m in others if accuracy_sign(m) == surest]
    fastest = min(m.latency.p50_ms for m in convincing)
    return next(m for m in convincing if m.latency.p50_ms <= fastest * _SAME_RATIO)


def _budget_clause(
    measurements: Sequence[Measurement],
    relu: Measurement,
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
    rival = other if take is relu else relu
    if rival.meets(budget_ms):
        return f"it meets {budget} ({_p90(take)}), and so does {rival.name} ({_p90(rival)})"
    return f"it meets {budget} ({_p90(take)}) and {rival.name} does not ({_p90(rival)})"


def _p90(m: Measurement) -> str:
    return f"{milliseconds(m.latency.p90_ms)} ms"


def _speed_clause(other: Measurement, relu: Measurement) -> str:
    theirs, ours = other.latency, relu.latency
    figures = f"p50 {milliseconds(theirs.p50_ms)} against {milliseconds(ours.p50_ms)} ms"
    if speed_sign(other, relu) == 0:
        same = f"{other.name} is as fast as {relu.name}"
        return f"as far as {theirs.n} runs can tell, {same} ({figures})"
    ratio = theirs.p50_ms / ours.p50_ms
    return f"{other.name} takes {ratio:.2f} times as long as {relu.name} ({figures})"


def _accuracy_clause(other: Measurement) -> str:
    net = other.gained - other.lost
    if other.gained == other.lost == 0:
        return f"is right on the same {other.correct} of {other.images} images"
    if net == 0:
        return f"is right on as many of the {other.images} images"
    points, error = 100 * net / other.images, 100 * accuracy_error(other)
    if abs(points) <= error:
        weight = f"no more than the standard error of {error:.2f}"
    elif accuracy_sign(other) == 0:
        weight = f"no more than twice the standard error of {error:.2f}"
    else:
        weight = f"{abs(points) / error:.1f} times the standard error"
    more = "more" if net > 0 else "fewer"
    return (
        f"is right on {abs(net)} {more} of the {other.images} images "
        f"({points:+.2f} percentage points, {weight})"
    )


def _advice(other: Measurement, relu: Measurement, take: Measurement | None) -> str:
    """Say what the choice does not say by itself."""
    sure, slower = accuracy_sign(other), speed_sign(other, relu)
    if take is other and sure > 0 and slower > 0:
        return f"where that time is missing, take {relu.name}"
    if take is relu and sure == 0 and slower == 0:
        return "with nothing measurable between them, ReLU is what every runtime fuses"
    if take is relu and sure > 0:
        return "that accuracy is what the budget costs"
    return ""
