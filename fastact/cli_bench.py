"""The commands that measure in onnxruntime: `fastact compare` and `fastact bench`."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import activations
from ._extras import require
from .bench.measure import COMPARED, RUNS
from .bench.profiles import OPTIMIZATIONS, PRECISIONS, PROFILES, Profile

if TYPE_CHECKING:
    from rich.console import Console

# What the commands need, whatever they are asked.
_MODULES = ("onnx", "onnxruntime", "rich")

OVER_BUDGET = 3
TOO_NOISY = 4

EXIT_CODES = f"""\b
Exit codes:
    0  done; with --budget-ms, at least one model meets the budget
    1  an error, told in one line on stderr
    2  wrong usage
    {OVER_BUDGET}  no model meets the budget
    {TOO_NOISY}  the machine was too noisy for a verdict
  130  interrupted
"""


def output(ctx: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a path that cannot be written before any work is done for it."""
    if value is not None:
        folder = value.parent
        if not folder.is_dir():
            raise click.ClickException(f"cannot write {value}: there is no folder {folder}")
        if value.exists() and not value.is_file():
            raise click.ClickException(f"cannot write {value}: it is not a regular file")
        if not os.access(folder, os.W_OK):
            raise click.ClickException(f"cannot write {value}: the folder is read-only")
    return value


