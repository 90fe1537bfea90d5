"""The command line of the portability check: try the runtimes, and write or compare."""

from __future__ import annotations

import datetime
import platform
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click
import numpy as np

from ..files import write_bytes
from . import cases, environments, results
from .page import page
from .results import Findings
from .runtimes import RUNTIMES


def _names(ctx: click.Context, option: click.Parameter, value: str | None) -> list[str]:
    if value == "ci":
        return [name for name, runtime in RUNTIMES.items() if runtime.ci]
    names = list(RUNTIMES) if value is None else [name.strip() for name in value.split(",")]
    for name in names:
        if name not in RUNTIMES:
            raise click.BadParameter(f"unknown runtime {name!r}; known: {', '.join(RUNTIMES)}.")
    return names


_file = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option(
    "--runtimes",
    callback=_names,
    metavar="A,B",
    help=f"Which to try, 'ci' for those of every check; default: {', '.join(RUNTIMES)}.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to keep environments and models for another time; default: a temporary folder.",
)
@click.option(
    "--json",
    "json_path",
    type=_file,
    metavar="FILE",
    help="Put what was found there; what it has of other runtimes stays.",
)
@click.option("--markdown", type=_file, metavar="FILE", help="Write the page of all in --json.")
@click.option(
    "--check",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Compare with what was found before: the exit code is 1 if anything differs.",
)
@click.pass_context
def main(
    ctx: click.Context,
    runtimes: list[str],
    folder: Path | None,
    json_path: Path | None,
    markdown: Path | None,
    check: Path | None,
) -> None:
    """Try every exported activation and CNN on other runtimes.

    Each is installed by pip into an environment of its own, which the first time takes as long
    as the download of some 100 MB.
    """
    found: dict[str, Findings] = {}
    failed = False
    expected = {} if check is None else results.read(check)
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name in runtimes:
            try:
                found[name] = try_runtime(name, place.absolute())
            except environments.NotInstalledError as error:
                click.echo(f"{name}: not tried: {error}")
                # That an old one has no wheel for a new Python is no fault.
                failed |= RUNTIMES[name].newest_python is None
                continue
            except RuntimeError as error:
                raise click.ClickException(str(error)) from error
            failed |= _report(name, found[name], expected.get(name), check is not None)

    before = results.read(json_path) if json_path is not None and json_path.exists() else {}
    merged = {name: {**before, **found}[name] for name in RUNTIMES if name in {**before, **found}}
    if json_path is not None:
        write_bytes(json_path, results.to_json(merged).encode())
    if markdown is not None:
        command = shlex.join(["python", "-m", "fastact.export.portability", *_shown(sys.argv[1:])])
        write_bytes(markdown, page(merged, command).encode())
    ctx.exit(1 if failed else 0)


def try_runtime(name: str, folder: Path) -> Findings:
    """Run all models in one runtime.

    Parameters
    ----------
    name : str
        A key of `RUNTIMES`.
    folder : Path
        Where environments, models and outputs are put.

    Returns
    -------
    Findings
        What it made of them.

    Raises
    ------
    NotInstalledError
        If it cannot be installed here.
    """
    runtime = RUNTIMES[name]
    python = environments.prepare(runtime, folder / "environments")
    tried = [*cases.activations(), *cases.networks(runtime.target)]
    models, outputs = folder / "models", folder / "outputs" / name
    models.mkdir(parents=True, exist_ok=True)
    written = [case.write(models) for case in tried]
    versions, answers = environments.run(python, runtime, written, outputs)
    found = {}
    for case in tried:
        output = outputs / f"{case.name}.npy"
        values = np.load(output) if output.exists() else None
        found[case.name] = results.judge(case, answers[case.name], values)
    versions["Python"] = platform.python_version()
    return Findings(datetime.date.today().isoformat(), versions, found)


def _report(name: str, found: Findings, expected: Findings | None, check: bool) -> bool:
    """Print what was found in short; tell whether it is not what was expected."""
    counts = Counter(result.status for result in found.results.values())
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    click.echo(f"{name} ({' '.join(next(iter(found.versions.items())))}): {summary}")
    for sentence in results.disagreements(name, found.results):
        click.echo(f"  not as in the table of targets: {sentence}")
    if not check:
        return False
    if expected is None:
        click.echo("  not as before: it was not tried")
        return True
    changes = results.differences(expected, found)
    for change in changes:
        click.echo(f"  not as before: {change}")
    return bool(changes)


def _shown(arguments: Sequence[str]) -> list[str]:
    """Leave the folder out of a command: where it is on this machine tells nobody anything."""
    shown = list(arguments)
    for index, word in enumerate(arguments):
        if word == "--folder":
            shown[index : index + 2] = []
        elif word.startswith("--folder="):
            shown[index : index + 1] = []
        else:
            continue
        break
    return shown
