"""The picture of a comparison: latency, budget and accuracy of every model."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..latency import milliseconds
from ..results import Comparison, Measurement
from .style import LIGHT, TEXT, WIDE, beside, figure, looks, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What a picture can be written as.
SUFFIXES = (".png", ".svg", ".pdf")

# A budget further away than this from all latencies is told instead of drawn.
_FAR_BUDGET = 4.0


def save(comparison: Comparison, path: Path) -> None:
    """Write the answer as one picture: latency, budget, accuracy, and the verdict as the title.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    path : Path
        The file; its suffix, one of `SUFFIXES`, is the format. An existing file is replaced.

    Raises
    ------
    ValueError
        If the suffix is none of these.
    ImportError
        If matplotlib is not installed.
    OSError
        If the file cannot be written; nothing is left behind then.
    """
    from ...export.files import write_bytes

    suffix = check_suffix(path)
    undated = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    buffer = io.BytesIO()
    with style():
        answer(comparison).savefig(buffer, format=suffix[1:], dpi=144, metadata=undated[suffix])
    write_bytes(path, buffer.getvalue())


def check_suffix(path: Path) -> str:
    """Return the suffix of a picture's file in lower case, or say which ones there are.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        One of `SUFFIXES`.

    Raises
    ------
    ValueError
        If it is another one.

    Examples
    --------
    >>> check_suffix(Path("answer.PNG"))
    '.png'
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"a picture is written as {', '.join(SUFFIXES)}, not as {path.name!r}")
    return suffix


def answer(comparison: Comparison) -> Figure:
    """Draw the latency of every model, the budget, and the accuracy beside it.

    Parameters
    ----------
    comparison : Comparison
        What to draw.

    Returns
    -------
    matplotlib.figure.Figure
        The picture, with the verdict as its title.
    """
    models = comparison.measurements
    known = any(m.best_accuracy is not None for m in models)
    title = textwrap.fill(comparison.verdict.sentence, 100)
    lines = title.count("\n") + 1
    height = 120 + 34 * len(models) + 1.4 * TEXT * lines
    picture = figure(WIDE, height)
    columns = [3, 2] if known else [1]
    axes = picture.subplots(1, len(columns), sharey=True, squeeze=False, width_ratios=columns)[0]
    latency_bars(axes[0], comparison)
    if known:
        accuracy_rows(axes[1], comparison)
    picture.suptitle(title, x=0.01, ha="left", size=TEXT, weight="bold", linespacing=1.4)
    where = comparison.environment
    source = f"{comparison.network}, {comparison.profile.name}, {where.cpu}, {comparison.date}"
    picture.supxlabel(source, x=0.01, ha="left", size=TEXT - 2, color=LIGHT["muted"])
    return picture


def latencies(comparison: Comparison, width: float) -> Figure:
    """Draw the latency of every model as bars, for where there is no accuracy to hold it against.

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
    picture = figure(width, 80 + 34 * len(comparison.measurements))
    latency_bars(picture.subplots(), comparison)
    return picture


def latency_bars(axes: Axes, comparison: Comparison) -> None:
    """Draw bars up to the p50 latency, whiskers from there to the p90, and the budget.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where.
    comparison : Comparison
        What to draw.
    """
    models, look = comparison.measurements, looks(comparison)
    for row, m in enumerate(models):
        p50, p90 = m.latency.p50_ms, m.latency.p90_ms
        chosen = m.name == comparison.verdict.take
        axes.barh(row, p50, 0.55, color=look[m.name].color, alpha=1 if chosen else 0.5)
        axes.plot([p50, p90], [row, row], color=LIGHT["ink"], lw=1.5, marker="|", ms=9)
        beside(axes, p90, row, milliseconds(p50), "bold" if chosen else "normal")
    name_rows(axes, comparison, models)
    axes.grid(visible=False)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlim(0, 1.3 * max(m.latency.p90_ms for m in models))
    axes.set_xlabel("latency, ms: bar p50, whisker p90")
    budget_line(axes, comparison)


def accuracy_rows(axes: Axes, comparison: Comparison) -> None:
    """Draw the accuracy of each model, and its interval over the seeds.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where.
    comparison : Comparison
        What to draw.
    """
    look = looks(comparison)
    for row, m in enumerate(comparison.measurements):
        share = m.best_accuracy
        if share is None:
            continue
        low, high = m.seeds.interval if m.seeds else (share, share)
        color, _, marker = look[m.name]
        axes.plot([100 * low, 100 * high], [row, row], color=color, marker="|")
        axes.plot(100 * share, row, color=color, marker=marker, ms=8)
        beside(axes, 100 * high, row, f"{share:.2%}")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high + 0.35 * (high - low))
    axes.locator_params(axis="x", nbins=4)
    seeds = any(m.seeds for m in comparison.measurements)
    axes.set_xlabel("accuracy, % (95 % interval)" if seeds else "accuracy, %")


def name_rows(axes: Axes, comparison: Comparison, models: Sequence[Measurement]) -> None:
    """Name the rows of a plot after models, from top to bottom, the model to take in bold.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The plot.
    comparison : Comparison
        What is drawn.
    models : sequence of Measurement
        One for each row.
    """
    axes.set_yticks(range(len(models)), [m.name for m in models])
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    for text, m in zip(axes.get_yticklabels(), models, strict=True):
        text.set_color(LIGHT["ink"])
        text.set_fontweight("bold" if m.name == comparison.verdict.take else "normal")


def budget_side(comparison: Comparison) -> str | None:
    """Tell where the budget is, seen from the latencies.

    Parameters
    ----------
    comparison : Comparison
        What is drawn.

    Returns
    -------
    {"left", "right"} or None
        None if there is none, or if it is near enough to be drawn.
    """
    budget = comparison.budget_ms
    if budget is None:
        return None
    if budget > _FAR_BUDGET * max(m.latency.p90_ms for m in comparison.measurements):
        return "right"
    fastest = min(m.latency.p50_ms for m in comparison.measurements)
    return "left" if budget < fastest / _FAR_BUDGET else None


def budget_line(axes: Axes, comparison: Comparison, *, named: bool = True) -> None:
    """Draw the budget, widening the axis up to it, or tell where it is.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The plot, with latencies from left to right.
    comparison : Comparison
        What is drawn.
    named : bool
        Whether to write at the line what it is.
    """
    budget, side = comparison.budget_ms, budget_side(comparison)
    if budget is None:
        return
    if side is None:
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, 0.97 * budget), max(high, 1.08 * budget))
        axes.axvline(budget, color=LIGHT["ink"], lw=1.5, ls=(0, (6, 2)))
        place, kind = budget, axes.get_xaxis_transform()
        align, far = "right" if budget > sum(axes.get_xlim()) / 2 else "left", ""
    else:
        place, kind = float(side == "right"), axes.transAxes
        align, far = side, f", far to the {side}"
    if named:
        text = f"budget {budget:g} ms{far}"
        axes.text(place, 1.01, text, transform=kind, ha=align, va="bottom")
