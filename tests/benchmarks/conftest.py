"""A timed run from which benchmarks are missing fails."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import fastact

# What tells one benchmark from another, all of it in the extra_info of each.
FIELDS = ("activation", "dtype", "variant", "form", "arch", "n")

# Once more, so that a size lost in a test file is seen.
SIZES = (1, 1_024, 65_536, 1_048_576)
RUNTIME_SIZES = (1_024, 65_536, 1_048_576)

TIMED = pytest.StashKey[set[tuple[Any, ...]]]()


def key(**info: Any) -> tuple[Any, ...]:
    return tuple(info.get(field) for field in FIELDS)


def expected() -> set[tuple[Any, ...]]:
    """List every benchmark there must be: the registry times the variants times the sizes."""
    from fastact.export import FORMS  # needs onnx, which test_arrays.py alone does not

    arrays = product(
        fastact.activations + fastact.derivatives,
        ("float16", "float32", "float64"),
        (*fastact.variants, "numpy"),
        SIZES,
    )
    spellings = [(activation, form) for activation, forms in FORMS.items() for form in forms]
    return {
        *(key(activation=a, dtype=d, variant=v, n=n) for a, d, v, n in arrays),
        *(
            key(activation=a, form=f, dtype="float32", n=n)
            for (a, f), n in product(spellings, RUNTIME_SIZES)
        ),
        *(key(activation=a, form=f, arch="digits", n=1) for a, f in spellings),
    }


def is_whole(config: pytest.Config) -> bool:
    """Tell whether all benchmarks were asked for: timed, and none selected by name."""
    here = Path(__file__).parent
    paths = [Path(config.invocation_params.dir, argument) for argument in config.args]
    return bool(
        config.option.benchmark_only
        and not config.option.keyword
        and not config.option.markexpr
        and not config.option.collectonly
        and any(here.is_relative_to(path) for path in paths)
    )


@pytest.fixture(autouse=True)
def note_what_is_timed(request: pytest.FixtureRequest) -> Iterator[None]:
    if "benchmark" not in request.fixturenames:
        yield
        return
    benchmark = request.getfixturevalue("benchmark")
    yield
    if benchmark.stats is not None:
        timed = request.config.stash.setdefault(TIMED, set())
        timed.add(key(**benchmark.extra_info))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.OK and missing(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for lost in missing(config):
        info = {f: value for f, value in zip(FIELDS, lost, strict=True) if value is not None}
        terminalreporter.write_line(f"MISSING benchmark: {info}", red=True)


def missing(config: pytest.Config) -> list[tuple[Any, ...]]:
    """List the benchmarks that should have been timed and were not."""
    if not is_whole(config):
        return []
    return sorted(expected() - config.stash.get(TIMED, set()), key=str)
