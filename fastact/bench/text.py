"""A comparison as text: for people on a terminal, plain where it is piped."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .latency import milliseconds
from .results import Comparison


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison: what was measured, two tables, the verdict.

    Parameters
    ----------
    comparison : Comparison
        What to print.
    console : rich.console.Console
        Where. If it is no terminal the text has no frames and no colour, and a sentence
        stays on one line.
    """
    c, where = comparison, comparison.environment
    versions = ", ".join(f"{name} {number}" for name, number in where.versions.items() if number)
    for line in [
        f"{c.arch}, batch 1, {c.data}",
        f"{where.cpu}, {_count(where.usable_cpus, 'usable CPU')}, {where.system}, "
        f"fastact uses {where.isa}",
        f"onnxruntime: CPU, {_count(c.threads, 'thread')}, no spinning, "
        f"optimisation level {c.optimization}",
        versions,
    ]:
        _line(line, console)
    console.print()
    console.print(_latencies(comparison, console))
    console.print()
    console.print(_models(comparison, console))
    console.print()
    _line(comparison.verdict.sentence, console, style="bold")
    for note in comparison.notes:
        _line(f"Note: {note}", console, style="dim")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _line(text: str, console: Console, style: str = "") -> None:
    console.print(Text(text, style), soft_wrap=not console.is_terminal)


def _table(console: Console, *columns: str) -> Table:
    """Make a table whose first column is text and the others numbers, none of them wrapped."""
    frame = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=frame, padding=(0, 1 if frame else 2, 0, 0), pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    return table


def _latencies(comparison: Comparison, console: Console) -> Table:
    budget = comparison.budget_ms
    table = _table(console, "latency, ms", "p50", "/ relu", "p90", "p99", "mean", "min")
    if budget is not None:
        table.add_column(f"p90 <= {budget:g}", justify="right", no_wrap=True)
    for m in comparison.measurements:
        times = m.latency
        cells = [
            m.name,
            milliseconds(times.p50_ms),
            f"{comparison.p50_ratio(m):.2f}",
            *(milliseconds(t) for t in (times.p90_ms, times.p99_ms, times.mean_ms, times.min_ms)),
        ]
        if budget is not None:
            cells.append("pass" if m.meets(budget) else "FAIL")
        table.add_row(*cells, style="bold" if m.name == comparison.verdict.take else "")
    return table


def _models(comparison: Comparison, console: Console) -> Table:
    table = _table(
        console, "model", "accuracy", "right", "nodes", "params", "bytes", "load ms", "1st ms", "n"
    )
    for m in comparison.measurements:
        table.add_row(
            m.name,
            f"{m.accuracy:.2%}",
            f"{m.correct}/{m.images}",
            str(m.nodes),
            str(m.parameters),
            str(m.file_bytes),
            milliseconds(m.create_ms),
            milliseconds(m.first_run_ms),
            str(m.latency.n),
            style="bold" if m.name == comparison.verdict.take else "",
        )
    return table
