"""The accuracy that the registry promises, and the tools that measure it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fastact
from fastact import _core, accuracy

HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
# Prime, and coprime to every power of two, so that all low bits of the significand are met.
STRIDE = 1_009

# Where the approximations of float64 change over: clamps, multiples of the reduction, extrema,
# the edges of hard_swish.
TRANSITIONS = np.concatenate(
    [
        np.sqrt(2 * np.log(2) * (np.arange(60) + 0.5)),
        np.log(2) * (np.arange(60) + 0.5),
        [0.751154, 0.751792, 0.752461, 1.278465, math.sqrt(2), 1.418504, 2.27, 2.699, 3, 6],
        [10.875, 14.375, 21.75, 38.625, 38.75, 64, 110, 443, 754],
        np.ldexp(1.0, np.arange(-60, 6)),
    ]
)

# Where the negative tail has long vanished, even from float64.
TAIL_END = {"gelu_tanh": -22.0, "gelu_tanh_grad": -22.0, "gelu_quick": -445.0, "silu": -756.0}


def float64_sample(name: str, count: int = 4000) -> np.ndarray:
    """Values over the whole line: by bit pattern, evenly over tail and middle, at transitions."""
    stride = (0x7FF << 52) // count
    pattern = np.concatenate(list(accuracy.bit_patterns("float64", stride | 1)))
    tail = np.linspace(TAIL_END.get(name, -39.0), 9.0, 2 * count)
    middle = np.random.default_rng(0).uniform(-3.0, 3.0, 2 * count)
    edges = np.concatenate([TRANSITIONS, np.nextafter(TRANSITIONS, 0), -TRANSITIONS])
    return np.concatenate([pattern, tail, middle, edges])


@cache
def float64_case(name: str) -> tuple[np.ndarray, accuracy.Reference]:
    """Return the sample and its exact values, which are slow: once for all variants."""
    x = float64_sample(name)
    return x, accuracy.reference(name, x)


@pytest.mark.parametrize("dtype", [*HALVES, "float32"])
def test_no_value_is_worse_than_promised(
    name: str, variant: str, dtype: str, exhaustive: bool
) -> None:
    function = getattr(fastact.variants[variant], name)
    stride = STRIDE if dtype == "float32" and not exhaustive else 1
    worst = max(
        accuracy.worst_error(function, name, x) for x in accuracy.bit_patterns(dtype, stride)
    )
    assert worst.ulp <= fastact.max_ulp(name, dtype, variant=variant), worst


def test_no_float64_value_is_worse_than_promised(name: str, variant: str) -> None:
    x, exact = float64_case(name)
    error = accuracy.ulp_error(getattr(fastact.variants[variant], name)(x), exact)
    worst = int(error.argmax())
    bound = fastact.max_ulp(name, "float64", variant=variant)
    assert error[worst] <= bound, (error[worst], x[worst])


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_promise_is_not_slack(name: str, variant: str, dtype: str) -> None:
    bound = _core.registry[variant][name][dtype]
    if math.isnan(bound.at):
        assert bound.max_ulp in (0, 0.5), "says no input: only what is exact or rounded may"
        return
    x = np.array([bound.at], dtype)
    assert float(x[0]) == bound.at, "the input named in the registry is not of this dtype"
    worst = accuracy.worst_error(getattr(fastact.variants[variant], name), name, x)
    assert bound.max_ulp / 1.2 <= worst.ulp <= bound.max_ulp


def to_units(high: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers in units of the last place that dtype has there, and the units."""
    info = ml_dtypes.finfo(dtype)
    _, exponent = np.frexp(np.maximum(np.abs(high), float(info.tiny)))
    unit = np.ldexp(1.0, exponent - int(info.nmant) - 1)
    return high / unit, unit


def rounded(name: str, x: np.ndarray) -> np.ndarray:
    """Round the exact values once, ties to even.

    float64 is exact enough but for what is or may be a tie: there, mpmath decides. The conversion
    that ml_dtypes has would not do, since it rounds to float32 first.
    """
    units, unit = to_units(accuracy.reference(name, x).high, x.dtype.name)
    nearest = np.rint(units)
    for i in np.flatnonzero(np.abs(np.abs(units - np.trunc(units)) - 0.5) < 2.0**-30):
        middle = np.trunc(units[i]) + np.copysign(0.5, units[i])
        exact = accuracy.exact(name, float(x[i]))
        tie = middle * unit[i]
        if exact != tie:
            nearest[i] = middle + (0.5 if exact > tie else -0.5)
    return np.copysign(nearest * unit, units).astype(x.dtype)