@contextmanager
def usage() -> Iterator[None]:
    """Report what the library says about its arguments as wrong usage."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error), click.get_current_context()) from error


@contextmanager
def shown_progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a progress callback that draws on stderr; None if that is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.file.isatty():
        yield None
        return
    # Drawn only when told to: a thread that redraws would disturb the timing.
    bar = Progress(console=console, transient=True, auto_refresh=False)
    with bar:
        task = bar.add_task("")

        def report(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total, refresh=True)

        yield report


def _budget(ctx: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value:g} is not a positive number of milliseconds.")
    return value


def _cpus(ctx: click.Context, option: click.Parameter, value: str | None) -> object:
    from .bench.profiles import parsed

    with usage():
        return None if value is None else parsed(value)


def _shapes(ctx: click.Context, option: click.Parameter, value: tuple[str, ...]) -> object:
    if not value:
        return None
    from .bench.own.shapes import parse_shapes

    with usage():
        return parse_shapes(value)


def _data(ctx: click.Context, option: click.Parameter, value: Path | None) -> object:
    if value is None:
        return None
    from .export import ModelError
    from .export.verifying import read_inputs

    try:
        return read_inputs(value)
    except ModelError as error:
        raise click.ClickException(str(error)) from error


def _measuring(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of what measures models."""
    options = [
        click.option(
            "--data",
            type=click.Path(path_type=Path),
            callback=_data,
            metavar="FILE",
            help="Inputs of the model as .npz, by name, one sample a row; 'labels' are classes.",
        ),
        click.option(
            "--shape",
            "shapes",
            multiple=True,
            callback=_shapes,
            metavar="NAME=1,3,224,224",
            help="Shape of an input that leaves a dimension open; may be given several times.",
        ),
        click.option(
            "--profile",
            default="custom",
            show_default=True,
            metavar="NAME",
            help=f"Constraints: {', '.join(PROFILES)}. The next seven options change single ones.",
        ),
        click.option("--threads", type=click.IntRange(min=1), metavar="N", help="In an operator."),
        click.option("--cpus", callback=_cpus, metavar="LIST", help="Be bound to them: 0,2-3."),
        click.option("--memory-mb", type=click.IntRange(min=1), metavar="N", help="Limit memory."),
        click.option(
            "--cpu-quota", type=float, metavar="X", help="Share of a CPU's time, as in 0.5."
        ),
        click.option("--spinning/--no-spinning", default=None, help="Let waiting threads spin."),
        click.option("--precision", metavar="TYPE", help=f"Of --arch: {', '.join(PRECISIONS)}."),
        click.option(
            "--optimization",
            metavar="LEVEL",
            help=f"onnxruntime's: {', '.join(OPTIMIZATIONS)}.",
        ),
        click.option(
            "--budget-ms",
            type=float,
            callback=_budget,
            metavar="X",
            help="Latency budget in milliseconds; a model meets it if its p90 does.",
        ),
        click.option(
            "--runs",
            type=click.IntRange(min=1),
            default=RUNS,
            show_default=True,
            metavar="N",
            help="Timed runs of each model at most; it ends earlier after 2 s for each.",
        ),
        click.option(
            "--json",
            "json_path",
            type=click.Path(path_type=Path),
            callback=output,
            metavar="FILE",
            help="Write everything as data, too.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_SETTINGS = (
    "threads",
    "cpus",
    "memory_mb",
    "cpu_quota",
    "spinning",
    "precision",
    "optimization",
)


def _profile(name: str, options: dict[str, Any]) -> Profile:
    """Take the settings out of the options, and apply them to a profile."""
    if name not in PROFILES:
        raise click.UsageError(f"unknown profile {name!r}; known: {', '.join(PROFILES)}")
    changed = {key: options.pop(key) for key in _SETTINGS}
    changed = {key: value for key, value in changed.items() if value is not None}
    if not changed:
        return PROFILES[name]
    with usage():
        profile = replace(PROFILES[name], **changed)
    return profile if name == "custom" else replace(profile, name=f"{name}, changed")


@contextmanager
def _errors() -> Iterator[None]:
    """Report what measuring can raise: of models and the system as an error, else wrong usage."""
    from .bench import DisagreementError, ProfileError, RunError
    from .export import ModelError

    with usage():
        try:
            yield
        except (DisagreementError, ProfileError, RunError, ModelError) as error:
            raise click.ClickException(str(error)) from error


def _console() -> Console:
    from rich.console import Console

    terminal = Console().file.isatty()
    console = Console(force_terminal=terminal)
    # No column is ever cut: the tables need 80, and a file or pipe has no width.
    console.width = max(80, console.width) if terminal else 1000
    return console


def _write_json(path: Path, data: dict[str, Any]) -> None:
    from .export.files import write_bytes

    write_bytes(path, (json.dumps(data, indent=2) + "\n").encode())


@click.command(epilog=EXIT_CODES)
@click.option("--arch", metavar="NAME", help="A network of fastact; default: digits.")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A model of your own instead: variants are made with each activation.",
)
@click.option(
    "--activations",
    "names",
    default=",".join(COMPARED),
    show_default=True,
    metavar="LIST",
    help=f"Of {', '.join(activations)}; the first is the baseline.",
)
@_measuring
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    callback=output,
    metavar="FILE",
    help="Write a page with plots, for a browser.",
)
@click.option(
    "--plot",
    "plot_path",
    type=click.Path(path_type=Path),
    callback=output,
    metavar="FILE",
    help="Draw the answer as a picture: .png, .svg or .pdf.",
)
@click.option(
    "--compare",
    "old_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Tell what got slower since this file was written by --json.",
)
@click.option("--details", is_flag=True, help="Print every figure, and the activations' own.")
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    arch: str | None,
    model: Path | None,
    names: str,
    profile: str,
    budget_ms: float | None,
    json_path: Path | None,
    html_path: Path | None,
    plot_path: Path | None,
    old_path: Path | None,
    details: bool,
    **options: Any,
) -> None:
    """Answer which activation to take: ReLU or GELU, on this machine.

    Runs one network with ReLU and with each form of GELU in onnxruntime, input after input,
    under the constraints of a profile, and prints latency, accuracy, memory, and which one to
    take.
    """
    for module in _MODULES:
        require(module, "report")
    from . import bench
    from .bench import history, text

    if arch is not None and model is not None:
        raise click.UsageError("--arch and --model are alternatives")
    if model is None and (options["data"] is not None or options["shapes"] is not None):
        raise click.UsageError("--data and --shape are of a --model")
    if html_path is not None:
        require("jinja2", "html")
    if html_path is not None or plot_path is not None:
        require("matplotlib", "html")
        from .bench.report import html, plots
    if plot_path is not None:
        with usage():
            plots.check_suffix(plot_path)
    settings = _profile(profile, options)
    with _errors(), shown_progress() as progress:
        before = None if old_path is None else history.read(old_path)
        result = bench.compare(
            arch or "digits",
            model=model,
            activations=[name.strip() for name in names.split(",")],
            profile=settings,
            budget_ms=budget_ms,
            kernels=any((json_path, html_path, details)),
            progress=progress,
            **options,
        )
    result = replace(result, command=shlex.join(["fastact", *ctx.obj]))

    # Files come before the text, whose reader may have left.
    if json_path is not None:
        _write_json(json_path, result.to_dict())
    if html_path is not None:
        html.save(result, html_path)
    if plot_path is not None:
        plots.save(result, plot_path)
    console = _console()
    text.show(result, console, details=details)
    if before is not None:
        with usage():
            changes, warnings = history.changes(result, before)
        text.show_changes(changes, str(old_path), console)
        for warning in warnings:
            text.say(f"Not comparable without care: {warning}.", console, style="yellow")
    if result.verdict.take is None:
        ctx.exit(TOO_NOISY if result.verdict.too_noisy else OVER_BUDGET)


@click.command(epilog=EXIT_CODES)
@click.argument("models", type=click.Path(path_type=Path), nargs=-1, required=True)
@_measuring
@click.pass_context
def bench(
    ctx: click.Context,
    /,
    models: tuple[Path, ...],
    profile: str,
    budget_ms: float | None,
    json_path: Path | None,
    **options: Any,
) -> None:
    """Measure the latency of ONNX models.

    Loads MODELS, which take the same inputs, and runs them in turns under the constraints of a
    profile: loading, first run and steady state are told apart.
    """
    for module in _MODULES:
        require(module, "report")
    from . import bench as library
    from .bench import text

    settings = _profile(profile, options)
    with _errors(), shown_progress() as progress:
        result = library.bench(
            models, profile=settings, budget_ms=budget_ms, progress=progress, **options
        )
    result = replace(result, command=shlex.join(["fastact", *ctx.obj]))
    if json_path is not None:
        _write_json(json_path, result.to_dict())
    text.show_bench(result, _console())
    meets = [m.meets(budget_ms) for m in result.measurements]
    if not any(meets):
        ctx.exit(TOO_NOISY if None in meets else OVER_BUDGET)
