"""The command line of the peers: measure, print, and write the pages."""

from __future__ import annotations

import datetime
import json
import platform
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as RichTable

from ..environment import Environment, installed_version
from . import accuracy_page, caps, latency_page, tables
from .goals import judge
from .libraries import PEERS
from .timing import Row
from .workloads import SIZES, TABLES, groups


def head(command: Sequence[str]) -> list[str]:
    """Describe where and how the figures were made.

    Parameters
    ----------
    command : sequence of str
        The words after ``python -m fastact.bench.peers``.

    Returns
    -------
    list of str
        The machine, the versions, the command and the date.
    """
    here = Environment.here()
    packages = dict.fromkeys(["numpy", *(peer.package for peer in PEERS[1:])])
    numbers = {name: installed_version(name) for name in packages}
    versions = [f"{name} {number or 'not installed'}" for name, number in numbers.items()]
    made = shlex.join(["python", "-m", "fastact.bench.peers", *command])
    return [
        f"{here.cpu}, {here.usable_cpus} usable CPUs, {here.system}",
        f"fastact {here.versions['fastact']}, Python {platform.python_version()}, "
        + ", ".join(versions),
        f"made by `{made}` on {datetime.date.today().isoformat()}",
    ]


def _latency(
    asked: Sequence[caps.Cap], seconds: float, sizes: tuple[int, ...]
) -> tuple[list[Row], list[str]]:
    """Measure under each cap, with progress on stderr."""
    rows: list[Row] = []
    notes: list[str] = []
    console = Console(stderr=True)
    total = len(list(groups(sizes)))
    # Nothing is drawn while a group is timed: a thread that redraws would disturb it.
    bar = Progress(console=console, auto_refresh=False, disable=not console.is_terminal)
    # Even a disabled one ends with an empty line in older versions of rich.
    with bar if console.is_terminal else nullcontext():
        for cap in asked:
            task = bar.add_task(cap.title, total=total)
            for found in caps.run(cap, seconds, sizes):
                if isinstance(found, str):
                    notes.append(f"{cap.title}: {found}")
                else:
                    rows += found
                    bar.update(task, advance=1, refresh=True)
    return rows, notes


def _show(rows: Sequence[Row], notes: Sequence[str], console: Console) -> None:
    for cap in caps.CAPS:
        mine = [row for row in rows if row.cap == cap.name]
        if not mine:
            continue
        console.print(f"\n{cap.title} (fastact: {mine[0].isa})")
        for function, dtype in TABLES:
            of_it = tables.select(mine, "peers", function, dtype)
            if of_it:
                _print(f"{function}, {dtype}", tables.peers_table(of_it, spread=False), console)
        for kind in ("layouts", "values", "functions"):
            of_it = tables.select(mine, kind)
            if of_it:
                _print(kind, tables.variations_table(of_it, kind), console)
        _print("goals", tables.goals_table(judge(mine)), console)
    for note in notes:
        console.print(note)


def _print(title: str, cells: tables.Table, console: Console) -> None:
    table = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(cells[0]):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in cells[1:]:
        table.add_row(*row)
    console.print(table)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--accuracy", is_flag=True, help="Compare errors instead of times.")
@click.option("--seconds", default=2.0, show_default=True, help="How long to time each group.")
@click.option("--cap", "names", multiple=True, help="Only this restriction; may be repeated.")
@click.option("--size", "sizes", type=int, multiple=True, help="Only this size; may be repeated.")
@click.option("--stride", default=1009, show_default=True, help="Of the float32 bit patterns.")
@click.option("--markdown", "page", type=click.Path(path_type=Path), help="Write the page there.")
@click.option("--json", "data", type=click.Path(path_type=Path), help="Write the figures there.")
def main(
    accuracy: bool,
    seconds: float,
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    stride: int,
    page: Path | None,
    data: Path | None,
) -> None:
    """Measure fastact beside the libraries that are installed, on one thread."""
    known = {cap.name: cap for cap in caps.available()}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(
            f"{unknown[0]!r}; known here: {', '.join(known)}", param_hint="--cap"
        )
    console = Console(width=1000)  # a terminal may wrap a line, but no column is ever cut
    about = head(sys.argv[1:])
    for line in about:
        console.print(line, soft_wrap=True, highlight=False)
    if accuracy:
        errors = accuracy_page.measure(stride)
        text, figures = accuracy_page.page(errors, about), errors.to_dict()
        console.print(text, soft_wrap=True, highlight=False, markup=False)
    else:
        rows, notes = _latency([known[n] for n in names or known], seconds, sizes or SIZES)
        text, figures = latency_page.page(rows, about, notes), {"rows": [r.to_dict() for r in rows]}
        _show(rows, notes, console)
    from ...export.files import write_bytes

    if page is not None:
        write_bytes(page, text.encode())
    if data is not None:
        write_bytes(data, (json.dumps({"about": about, **figures}, indent=2) + "\n").encode())