@cache
def halves(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All finite values, and the function of them correctly rounded: once for all variants."""
    x = np.concatenate(list(accuracy.bit_patterns(dtype)))
    return x, rounded(name, x)


@pytest.mark.parametrize("dtype", HALVES)
def test_16_bits_are_correctly_rounded(name: str, variant: str, dtype: str) -> None:
    x, expected = halves(name, dtype)
    y = getattr(fastact.variants[variant], name)(x)
    assert y.dtype == x.dtype
    wrong = y.view(np.uint16) != expected.view(np.uint16)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], expected[wrong], strict=True))[:9]


def test_the_reference_of_float32_is_right(name: str) -> None:
    # The float64 function stands in for exact values; mpmath says how exact they are.
    x = np.concatenate(list(accuracy.bit_patterns("float32", 4_000_037)))
    high = accuracy.reference(name, x)
    exact = accuracy.reference(name, x.astype(np.float64))
    error = np.abs((high.high - exact.high) - exact.low)
    unit = np.maximum(np.spacing(np.abs(exact.high.astype(np.float32))), 2.0**-149)
    assert np.max(error / unit) < 1e-7


@pytest.mark.parametrize(
    ("function", "x", "digits"),
    [
        ("gelu", 1.0, "0.841344746068542948585232545632"),
        ("gelu", -1.0, "-0.158655253931457051414767454368"),
        ("gelu", -10.0, "-7.61985302416052606597337325150e-23"),
        ("gelu", -20.0, "-5.50724823721246739107263620474e-88"),
        ("gelu_tanh", 1.0, "0.841191990608276704781995800000"),
        ("gelu_quick", 1.0, "0.845795765932821295707106800000"),
        ("silu", -1.0, "-0.268941421369995120748840758220"),
        ("hard_swish", 1.0, "0.666666666666666666666666666667"),
        ("hard_swish", -3.0, "0"),
        ("gelu_grad", 1.0, "1.083315470587686298383063000000"),
        ("gelu_tanh_grad", 1.0, "1.082964083845782555139642000000"),
        ("relu_grad", 0.0, "0"),
        ("relu", -3.0, "0"),
        ("relu", 3.0, "3"),
        ("relu6", 7.0, "6"),
        ("relu6", 1e300, "6"),
        ("gelu", 1e300, "1e300"),
        ("gelu", -1e300, "0"),
        ("gelu_tanh_grad", 1e300, "1"),
    ],
)
def test_exact_values(function: str, x: float, digits: str) -> None:
    assert float(accuracy.exact(function, x)) == float(digits)


def test_every_function_has_a_definition(name: str) -> None:
    # At 2 the activations are close to 2, and their derivatives to 1.
    nearest = 1 if name in fastact.derivatives else 2
    assert 0.8 < accuracy.exact(name, 2.0) / nearest < 1.1


def reference(high: Any, low: Any = 0.0) -> accuracy.Reference:
    high = np.array(high, np.float64)
    return accuracy.Reference(high, np.full_like(high, low), np.abs(high))


def test_ulp_error_counts_units() -> None:
    y = np.array([1, 1 + 2.0**-23, 1 - 2.0**-24, np.inf], np.float32)
    assert accuracy.ulp_error(y, reference(np.ones(4))).tolist() == [0, 1, 0.5, math.inf]
    y = np.array([1, 1 + 2.0**-7, 1 - 2.0**-8, np.nan], ml_dtypes.bfloat16)
    assert accuracy.ulp_error(y, reference(np.ones(4))).tolist() == [0, 1, 0.5, math.inf]


UNITS = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}


@pytest.mark.parametrize(("dtype", "unit"), UNITS.items())
def test_ulp_error_of_subnormals_is_in_their_own_unit(dtype: str, unit: float) -> None:
    y = np.array([unit, 3 * unit], dtype)
    assert accuracy.ulp_error(y, reference([0.0, unit])).tolist() == [1, 2]


def test_ulp_error_sees_the_low_part_of_the_exact_value() -> None:
    assert accuracy.ulp_error(np.ones(1), reference([1.0], 2.0**-54)).tolist() == [0.25]


def test_ulp_error_is_measured_by_the_size() -> None:
    exact = accuracy.Reference(np.array([2.0**-9]), np.zeros(1), np.array([1.0]))
    assert accuracy.ulp_error(np.array([2.0**-9 + 2.0**-52]), exact).tolist() == [1]


def test_ulp_error_of_what_is_wrong_beyond_measure_is_infinite() -> None:
    assert accuracy.ulp_error(np.array([1e300]), reference([1e-300])).tolist() == [math.inf]


def test_the_size_has_a_floor_around_the_zero_of_gelu_tanh_grad_alone(name: str) -> None:
    x = np.array([-0.86, -0.7524614220710163, -0.66])
    exact = accuracy.reference(name, x)
    floor = 2.0**-5 if name == "gelu_tanh_grad" else 0.0
    sizes = np.maximum(np.abs(exact.high), [0.0, floor, floor])
    assert exact.size.tolist() == sizes.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_bit_patterns_meet_every_exponent_of_both_signs(dtype: str) -> None:
    stride = {"float32": 8_191, "float64": (1 << 51) + 1}.get(dtype, 1)
    x = np.concatenate(list(accuracy.bit_patterns(dtype, stride, chunk=10_000)))
    info = ml_dtypes.finfo(dtype)
    assert x.dtype == dtype
    assert np.isfinite(x).all()
    assert np.unique(x.view(f"u{x.itemsize}")).size == x.size
    positive = x[: x.size // 2].astype(np.float64)
    assert (np.diff(positive) > 0).all()
    assert (np.signbit(x) == (np.arange(x.size) >= x.size // 2)).all()
    exponents = np.unique(np.frexp(positive[positive >= float(info.tiny)])[1])
    assert exponents.size == info.maxexp - info.minexp
