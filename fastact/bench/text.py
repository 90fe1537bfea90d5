"""A comparison as text: for people on a terminal, plain where it is piped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .environment import Environment
from .history import Change
from .latency import milliseconds
from .plain import Bench
from .profiles import NOT_EMULATED, Profile
from .results import Comparison, Distance, Measurement
from .spread import Noise


def show(comparison: Comparison, console: Console, *, details: bool = False) -> None:
    """Print a comparison: what was measured, one table, one sentence.

    Parameters
    ----------
    comparison : Comparison
        What to print.
    console : rich.console.Console
        Where. If it is no terminal the text has no frames and no colour, and a sentence
        stays on one line.
    details : bool, optional
        Whether to print every figure, the properties of the activations and their cost on
        arrays, too.
    """
    c = comparison
    say(f"{c.network}, {c.weights} weights, {c.data}", console)
    show_setting(c.profile, c.environment, console)
    console.print()
    console.print(_models(c, console))
    console.print()
    say(c.verdict.sentence, console, style="bold")
    if c.noise.reasons and not c.verdict.too_noisy:
        _warn(c.noise, console)
    for note in c.notes:
        say(f"Note: {note}", console, style="dim")
    if details:
        console.print()
        for pair in c.distances:
            say(_distance(pair), console)
        for table in (make(c, console) for make in (_costs, _runs, _sizes)):
            console.print()
            console.print(table)
        for table in _activations(c, console):
            console.print()
            console.print(table)


def show_setting(profile: Profile, where: Environment, console: Console) -> None:
    """Print under what constraints something was measured, and on what.

    Parameters
    ----------
    profile : Profile
        The constraints.
    where : Environment
        The machine and the versions.
    console : rich.console.Console
        Where to.
    """
    versions = ", ".join(f"{name} {number}" for name, number in where.versions.items() if number)
    cpus = f"{where.usable_cpus} usable CPU{'s' * (where.usable_cpus != 1)}"
    say(f"profile {profile.name} ({profile.stands_for}): {', '.join(profile.settings())}", console)
    say(f"not emulated: {'; '.join(NOT_EMULATED)}", console, style="dim")
    say(f"{where.cpu}, {cpus}, {where.system}, onnxruntime's CPU provider", console)
    say(versions, console)


def show_changes(changes: Sequence[Change], old: str, console: Console) -> None:
    """Print how a comparison differs from an earlier one.

    Parameters
    ----------
    changes : sequence of Change
        One for each model.
    old : str
        What the earlier one is called.
    console : rich.console.Console
        Where to.
    """
    table = _table(console, f"against {old}", "p50 then", "p50 now", "now / then", "")
    for change in changes:
        known = change.ratio is not None
        table.add_row(
            change.name,
            "" if change.before_ms is None else milliseconds(change.before_ms),
            "" if change.now_ms is None else milliseconds(change.now_ms),
            f"{change.ratio:.2f}" if known else "",
            change.kind,
            style="bold" if change.kind == "slower" else "",
        )
    console.print()
    console.print(table)


def show_bench(result: Bench, console: Console) -> None:
    """Print the latency of models.

    Parameters
    ----------
    result : Bench
        What to print.
    console : rich.console.Console
        Where to.
    """
    say(result.data, console)
    show_setting(result.profile, result.environment, console)
    columns = [_bench_rows(m, result) for m in result.measurements]
    table = _table(console, "", *(m.name for m in result.measurements))
    for heading in columns[0]:
        table.add_row(heading, *(column[heading] for column in columns))
    console.print()
    console.print(table)
    if result.noise.reasons:
        _warn(result.noise, console)
    for note in result.notes:
        say(f"Note: {note}", console, style="dim")


def _bench_rows(m: Measurement, result: Bench) -> dict[str, str]:
    times, budget = m.latency, result.budget_ms
    low, high = m.ratio_interval
    rows = {
        "p50 ms": milliseconds(times.p50_ms),
        "p90 ms": milliseconds(times.p90_ms),
        "p95 ms": milliseconds(m.quantiles_ms[95]),
        "p99 ms": milliseconds(times.p99_ms),
        "mean ms": milliseconds(times.mean_ms),
        "min ms": milliseconds(times.min_ms),
        "max ms": milliseconds(m.quantiles_ms[100]),
        "p50 / first": f"{m.ratio:.3f} ({low:.3f}-{high:.3f})",
        "runs": str(times.n),
        "samples a second": f"{result.throughput(m):.0f}",
        "loading ms": milliseconds(m.create_ms),
        "first run ms": milliseconds(m.first_run_ms),
        "peak MB": "unknown" if m.peak_mb is None else f"{m.peak_mb:.1f}",
        "of that, the model": "unknown" if m.model_mb is None else f"{m.model_mb:.1f}",
        "file, bytes": str(m.file_bytes),
        "parameters": str(m.parameters),
        "MACs": _known(m.macs),
        "activation elements": _known(m.activation_elements),
        "nodes, optimised": str(m.nodes),
    }
    if budget is not None:
        rows[f"p90 <= {budget:g} ms"] = passes(m, budget)
    return rows


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def say(text: str, console: Console, style: str = "") -> None:
    """Print a sentence, wrapped on a terminal alone.

    Parameters
    ----------
    text : str
        What to print; nothing in it is markup.
    console : rich.console.Console
        Where to.
    style : str, optional
        A style of rich's.
    """
    console.print(Text(text, style), soft_wrap=not console.is_terminal)


def _warn(noise: Noise, console: Console) -> None:
    reasons = ", ".join(noise.reasons)
    say(f"Warning: the machine was noisy: {reasons}.", console, style="yellow")


def _distance(pair: Distance) -> str:
    if pair.value is None:
        return f"{pair.one} and {pair.other} move apart without end"
    return f"{pair.one} and {pair.other} differ by {pair.value:.5g} at most, at x = {pair.at:.4g}"


def _table(console: Console, *columns: str) -> Table:
    """Make a table whose first column is text and the others numbers, none of them wrapped."""
    frame = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=frame, padding=(0, 1 if frame else 2, 0, 0), pad_edge=False, show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    return table


def _models(comparison: Comparison, console: Console) -> Table:
    """Make the one table: 80 columns hold it, so with a budget there is no room for nodes."""
    budget = comparison.budget_ms
    table = _table(console, "model", "p50 ms", "ratio", "p90 ms", "p99 ms", "accuracy", "MB")
    last = "nodes" if budget is None else f"<= {budget:g}"
    table.add_column(last, justify="right", no_wrap=True)
    for m in comparison.measurements:
        times = m.latency
        table.add_row(
            m.name,
            milliseconds(times.p50_ms),
            f"{m.ratio:.2f}",
            milliseconds(times.p90_ms),
            milliseconds(times.p99_ms),
            accuracy_cell(m),
            "" if m.model_mb is None else f"{m.model_mb:.1f}",
            str(m.nodes) if budget is None else passes(m, budget),
            style="bold" if m.name == comparison.verdict.take else "",
        )
    return table


def accuracy_cell(m: Measurement) -> str:
    """Write a model's accuracy, with half of its interval over seeds.

    Parameters
    ----------
    m : Measurement
        The model.

    Returns
    -------
    str
        In percent; "unknown" if it is.
    """
    if m.seeds is not None:
        low, high = m.seeds.interval
        return f"{m.seeds.mean:.2%} +-{(high - low) * 50:.2f}"
    return "unknown" if m.accuracy is None else f"{m.accuracy.share:.2%}"


def passes(m: Measurement, budget_ms: float) -> str:
    """Tell in a word whether a model meets a budget.

    Parameters
    ----------
    m : Measurement
        The model.
    budget_ms : float
        The budget in milliseconds.

    Returns
    -------
    str
        "pass", "FAIL", or "unsure" where the noise hides it.
    """
    return {True: "pass", False: "FAIL", None: "unsure"}[m.meets(budget_ms)]


def _costs(comparison: Comparison, console: Console) -> Table:
    """Make the table of what a model takes more than the baseline, and more than with ReLU."""
    columns = ("ratio, 95 %", "more us", "more %", "lost fusion us", "arithmetic us")
    table = _table(console, "cost", *columns)
    base_ms = comparison.baseline.latency.p50_ms
    for m in comparison.measurements:
        low, high = m.ratio_interval
        split = m.split
        table.add_row(
            m.name,
            f"{low:.3f}-{high:.3f}",
            f"{1000 * (m.latency.p50_ms - base_ms):.2f}",
            f"{100 * (m.ratio - 1):.1f}",
            "" if split is None else f"{split.fusion_us:.2f}",
            "" if split is None else f"{split.arithmetic_us:.2f}",
        )
    return table


def _runs(comparison: Comparison, console: Console) -> Table:
    table = _table(console, "runs", "mean ms", "min ms", "load ms", "1st run ms", "n")
    for m in comparison.measurements:
        times = (m.latency.mean_ms, m.latency.min_ms, m.create_ms, m.first_run_ms)
        table.add_row(m.name, *map(milliseconds, times), str(m.latency.n))
    return table


def _sizes(comparison: Comparison, console: Console) -> Table:
    columns = ("sizes", "params", "MACs", "activations", "bytes", "peak MB", "nodes", "right")
    table = _table(console, *columns)
    for m in comparison.measurements:
        table.add_row(
            m.name,
            str(m.parameters),
            "" if m.macs is None else str(m.macs),
            "" if m.activation_elements is None else str(m.activation_elements),
            str(m.file_bytes),
            "" if m.peak_mb is None else f"{m.peak_mb:.0f}",
            str(m.nodes),
            "" if m.accuracy is None else f"{m.accuracy.correct}/{m.accuracy.images}",
        )
    return table


def _activations(comparison: Comparison, console: Console) -> Iterable[Table]:
    """Make the tables of what the activations are like and cost, one column for each."""
    cells = [entry.cells() for entry in comparison.properties]
    if cells:
        table = _table(console, *(row["activation"] for row in [{"activation": ""}, *cells]))
        for column in table.columns:
            column.no_wrap = False
        for heading in list(cells[0])[1:]:
            table.add_row(heading, *(row[heading] for row in cells))
        yield table
    costs = comparison.kernel_costs
    if costs is not None:
        names = list(costs.median_ns)
        table = _table(console, "ns an element", *names)
        for index, size in enumerate(costs.sizes):
            row = [f"{costs.median_ns[name][index]:.3f}" for name in names]
            table.add_row(f"n = {size}", *row)
        yield table
