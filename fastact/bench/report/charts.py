"""The pictures on the page of a comparison, each with its text and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..latency import milliseconds
from ..results import Comparison
from . import activation_tables, kernel_plots, model_plots, plots, tables
from .tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Chart:
    """A picture, and what it shows as text.

    Parameters
    ----------
    key : str
        What its ids begin with.
    title : str
        The heading.
    label : str
        What there is to see, for those who cannot.
    caption : str
        How to read it.
    draw : callable
        Takes the comparison and a width in CSS pixels, and returns the figure.
    table : Table
        The numbers in it.
    """

    key: str
    title: str
    label: str
    caption: str
    draw: Callable[[Comparison, float], Figure]
    table: Table


def charts(comparison: Comparison) -> list[Chart]:
    """List the pictures for which there is something to show.

    Parameters
    ----------
    comparison : Comparison
        What they show.

    Returns
    -------
    list of Chart
        In the order of the page.
    """
    models = comparison.measurements
    known = any(m.best_accuracy is not None for m in models)
    found = [_distributions(comparison), _tradeoff(comparison) if known else _bars(comparison)]
    if any(m.split is not None for m in models):
        found.insert(0, _split(comparison))
    if comparison.kernel_costs is not None:
        found.append(_kernel_costs(comparison))
    if comparison.properties:
        found.append(_functions(comparison))
    return found


def _split(comparison: Comparison) -> Chart:
    shown = [
        f"{m.name} {m.split.fusion_us:+.2f} and {m.split.arithmetic_us:+.2f} µs"
        for m in comparison.measurements
        if m.split is not None
    ]
    return Chart(
        "split",
        "Where the time goes",
        f"Stacked bars: lost fusion and arithmetic beyond the model with ReLU. {'; '.join(shown)}.",
        "The time at p50 that each model takes beyond the one with ReLU. Lost fusion: the runtime "
        "folds a ReLU into the convolution before it, and not another activation. Arithmetic: "
        "computing this activation takes so much longer than computing a ReLU apart.",
        model_plots.split,
        tables.split(comparison),
    )


def _distributions(comparison: Comparison) -> Chart:
    base = comparison.baseline
    return Chart(
        "distributions",
        "Distributions of the latency",
        f"For each model a rising curve, the share of the runs that each time suffices for. "
        f"{_latencies(comparison)}",
        f"How many of the {base.latency.n:,} runs were done by each time; the steeper, the "
        f"steadier. The circle is p50, the diamond p90, the dotted curve {base.name}; the slowest "
        f"1 % are left out.{_budget(comparison)}",
        model_plots.distributions,
        tables.quantiles(comparison),
    )


def _tradeoff(comparison: Comparison) -> Chart:
    shares = [
        f"{m.name} {m.best_accuracy:.2%}"
        for m in comparison.measurements
        if m.best_accuracy is not None
    ]
    over = (
        "upright lines are its 95 % interval over the seeds"
        if any(m.seeds for m in comparison.measurements)
        else "each activation was trained once"
    )
    return Chart(
        "tradeoff",
        "Latency against accuracy",
        f"One point for each model. {_latencies(comparison)} Accuracy: {', '.join(shares)}.",
        f"Better is up and to the left. A marker stands at the p50 latency, the line to its right "
        f"ends at p90. As to accuracy, {over}.{_budget(comparison)}",
        model_plots.tradeoff,
        tables.accuracies(comparison),
    )


def _bars(comparison: Comparison) -> Chart:
    return Chart(
        "latencies",
        "Latency",
        f"One bar for each model. {_latencies(comparison)}",
        f"Bars end at p50, whiskers at p90. The accuracy is not known.{_budget(comparison)}",
        plots.latencies,
        tables.quantiles(comparison),
    )


def _kernel_costs(comparison: Comparison) -> Chart:
    costs = comparison.kernel_costs
    assert costs is not None
    largest = costs.sizes[-1]
    ends = [
        f"{activation} {medians[0]:.2f} and {medians[-1]:.2f} ns"
        for activation, medians in costs.median_ns.items()
    ]
    return Chart(
        "kernels",
        "Cost of an activation by itself",
        f"One curve for each activation, against the elements of the array. At {costs.sizes[0]} "
        f"and at {largest:,} elements: {'; '.join(ends)}.",
        f"fastact's kernels ({costs.variant}) on arrays without a network, one thread, median and "
        "quartiles. The call from Python is most of the cost of small arrays. Dotted lines are "
        "where input and output together fill a cache.",
        kernel_plots.kernel_costs,
        activation_tables.kernel_costs(comparison),
    )


def _functions(comparison: Comparison) -> Chart:
    apart = activation_tables.distances(comparison)
    near = [f"{pair} by {value} at x = {at}" for pair, value, at in apart.rows if value != "inf"]
    names = ", ".join(entry.activation for entry in comparison.properties)
    return Chart(
        "functions",
        "The functions and their derivatives",
        f"Curves of {names} from -4 to 4, their derivatives, and both enlarged near zero.",
        f"Curves that cannot be told apart lie on each other. Largest differences: "
        f"{'; '.join(near)}."
        if near
        else "",
        kernel_plots.functions,
        apart,
    )


def _budget(comparison: Comparison) -> str:
    budget, side = comparison.budget_ms, plots.budget_side(comparison)
    if budget is None:
        return ""
    if side is not None:
        return f" The budget of {budget:g} ms at p90 is far to the {side}."
    return f" The dashed line is the budget of {budget:g} ms at p90."


def _latencies(comparison: Comparison) -> str:
    times = [
        f"{m.name} {milliseconds(m.latency.p50_ms)} and {milliseconds(m.latency.p90_ms)}"
        for m in comparison.measurements
    ]
    return f"p50 and p90 in ms: {'; '.join(times)}."
