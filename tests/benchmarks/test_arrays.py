"""Every activation, dtype and variant on arrays in memory, beside NumPy's own way of doing it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import fastact
from fastact import accuracy

DTYPES = ("float16", "float32", "float64")
SIZES = (1, 1_024, 65_536, 1_048_576)


def numpy_relu(x: np.ndarray, out: np.ndarray) -> None:
    np.maximum(x, 0, out=out)


def numpy_gelu(x: np.ndarray, out: np.ndarray) -> None:
    out[:] = 0.5 * x * (1 + scipy.special.erf(x / np.sqrt(x.dtype.type(2))))


def numpy_gelu_tanh(x: np.ndarray, out: np.ndarray) -> None:
    rate = np.sqrt(x.dtype.type(2 / np.pi))
    out[:] = 0.5 * x * (1 + np.tanh(rate * (x + 0.044715 * x * x * x)))


# What a NumPy user writes without fastact.
NUMPY = {"relu": numpy_relu, "gelu": numpy_gelu, "gelu_tanh": numpy_gelu_tanh}

# NumPy's way rounds every step: its error is a few units of its inputs' largest result, 8 or so.
NUMPY_UNITS = 64


def sample(n: int, dtype: str) -> np.ndarray:
    """Values as a layer sees them, the first ones where the two GELUs differ most."""
    x = np.random.default_rng(n).normal(scale=2, size=n)
    x[: min(n, 4)] = [-2.699, 2.699, 0, -0.75][: min(n, 4)]
    return x.astype(dtype)


def function_of(activation: str, variant: str) -> Callable[..., Any]:
    if variant == "numpy":
        return NUMPY[activation]
    return getattr(fastact.variants[variant], activation)


def assert_right(y: np.ndarray, x: np.ndarray, activation: str, variant: str) -> None:
    # mpmath is the reference of float64 and slow: of many elements, a part that meets each lane.
    part = np.s_[:: max(1, x.size // 1009)] if x.dtype == np.float64 else np.s_[:]
    x, y = x[part], y[part]
    reference = accuracy.reference(activation, x)
    if variant == "numpy":
        error = np.abs(y.astype(np.float64) - reference.high)
        assert error.max() <= NUMPY_UNITS * np.finfo(x.dtype).eps
    else:
        bound = fastact.max_ulp(activation, x.dtype, variant=variant)
        assert accuracy.ulp_error(y, reference).max() <= bound


def test_every_activation_has_numpys_way_of_it() -> None:
    assert set(NUMPY) == set(fastact.activations)


@pytest.mark.benchmark(max_time=0.2, min_rounds=5, warmup=True, warmup_iterations=2)
@pytest.mark.parametrize("n", SIZES, ids="n{}".format)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant_or_numpy", [*fastact.variants, "numpy"])
def test_array(benchmark: Any, activation: str, variant_or_numpy: str, dtype: str, n: int) -> None:
    benchmark.group = f"{activation}, {dtype}, n={n}"
    benchmark.extra_info.update(activation=activation, dtype=dtype, variant=variant_or_numpy, n=n)
    x = sample(n, dtype)
    out = np.full_like(x, np.nan)
    assert (x < 0).any()
    benchmark(function_of(activation, variant_or_numpy), x, out)
    assert x.tobytes() == sample(n, dtype).tobytes(), "what is timed must not change its input"
    assert_right(out, x, activation, variant_or_numpy)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_another_activation_would_be_seen(activation: str, dtype: str, n: int) -> None:
    x = sample(n, dtype)
    for other in set(fastact.activations) - {activation}:
        for way in (fastact.isa, "numpy"):
            y = np.empty_like(x)
            function_of(other, way)(x, y)
            with pytest.raises(AssertionError):
                assert_right(y, x, activation, fastact.isa)


FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


def timed_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--benchmark-only", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


def test_a_timed_run_fails_when_benchmarks_go_missing() -> None:
    here = FOLDER.relative_to(ROOT)
    # All but one are left out, as if they had been lost.
    left_out = [f"--ignore={here}/test_onnxruntime.py"]
    left_out += [
        f"--deselect={here}/test_arrays.py::test_array[{activation}-{variant}-{dtype}-n{n}]"
        for activation in fastact.activations
        for variant in (*fastact.variants, "numpy")
        for dtype in DTYPES
        for n in SIZES
        if (activation, variant, dtype, n) != ("relu", "numpy", "float32", 1)
    ]
    lost = timed_run(str(FOLDER), *left_out)
    assert lost.returncode == 1, lost.stdout
    assert "1 passed" in lost.stdout
    assert lost.stdout.count("MISSING benchmark") >= len(left_out)
    assert "{'activation': 'gelu', 'dtype': 'float64', 'variant': 'numpy', 'n': 1}" in lost.stdout
    assert (
        "{'activation': 'relu', 'dtype': 'float32', 'variant': 'numpy', 'n': 1}" not in lost.stdout
    )


def test_a_timed_run_of_a_part_is_no_loss() -> None:
    asked = timed_run(str(FOLDER / "test_arrays.py"), "-k", "relu-numpy-float32-n1")
    assert asked.returncode == 0, asked.stdout
    assert "3 passed" in asked.stdout  # n1, n1024, n1048576
    assert "MISSING" not in asked.stdout
