"""The values that each activation promises, as tables of digits and of exact results."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fastact
from fastact import accuracy

FLOATS = ("float16", "float32", "float64")
INTEGERS = "bBhHiIlLqQ"

# x to y, from the definitions at 60 digits, of which 25 are kept.
VALUES = {
    "relu": {-14: "0", -1: "0", -0.25: "0", 0.25: "0.25", 1: "1", 2.5: "2.5", 14: "14"},
    "gelu": {
        -100: "-1.34417907674419830507308e-2172",
        -38: "-1.096462776826138037173369e-314",
        -30: "-1.472014178144456117860143e-196",
        -20: "-5.507248237212467390151246e-88",
        -14: "-1.091095154686992035610355e-43",
        -13: "-7.952313719414843586957773e-38",
        -10: "-7.619853024160526065973343e-23",
        -8: "-4.976768459417427298812796e-15",
        -6: "-5.919525870226188844205185e-9",
        -5.5: "-1.04442593562382456611182e-7",
        -5: "-1.433257859395969558368762e-6",
        -4: "-1.26684967332479685015083e-4",
        -3.5: "-8.142017766243376272247406e-4",
        -2.75: "-8.194348896400031074309179e-3",
        -2: "-4.550026389635841440056527e-2",
        -1: "-1.586552539314570514147675e-1",
        -0.25: "-1.003234185792690689397866e-1",
        0.25: "1.496765814207309310602134e-1",
        1: "8.413447460685429485852325e-1",
        2: "1.954499736103641585599435",
        2.5: "2.484475836685559662082555",
        2.75: "2.741805651103599968925691",
        5: "4.999998566742140604030442",
    },
    "gelu_tanh": {
        -100: "-4.939274910832718775955801e-31057",
        -30: "-9.616775959691454631340931e-857",
        -20: "-3.375450956310967319739801e-261",
        -14: "-2.569400277353558979996395e-94",
        -13: "-1.05115177676325325542561e-76",
        -10: "-1.20409234820980599365925e-37",
        -8: "-3.107782937501111218031581e-21",
        -6: "-8.439646700762297083699443e-11",
        -5.5: "-5.92764026388026202595239e-9",
        -5: "-2.291796196629506045592755e-7",
        -4: "-7.02459481923726898181258e-5",
        -3.5: "-6.161976553736633089266467e-4",
        -2.75: "-7.72314407361796852066223e-3",
        -2: "-4.540230591222498121895861e-2",
        -1: "-1.588080093917232952180042e-1",
        -0.25: "-1.003246492983149997745713e-1",
        0.25: "1.496753507016850002254287e-1",
        1: "8.411919906082767047819958e-1",
        2: "1.954597694087775018781041",
        2.5: "2.484915733910001417920508",
        2.75: "2.742276855926382031479338",
        5: "4.999999770820380337049395",
    },
}


def exact_gelu(info: np.finfo) -> list[tuple[float, float]]:
    """Both forms: the limits, halves near zero, x itself where the tail is below a digit of it."""
    least, tiny, most = (float(v) for v in (info.smallest_subnormal, info.tiny, info.max))
    halves = [2 * least, 4 * least, 6 * least, tiny, 3 * tiny]
    large = [10.0, 41.0, 75.0, 256.0, 60000.0, 5e30, most / 2, most]
    return [
        (0.0, 0.0),
        (-0.0, -0.0),
        *((x, x / 2) for x in halves),
        *((-x, -x / 2) for x in halves),
        *((x, x) for x in large if x <= most),
        *((-x, -0.0) for x in large if 40 < x <= most),
        (np.inf, np.inf),
        (-np.inf, -0.0),
    ]


def exact_relu(info: np.finfo) -> list[tuple[float, float]]:
    """Every positive number stays, every negative one gives +0.0, and -0.0 stays."""
    least, tiny, most = (float(v) for v in (info.smallest_subnormal, info.tiny, info.max))
    numbers = [least, 3 * least, tiny, 0.5, 1.0, 1 + float(info.eps), most, np.inf]
    return [(0.0, 0.0), (-0.0, -0.0), *((x, x) for x in numbers), *((-x, 0.0) for x in numbers)]


# What must come out bit for bit, in every dtype.
EXACT = {"relu": exact_relu, "gelu": exact_gelu, "gelu_tanh": exact_gelu}

# Where the function has a smallest value inside the line: (x, y).
MINIMUM = {
    "relu": None,
    "gelu": (-0.751791524693564, -0.16997120747990369),
    "gelu_tanh": (-0.752461422071016, -0.17004075057125407),
}

# What the slope from float32(1) to float32(1 + 2^-13) is: an input cut to half precision gives 0.
SLOPE_AT_ONE = {"relu": 1.0, "gelu": 1.0833, "gelu_tanh": 1.0830}


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


def table(activation: str, dtype: str) -> tuple[np.ndarray, accuracy.Reference]:
    """Return the inputs of VALUES, and the outputs as sums of two float64 numbers."""
    values = {x: Fraction(y) for x, y in VALUES[activation].items()}
    high = np.array([float(y) for y in values.values()])
    low = np.array([float(y - Fraction(h)) for y, h in zip(values.values(), high, strict=True)])
    return np.array(list(values), dtype), accuracy.Reference(high, low)


@pytest.mark.parametrize("entries", [VALUES, EXACT, MINIMUM, SLOPE_AT_ONE])
def test_every_activation_has_an_entry(entries: dict[str, object]) -> None:
    assert set(entries) == set(fastact.activations)


@pytest.mark.parametrize("dtype", FLOATS)
def test_table(activation: str, variant: str, dtype: str) -> None:
    x, expected = table(activation, dtype)
    y = getattr(fastact.variants[variant], activation)(x)
    assert y.dtype == dtype
    error = accuracy.ulp_error(y, expected)
    assert error.max() <= fastact.max_ulp(activation, dtype, variant=variant), x[error.argmax()]


@pytest.mark.parametrize("dtype", FLOATS)
def test_table_tells_the_activations_apart(activation: str, variant: str, dtype: str) -> None:
    x, expected = table(activation, dtype)
    for other in set(fastact.activations) - {activation}:
        y = getattr(fastact.variants[variant], other)(x)
        error = accuracy.ulp_error(y, expected).max()
        assert error > 2 * max(fastact.max_ulp(activation, dtype, variant=variant), 0.5), other


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_results(activation: str, variant: str, dtype: str) -> None:
    x, expected = np.array(EXACT[activation](np.finfo(dtype)), dtype).T.copy()
    y = getattr(fastact.variants[variant], activation)(x)
    wrong = bits(y) != bits(expected)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], expected[wrong], strict=True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_stays_nan(activation: str, variant: str, dtype: str) -> None:
    # Of both signs, quiet and signalling, with the smallest and the largest payload.
    info = np.finfo(dtype)
    infinity = int(bits(np.array([np.inf], dtype))[0])
    quiet = 1 << (info.nmant - 1)
    sign = 1 << (info.bits - 1)
    payloads = [1, quiet - 1, quiet, quiet + 1, 2 * quiet - 1]
    patterns = [s | infinity | p for s in (0, sign) for p in payloads]
    x = np.array(patterns, f"u{info.bits // 8}").view(dtype)
    function = getattr(fastact.variants[variant], activation)
    assert np.isnan(function(x)).all()
    assert all(np.isnan(function(x[i : i + 1])).all() for i in range(x.size))


@pytest.mark.parametrize("dtype", FLOATS)
def test_finite_stays_finite_with_the_sign_of_x(activation: str, variant: str, dtype: str) -> None:
    function = getattr(fastact.variants[variant], activation)
    stride = {"float16": 1, "float32": 40_009, "float64": (1 << 48) + 1}[dtype]
    for x in accuracy.bit_patterns(dtype, stride):
        y = function(x)
        assert np.isfinite(y).all()
        assert ((np.signbit(y) == np.signbit(x)) | (y == 0)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormals_are_kept(activation: str, variant: str, dtype: str) -> None:
    # The slope at +0 is 1 or 1/2: the result is x or the half of it, whichever way a tie goes.
    least = np.finfo(dtype).smallest_subnormal
    x = least * np.arange(1, 1000).astype(dtype)
    y = getattr(fastact.variants[variant], activation)(x)
    slope = 1.0 if activation == "relu" else 0.5
    steps = (y.astype(np.float64) / float(least)) - slope * np.arange(1, 1000)
    assert np.abs(steps).max() <= 0.5


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum(activation: str, variant: str, dtype: str) -> None:
    if MINIMUM[activation] is None:
        assert activation == "relu", "say where the minimum is"
        return
    where, least = MINIMUM[activation]
    function = getattr(fastact.variants[variant], activation)
    unit = float(np.spacing(np.array(-least, dtype)))
    promised = (fastact.max_ulp(activation, dtype, variant=variant) + 0.5) * unit
    x = np.append(np.linspace(-3, 1, 100_001), where).astype(dtype)
    y = function(x).astype(float)
    assert abs(y.min() - least) <= promised
    # Flat at the bottom: some 0.21 (x - where)^2 above the least value.
    bottom = x[y == y.min()].astype(float)
    assert np.abs(bottom - where).max() <= 2.2 * np.sqrt(2 * promised) + unit


def test_the_two_gelus_are_as_far_apart_as_stated(variant: str) -> None:
    functions = fastact.variants[variant]
    x = np.linspace(-6, 6, 1_200_001)
    distance = np.abs(functions.gelu(x) - functions.gelu_tanh(x))
    assert round(float(distance.max()), 8) == 4.7324e-4
    assert round(float(np.abs(x[distance.argmax()])), 3) == 2.699


def test_no_half_precision_inside(activation: str, variant: str) -> None:
    function = getattr(fastact.variants[variant], activation)
    step = 2.0**-13
    y = function(np.float32([1, 1 + step])).astype(float)
    slope = (y[1] - y[0]) / step
    unit = 2.0**-23  # of values between 1 and 2
    promised = 2 * fastact.max_ulp(activation, "float32", variant=variant) * unit / step
    assert abs(slope - SLOPE_AT_ONE[activation]) <= promised + 1e-4


@pytest.mark.parametrize("character", INTEGERS)
def test_relu_of_integers(variant: str, character: str) -> None:
    info = np.iinfo(character)
    numbers = {info.min, info.min + 1, -1, 0, 1, info.max // 2, info.max - 1, info.max}
    kept = [number for number in sorted(numbers) if number >= info.min]
    x = np.array(kept * 40, character)  # longer than a vector of the smallest type
    y = fastact.variants[variant].relu(x)
    assert y.dtype == np.dtype(character)
    assert y.tolist() == [max(0, number) for number in kept] * 40


def test_only_relu_has_integers_of_its_own() -> None:
    registry = fastact._core.registry[fastact.isa]
    with_integers = [name for name in fastact.activations if "int8" in registry[name]]
    assert with_integers == ["relu"], "another activation of integers needs its own test"
