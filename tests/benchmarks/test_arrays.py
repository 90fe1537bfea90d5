"""Every function, dtype and variant on arrays in memory, beside NumPy's own way of doing it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import fastact
from fastact import accuracy

FUNCTIONS = fastact.activations + fastact.derivatives
DTYPES = ("float16", "float32", "float64")
SIZES = (1, 1_024, 65_536, 1_048_576)


def numpy_relu(x: np.ndarray, out: np.ndarray) -> None:
    np.maximum(x, 0, out=out)


def numpy_gelu(x: np.ndarray, out: np.ndarray) -> None:
    out[:] = 0.5 * x * (1 + scipy.special.erf(x / np.sqrt(x.dtype.type(2))))


def numpy_gelu_tanh(x: np.ndarray, out: np.ndarray) -> None:
    rate = np.sqrt(x.dtype.type(2 / np.pi))
    out[:] = 0.5 * x * (1 + np.tanh(rate * (x + 0.044715 * x * x * x)))


def numpy_relu6(x: np.ndarray, out: np.ndarray) -> None:
    np.clip(x, 0, 6, out=out)


def numpy_gelu_quick(x: np.ndarray, out: np.ndarray) -> None:
    with np.errstate(over="ignore"):  # of float16
        out[:] = x / (1 + np.exp(-1.702 * x))


def numpy_silu(x: np.ndarray, out: np.ndarray) -> None:
    out[:] = x / (1 + np.exp(-x))


def numpy_hard_swish(x: np.ndarray, out: np.ndarray) -> None:
    out[:] = x * np.clip(x + 3, 0, 6) / 6


def numpy_relu_grad(x: np.ndarray, out: np.ndarray) -> None:
    np.heaviside(x, 0, out=out)


def numpy_gelu_grad(x: np.ndarray, out: np.ndarray) -> None:
    density = np.exp(-0.5 * x * x) * x.dtype.type(1 / np.sqrt(2 * np.pi))
    out[:] = 0.5 * (1 + scipy.special.erf(x / np.sqrt(x.dtype.type(2)))) + x * density


def numpy_gelu_tanh_grad(x: np.ndarray, out: np.ndarray) -> None:
    rate = np.sqrt(x.dtype.type(2 / np.pi))
    t = np.tanh(rate * (x + 0.044715 * x * x * x))
    out[:] = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * rate * (1 + 3 * 0.044715 * x * x)


# What a NumPy user writes without fastact.
NUMPY = {
    "relu": numpy_relu,
    "relu6": numpy_relu6,
    "gelu": numpy_gelu,
    "gelu_tanh": numpy_gelu_tanh,
    "gelu_quick": numpy_gelu_quick,
    "silu": numpy_silu,
    "hard_swish": numpy_hard_swish,
    "relu_grad": numpy_relu_grad,
    "gelu_grad": numpy_gelu_grad,
    "gelu_tanh_grad": numpy_gelu_tanh_grad,
}

# NumPy's way rounds every step: its error is a few units of its inputs' largest result, 8 or so.
NUMPY_UNITS = 64


# The two GELUs differ most at 2.699, the quick one at 2.27, relu6 from relu above 6.
LANDMARKS = [-2.699, 2.699, 0, -0.75, 7, -2.27, 1, -1]


def sample(n: int, dtype: str) -> np.ndarray:
    """Values as a layer sees them, the first ones where the functions differ most."""
    x = np.random.default_rng(n).normal(scale=2, size=n)
    x[: len(LANDMARKS)] = LANDMARKS[:n]
    return x.astype(dtype)


def function_of(name: str, variant: str) -> Callable[..., Any]:
    if variant == "numpy":
        return NUMPY[name]
    return getattr(fastact.variants[variant], name)


@lru_cache(len(DTYPES) * len(SIZES))  # of one function
def checked(name: str, dtype: str, n: int) -> tuple[np.ndarray, accuracy.Reference]:
    """Return the places of a sample that are checked, and the exact values there."""
    # Of many elements, a part that meets each lane: few of float64, whose reference is mpmath.
    step = max(1, n // (1_009 if dtype == "float64" else 65_537))
    places = np.unique(np.append(np.arange(min(n, len(LANDMARKS))), np.arange(0, n, step)))
    return places, accuracy.reference(name, sample(n, dtype)[places])


def assert_right(y: np.ndarray, name: str, variant: str) -> None:
    places, reference = checked(name, y.dtype.name, y.size)
    y = y[places]
    if variant == "numpy":
        error = np.abs(y.astype(np.float64) - reference.high)
        assert error.max() <= NUMPY_UNITS * np.finfo(y.dtype).eps
    else:
        bound = fastact.max_ulp(name, y.dtype, variant=variant)
        assert accuracy.ulp_error(y, reference).max() <= bound


def test_every_function_has_numpys_way_of_it() -> None:
    assert list(NUMPY) == list(FUNCTIONS)


@pytest.mark.benchmark(max_time=0.1, min_rounds=5, warmup=True, warmup_iterations=2)
@pytest.mark.parametrize("n", SIZES, ids="n{}".format)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant_or_numpy", [*fastact.variants, "numpy"])
def test_array(benchmark: Any, name: str, variant_or_numpy: str, dtype: str, n: int) -> None:
    benchmark.group = f"{name}, {dtype}, n={n}"
    benchmark.extra_info.update(activation=name, dtype=dtype, variant=variant_or_numpy, n=n)
    x = sample(n, dtype)
    out = np.full_like(x, np.nan)
    assert (x < 0).any()
    benchmark(function_of(name, variant_or_numpy), x, out)
    assert x.tobytes() == sample(n, dtype).tobytes(), "what is timed must not change its input"
    assert_right(out, name, variant_or_numpy)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES[1:])  # a single element does not tell relu from relu6
def test_another_function_would_be_seen(name: str, dtype: str, n: int) -> None:
    x = sample(n, dtype)
    for other in set(FUNCTIONS) - {name}:
        for way in (fastact.isa, "numpy"):
            if way == "numpy" and n > SIZES[1]:
                continue  # slow, and what is added is more of the same
            y = np.empty_like(x)
            function_of(other, way)(x, y)
            with pytest.raises(AssertionError):
                assert_right(y, name, fastact.isa)


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
        f"--deselect={here}/test_arrays.py::test_array[{name}-{variant}-{dtype}-n{n}]"
        for name in FUNCTIONS
        for variant in (*fastact.variants, "numpy")
        for dtype in DTYPES
        for n in SIZES
        if (name, variant, dtype, n) != ("relu", "numpy", "float32", 1)
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
