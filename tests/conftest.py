"""What all tests share: the variants, and the options of the long and of the timed runs."""

from __future__ import annotations

import pytest
from hypothesis import settings

import fastact

FUNCTIONS = fastact.activations + fastact.derivatives

# The same examples every time, unless one asks for `--hypothesis-profile long`.
settings.register_profile("short", deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=20_000, deadline=None, database=None)
settings.load_profile("short")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="check all 2^32 values of float32 instead of a sample",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # A plain run goes through each benchmark once, to see its assertions; timing is asked for.
    if not (config.option.benchmark_only or config.option.benchmark_enable):
        config.option.benchmark_disable = True


@pytest.fixture(scope="session")
def exhaustive(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("exhaustive"))


@pytest.fixture(params=fastact.variants)
def variant(request: pytest.FixtureRequest) -> str:
    """Run the test with every variant that this CPU can run."""
    return str(request.param)


@pytest.fixture(params=FUNCTIONS)
def name(request: pytest.FixtureRequest) -> str:
    """Run the test with every function by its name, derivatives included."""
    return str(request.param)
