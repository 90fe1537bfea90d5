"""The command line: `fastact info`, `accuracy`, `export`, `inspect`, `rewrite`, and the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__, activations, isa, variants
from ._core import registry
from ._extras import require
from .cli_bench import EXIT_CODES, bench, compare, output, shown_progress, usage

# Everything that imports onnx, onnxruntime or scikit-learn is imported inside the commands,
# so that --help and info are quick and work without them.
if TYPE_CHECKING:
    from onnx import ModelProto

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main(arguments: Sequence[str]) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str
        The words after the program's name; none asks for help.

    Returns
    -------
    int
        The exit code.
    """
    try:
        words = list(arguments) or ["--help"]
        code = cli.main(words, "fastact", standalone_mode=False, obj=words)
    except click.Abort:  # what click makes of Ctrl-C
        return _fail("interrupted", INTERRUPTED)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "fastact"
        return _fail(f"{error.format_message()} (see: {where} --help)", error.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except (ImportError, OSError) as error:  # a missing extra; a file that cannot be written
        return _fail(str(error), 1)
    return int(code or 0)


def _fail(message: str, code: int) -> int:
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    return code


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fastact %(version)s")
def cli() -> None:
    """ReLU and GELU on the CPU: measure them, and export them to ONNX."""


cli.add_command(compare)
cli.add_command(bench)


# ------------------------------------------------------------------------------- info


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as data.")
def info(as_json: bool) -> None:
    """Tell what fastact found on this machine."""
    from .bench.environment import Environment

    here = Environment.here()
    forced = os.environ.get("FASTACT_ISA") or None
    dtypes = {name: list(bounds) for name, bounds in registry[isa].items()}
    # An integer's result is exact, so that only the floating-point types have a bound.
    bounds = {
        name: {dtype: bound.max_ulp for dtype, bound in bounds.items() if "int" not in dtype}
        for name, bounds in registry[isa].items()
    }
    if as_json:
        data = {
            "schema": 1,
            "variants": list(variants),
            "FASTACT_ISA": forced,
            "dtypes": dtypes,
            "max_ulp": bounds,
            **here.to_dict(),
        }
        click.echo(json.dumps(data, indent=2))
        return

    reason = f"forced by FASTACT_ISA={forced}" if forced else "the best one for this CPU"
    packages = [f"{name} {number or 'not installed'}" for name, number in here.versions.items()]
    rows = [
        ("fastact", __version__),
        ("variant", f"{isa}, {reason}"),
        ("this CPU runs", ", ".join(variants)),
        ("CPU", here.cpu),
        ("usable CPUs", str(here.usable_cpus)),
        ("system", here.system),
        *zip(["packages", "", "", ""], packages[1:], strict=True),
    ]
    for name, promised in bounds.items():
        errors = ", ".join(f"{dtype} {ulp:g}" for dtype, ulp in promised.items())
        integers = "; all integers" if len(dtypes[name]) > len(promised) else ""
        rows.append((name, f"max ULP: {errors}{integers}"))
    for key, value in rows:
        click.echo(f"{key:<15}{value}")


# --------------------------------------------------------------------------- accuracy


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as data.")
@click.pass_context
def accuracy(ctx: click.Context, as_json: bool) -> None:
    """Measure the largest errors on this machine, beside the promised ones.

    Looks at every function, dtype and variant that this CPU runs: all values of float16 and
    bfloat16, and a sample of float32 and float64. The exit code is 1 if a promise is exceeded.
    """
    require("rich", "report")
    from . import accuracy_survey

    with shown_progress() as progress:
        found = accuracy_survey.survey(progress=progress)
    if as_json:
        from .bench.environment import Environment

        here = Environment.here().to_dict()
        click.echo(json.dumps({"schema": 1, **here, **found.to_dict()}, indent=2))
    else:
        rows = [list(accuracy_survey.COLUMNS), *found.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            click.secho("  ".join(cells).rstrip(), bold=row[-1] == "EXCEEDED")
        for reason in found.skipped:
            click.echo(f"not looked at: {reason}")
        click.echo(
            f"{len(found.exceeded)} of {len(found.entries)} promises are exceeded"
            if found.exceeded
            else f"all {len(found.entries)} promises are kept"
        )
    ctx.exit(1 if found.exceeded else 0)


# ----------------------------------------------------------------------------- export


class _Models(click.Group):
    """The group of models to export; an unknown name is answered with the known ones."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in self.commands:
            ctx.fail(f"unknown activation {args[0]!r}; known: {', '.join(self.commands)}.")
        return super().resolve_command(ctx, args)


@cli.group(cls=_Models, no_args_is_help=False, subcommand_metavar="NAME [OPTIONS]")
def export() -> None:
    """Write an ONNX model: an activation, or a small CNN ("cnn")."""


_form = click.option("--form", help="How the activation is written; default: the best one.")
_opset = click.option("--opset", type=int, metavar="N", help="The opset of the file.")
_target = click.option("--target", help="A runtime to choose form and opset for, as in 'nnapi'.")
_ort = click.option(
    "--ort", is_flag=True, help="Also write FILE.ort and its operators, for a minimal onnxruntime."
)
_file = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=output,
    required=True,
    metavar="FILE",
    help="The file to write.",
)


def _dimension(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text.strip()


def _quantization(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> tuple[float, int] | None:
    if value is None:
        return None
    scale, _, zero_point = value.partition(",")
    try:
        return float(scale), int(zero_point)
    except ValueError:
        wanted = "a scale and a zero point, as in 0.05,0"
        raise click.BadParameter(f"{value!r} is not {wanted}.") from None


def _export_activation(name: str) -> click.Command:
    @click.command(name, help=f"Write {name}, from input x to output y.")
    @_form
    @_opset
    @_target
    @click.option("--dtype", default="float32", show_default=True, help="Type of x and y.")
    @click.option(
        "--shape",
        default="1,64",
        show_default=True,
        help="Shape of x and y; a name makes a dimension dynamic.",
    )
    @click.option(
        "--x-quantization",
        callback=_quantization,
        metavar="SCALE,ZERO",
        help="For int8 and uint8: what the codes of x stand for.",
    )
    @click.option(
        "--y-quantization",
        callback=_quantization,
        metavar="SCALE,ZERO",
        help="Likewise of y; default: what covers all results.",
    )
    @_ort
    @_file
    def command(shape: str, output: Path, ort: bool, **options: Any) -> None:
        from .export import activation

        dimensions = [_dimension(size) for size in shape.split(",")]
        with usage():
            model = activation(name, shape=dimensions, **options)
        _save(model, output, ort)

    return command


for _name in activations:
    export.add_command(_export_activation(_name))


@export.command()
@click.option("--arch", default="digits", show_default=True, help="The network.")
@click.option("--activation", required=True, help=f"One of {', '.join(activations)}.")
@_form
@_opset
@_target
@click.option("--dtype", default="float32", show_default=True, help="int8, uint8: quantised.")
@click.option("--batch", default="1", show_default=True, help="Images per run; a name: any number.")
@_ort
@_file
def cnn(arch: str, activation: str, batch: str, output: Path, ort: bool, **options: Any) -> None:
    """Write a small CNN, from input image to output logits."""
    from .export import cnn as build

    with usage():
        model = build(arch, activation, batch=_dimension(batch), **options)
    _save(model, output, ort)


def _save(model: ModelProto, output: Path, ort: bool) -> None:
    from .export import save
    from .export.ort_format import save_ort
    from .export.targets import DELEGATING

    facts: dict[str, Any] = {entry.key: entry.value for entry in model.metadata_props}
    written = []
    if ort:  # first, since a conversion can fail
        if output.suffix == ".ort":
            raise click.UsageError(f"--ort writes a file beside {output}, which ends so itself")
        with usage():
            delegated = facts.get("target") in DELEGATING
            written = [*save_ort(model, output.with_suffix(".ort"), delegated=delegated)]
    path = save(model, output)
    click.echo(
        f"{path}: {facts['activation']}, form {facts['form']}, opset {facts['opset']}, "
        f"IR {model.ir_version}, {path.stat().st_size} bytes"
    )
    for extra in written:
        click.echo(f"{extra}: {extra.stat().st_size} bytes")
    if "target" in facts:
        click.echo(model.doc_string)
    if "accuracy" in facts:
        click.echo(f"accuracy: {facts['accuracy']}")


# ----------------------------------------------------------------- inspect and rewrite

_model = click.argument("model", type=click.Path(path_type=Path), metavar="MODEL")


@contextmanager
def _model_errors() -> Iterator[None]:
    """Report what is wrong with a model as an error, and with the arguments as wrong usage."""
    from .export import ModelError

    with usage():
        try:
            yield
        except ModelError as error:
            raise click.ClickException(str(error)) from error


@cli.command()
@_model
@click.option("--json", "as_json", is_flag=True, help="Print it as data.")
def inspect(model: Path, as_json: bool) -> None:
    """Tell what is in an ONNX model, and which runtimes run it.

    Finds every ReLU, GELU, SiLU, ReLU6 and Hardswish by what it computes, however it is
    written, in subgraphs and functions too.
    """
    from .export import inspect as look

    with _model_errors():
        found = look(model)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    from .export.text import describe

    for line in describe(found, str(model)):
        click.echo(line)


@cli.command()
@_model
@click.argument("output", type=click.Path(path_type=Path), callback=output, metavar="OUT")
@click.option("--form", help="How to write each GELU that has this form.")
@click.option("--opset", type=int, metavar="N", help="The opset to bring the model to.")
@click.option("--target", help="Write every activation as this runtime likes it best.")
@click.option("--activation", help="Put this one in the place of every GELU.")
@click.option(
    "--replace",
    multiple=True,
    metavar="NAME",
    help="Put it in the place of every NAME instead, as in 'relu'; may be given several times.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Inputs to compare on, by name, as .npz; default: random ones.",
)
@click.option(
    "--tolerance",
    type=float,
    metavar="X",
    help="Largest change of an output, relative to its largest value; default: 1e-5.",
)
def rewrite(
    model: Path,
    output: Path,
    form: str | None,
    opset: int | None,
    target: str | None,
    activation: str | None,
    replace: tuple[str, ...],
    data: Path | None,
    tolerance: float | None,
) -> None:
    """Write the activations of an ONNX model in another form.

    What the model computes stays the same, which is verified in onnxruntime before OUT is
    written; OUT may be MODEL. With --activation it does not, and the change is told.
    """
    from .export import rewrite as change
    from .export.storing import store
    from .export.text import describe_changes
    from .export.verifying import read_inputs

    with _model_errors():
        result = change(
            model,
            form=form,
            opset=opset,
            target=target,
            activation=activation,
            replace=replace or None,
            inputs=None if data is None else read_inputs(data),
            tolerance=tolerance,
        )
        store(result.model, output, model.parent)
    for line in describe_changes(result, str(output), given=data is not None):
        click.echo(line)
