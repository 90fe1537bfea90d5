"""Tables of the models of a comparison, and of where they were measured."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..latency import milliseconds
from ..results import Comparison, Interval, Measurement

# Characters in a line of a cell that would make its table too wide.
_LINE = 32


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Parameters
    ----------
    caption : str
        What it holds.
    head : tuple of str
        The headings of its columns.
    rows : tuple of tuple of str
        The cells; the first one of a row is what the row is about.
    chosen : str or None
        The first cell of the row to stand out.
    numbers : bool
        Whether all but the first column are short and go to the right.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    chosen: str | None = None
    numbers: bool = True


def models(comparison: Comparison) -> Table:
    """Return what each model costs and gives.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each model; columns of which nothing is known are left out.
    """
    budget = comparison.budget_ms
    verdicts = {True: "pass", False: "FAIL", None: "unsure"}
    columns: dict[str, Callable[[Measurement], str]] = {
        "p50,\nms": lambda m: milliseconds(m.latency.p50_ms),
        "p90,\nms": lambda m: milliseconds(m.latency.p90_ms),
        "p99,\nms": lambda m: milliseconds(m.latency.p99_ms),
        f"budget\n{budget:g} ms\nat p90" if budget else "": lambda m: (
            verdicts[m.meets(budget)] if budget else ""
        ),
        f"p50 /\n{comparison.baseline.name}": lambda m: _with(m.ratio, m.ratio_interval, ".2f"),
        "accuracy": _accuracy,
        "peak\nmemory,\nMB": lambda m: "" if m.peak_mb is None else f"{m.peak_mb:.1f}",
        "added by\nmodel,\nMB": lambda m: "" if m.model_mb is None else f"{m.model_mb:.1f}",
        "file,\nkB": lambda m: f"{m.file_bytes / 1000:.1f}",
        "nodes": lambda m: str(m.nodes),
        "change of\noutputs": lambda m: "" if m.output_change is None else f"{m.output_change:.2g}",
    }
    rows = [(m.name, *(cell(m) for cell in columns.values())) for m in comparison.measurements]
    kept = [i for i in range(len(columns) + 1) if any(row[i] for row in rows)]
    head = ("model", *columns)
    return Table(
        f"Models of {comparison.network}; second lines are 95 % intervals",
        tuple(head[i] for i in kept),
        tuple(tuple(row[i] or "not known" for i in kept) for row in rows),
        comparison.verdict.take,
    )


def details(comparison: Comparison) -> Table:
    """Return what else is known of each model.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each model.
    """
    columns: dict[str, Callable[[Measurement], str]] = {
        "load,\nms": lambda m: milliseconds(m.create_ms),
        "first run,\nms": lambda m: milliseconds(m.first_run_ms),
        "mean,\nms": lambda m: milliseconds(m.latency.mean_ms),
        "min,\nms": lambda m: milliseconds(m.latency.min_ms),
        f"rounds slower\nthan {comparison.baseline.name}": lambda m: f"{m.slower_share:.1%}",
        "parameters": lambda m: f"{m.parameters:,}",
        "multiply-\naccumulates": lambda m: _count(m.macs),
        "activation\nelements": lambda m: _count(m.activation_elements),
        "nodes": lambda m: textwrap.fill(
            ", ".join(f"{n} {name}" for name, n in sorted(m.operators.items())), _LINE
        ),
    }
    rows = [(m.name, *(cell(m) for cell in columns.values())) for m in comparison.measurements]
    return Table("More figures of each model", ("model", *columns), tuple(rows))


def split(comparison: Comparison) -> Table:
    """Return where the additional time of each model goes.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each model with a split.
    """
    rows = [
        (m.name, *(f"{us:+.2f}" for us in (s.fusion_us, s.arithmetic_us, s.total_us)))
        for m in comparison.measurements
        if (s := m.split) is not None
    ]
    head = ("model", "lost fusion, µs", "arithmetic, µs", "both, µs")
    return Table("Time beyond the model with ReLU, at p50", head, tuple(rows))


def quantiles(comparison: Comparison) -> Table:
    """Return the latency that a share of the runs stays within.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each model.
    """
    percents = (1, 10, 25, 50, 75, 90, 95, 99)
    rows = [
        (m.name, *(milliseconds(m.quantiles_ms[percent]) for percent in percents), str(m.latency.n))
        for m in comparison.measurements
    ]
    head = ("model", *(f"p{percent}, ms" for percent in percents), "runs")
    return Table("Quantiles of the latency", head, tuple(rows))


def accuracies(comparison: Comparison) -> Table:
    """Return latency and accuracy, and what the accuracy gains over the baseline.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each model.
    """
    head = (
        "model",
        "p50, ms",
        "accuracy",
        "right, for each seed",
        "points gained",
        "computed from",
    )
    rows = []
    for m in comparison.measurements:
        counts = m.seeds.counts if m.seeds else (m.accuracy.correct,) if m.accuracy else ()
        images = m.seeds.images if m.seeds else m.accuracy.images if m.accuracy else 0
        right = f"{' '.join(map(str, counts))} of {images}" if counts else "not known"
        gained, source = "", ""
        if m.gain is not None:
            low, high = m.gain.interval
            gained = _with(100 * m.gain.difference, (100 * low, 100 * high), "+.2f")
            source = m.gain.source
        accuracy = _accuracy(m) or "not known"
        rows.append((m.name, milliseconds(m.latency.p50_ms), accuracy, right, gained, source))
    return Table("Accuracy; second lines are 95 % intervals", head, tuple(rows))


def environment(comparison: Comparison) -> Table:
    """Return where and how it was measured.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each fact.
    """
    where = comparison.environment
    facts = {
        "network": f"{comparison.network}, {comparison.weights} weights",
        "data": comparison.data,
        "processor": where.cpu,
        "usable CPUs": str(where.usable_cpus),
        "system": where.system,
        "kernels of fastact": where.isa,
        **{name: number for name, number in where.versions.items() if number},
        "date": comparison.date,
    }
    return Table(
        "Where, of what and with what it was measured",
        ("what", "here"),
        _known(facts.items()),
        numbers=False,
    )


def noise(comparison: Comparison) -> Table:
    """Return how steady the machine was.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each figure.
    """
    found = comparison.noise
    often, load = found.preemptions, found.load
    facts = {
        "medians over time moved by": f"{found.drift:.1%}",
        "the CPU was taken away, times in 1,000 runs": "" if often is None else f"{often:.1f}",
        "load average": "" if load is None else f"{load:.1f}",
    }
    return Table("How steady the machine was", ("what", "here"), _known(facts.items()))


def _known(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in facts if value)


def _count(number: int | None) -> str:
    return "not known" if number is None else f"{number:,}"


def _accuracy(m: Measurement) -> str:
    if m.seeds is not None:
        return _with(m.seeds.mean, m.seeds.interval, ".2%")
    return "" if m.accuracy is None else f"{m.accuracy.share:.2%}"


def _with(value: float, interval: Interval, form: str) -> str:
    """Write a figure, and its interval below unless that is one point."""
    low, high = interval
    return f"{value:{form}}" + (f"\n{low:{form}} to {high:{form}}" if low != high else "")
