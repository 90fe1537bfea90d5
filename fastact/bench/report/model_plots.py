"""Pictures of the models of a comparison: latency against accuracy, spread, and its causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..latency import milliseconds
from ..results import Comparison
from .plots import budget_line, name_rows
from .style import LIGHT, TEXT, beside, figure, label_lines, looks, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# From this ratio on latencies are easier to compare on a logarithmic axis.
_LOG_FROM = 6.0


def tradeoff(comparison: Comparison, width: float) -> Figure:
    """Draw latency against accuracy, with the budget as a line.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    width : float
        In CSS pixels.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    models = [m for m in comparison.measurements if m.best_accuracy is not None]
    look = looks(comparison)
    picture = figure(width, 340)
    axes = picture.subplots()
    ends = []
    for m in models:
        share, (color, _, marker) = m.best_accuracy or 0.0, look[m.name]
        p50, p90 = m.latency.p50_ms, m.latency.p90_ms
        if m.seeds:
            low, high = m.seeds.interval
            axes.plot([p50, p50], [100 * low, 100 * high], color=color, lw=1.5, marker="_", ms=8)
        axes.plot([p50, p90], [100 * share] * 2, color=color, lw=1.5, marker="|", ms=8)
        axes.plot(p50, 100 * share, color=color, marker=marker, ms=9)
        ends.append((p50, 100 * share, m.name, color))
    axes.margins(y=0.12)
    axes.set_xlim(0, 1.08 * max(m.latency.p90_ms for m in models))
    axes.set_xlabel("latency, ms: marker p50, to the right p90")
    axes.set_ylabel("accuracy, %")
    axes.grid(axis="y")
    budget_line(axes, comparison)
    label_lines(axes, ends)
    return picture


def distributions(comparison: Comparison, width: float) -> Figure:
    """Draw the share of the runs that were done by each time, one row for each model.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    width : float
        In CSS pixels.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; the slowest 1 % of the runs are left out.
    """
    models, look = comparison.measurements, looks(comparison)
    first = min(m.quantiles_ms[0] for m in models)
    last = max(m.quantiles_ms[99] for m in models)
    picture = figure(width, 60 + 74 * len(models))
    rows = picture.subplots(len(models), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    base = comparison.baseline
    for axes, m in zip(rows, models, strict=True):
        color = look[m.name].color
        axes.plot(base.quantiles_ms[:100], range(100), color=LIGHT["muted"], lw=1, ls=":")
        axes.plot(m.quantiles_ms[:100], range(100), color=color)
        for percent, marker in ((50, "o"), (90, "D")):
            time_ms = m.quantiles_ms[percent]
            axes.plot(time_ms, percent, color=color, marker=marker, ms=6, mec=LIGHT["paper"])
        numbers = f"p50 {milliseconds(m.latency.p50_ms)}, p90 {milliseconds(m.latency.p90_ms)}"
        axes.set_title(f"{m.name}: {numbers} ms", color=color, pad=3)
        axes.set_yticks([0, 50, 90])
        axes.set_ylim(0, 100)
        axes.grid(axis="y")
    bottom = rows[-1]
    if last / first > _LOG_FROM:
        bottom.set_xscale("log")
        plain_log(bottom.xaxis)
    else:
        bottom.locator_params(axis="x", nbins=5)
    bottom.set_xlim(first, last)
    bottom.set_xlabel("latency, ms")
    picture.supylabel("share of the runs, %", size=TEXT, color=LIGHT["muted"])
    for axes in rows:
        budget_line(axes, comparison, named=False)
    return picture


def split(comparison: Comparison, width: float) -> Figure:
    """Draw where the time goes that each model takes beyond the one with ReLU.

    Parameters
    ----------
    comparison : Comparison
        What to draw; at least one model has a split.
    width : float
        In CSS pixels.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    models = [m for m in comparison.measurements if m.split is not None]
    picture = figure(width, 110 + 34 * len(models))
    axes = picture.subplots()
    parts = (("lost fusion", LIGHT["hue1"], ""), ("arithmetic", LIGHT["hue2"], "///"))
    for row, m in enumerate(models):
        assert m.split is not None
        ends = {1: 0.0, -1: 0.0}  # what is saved goes to the left
        for us, (name, color, hatch) in zip(
            (m.split.fusion_us, m.split.arithmetic_us), parts, strict=True
        ):
            side = 1 if us >= 0 else -1
            face, label = ("none" if hatch else color), name if row == 0 else None
            axes.barh(
                row, us, 0.55, ends[side], color=face, ec=color, hatch=hatch, label=label, lw=1.2
            )
            ends[side] += us
        beside(axes, ends[1], row, f"{m.split.total_us:+.2f}")
    name_rows(axes, comparison, models)
    axes.axvline(0, color=LIGHT["ink"], lw=1)
    axes.margins(x=0.18)
    axes.set_xlabel("µs at p50 beyond ReLU")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return picture
