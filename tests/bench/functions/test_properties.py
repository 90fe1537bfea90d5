"""The properties of each activation, held against its definition at 60 digits."""

import json
import math
from dataclasses import fields

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastact
from fastact import accuracy
from fastact.bench.functions.curve import Asymptote, Curve, Extremum
from fastact.bench.functions.properties import (
    NEGATIVE_INPUTS,
    Properties,
    distance,
    normal_share,
    properties_of,
    table,
)

ALL = {p.activation: p for p in table()}
KINKS = {
    "relu": [(0, 1)],
    "relu6": [(0, 1), (6, -1)],
    "hard_swish": [(-3, -0.5), (3, -0.5)],
}
MONOTONIC = ("relu", "relu6")

property_test = settings(max_examples=100, deadline=None, derandomize=True, database=None)
names = st.sampled_from(fastact.activations)
activations = pytest.mark.parametrize("activation", fastact.activations)


def definition(activation):
    return accuracy._definitions()[activation]


def exact_slope(activation, x):
    with mpmath.workdps(60):
        return mpmath.diff(definition(activation), mpmath.mpf(float(x)))


def test_every_activation_has_all_properties():
    assert tuple(ALL) == fastact.activations
    names = {field.name for field in fields(Properties)}
    rows = [p.cells() for p in ALL.values()]
    for p, row in zip(ALL.values(), rows, strict=True):
        data = json.loads(json.dumps(p.to_dict(), allow_nan=False))
        assert set(data) == names | {"smooth", "largest_jump", "monotonic"}
        assert [point["at"] for point in data["negative"]] == list(NEGATIVE_INPUTS)
        assert list(row) == list(rows[0])
        assert all(row.values())


@activations
def test_kinks_are_found_where_they_are(activation):
    p, expected = ALL[activation], KINKS.get(activation, [])
    assert [kink.at for kink in p.kinks] == [at for at, _ in expected]
    assert [kink.jump for kink in p.kinks] == pytest.approx([j for _, j in expected], abs=1e-12)
    assert p.smooth == (not expected)
    assert p.largest_jump == pytest.approx(max((abs(j) for _, j in expected), default=0), abs=1e-12)


def test_the_jump_of_relu_is_exactly_one():
    assert ALL["relu"].largest_jump == ALL["relu6"].largest_jump == 1


@activations
def test_values_and_slopes_of_negative_inputs_are_exact(activation):
    for point in ALL[activation].negative:
        value = float(accuracy.exact(activation, point.at))
        assert abs(point.value - value) <= 2 * np.spacing(abs(value))
        assert abs(point.slope - exact_slope(activation, point.at)) <= 1e-14


@activations
def test_differences_are_the_derivative(activation):
    # Without the derivative's own ufunc, for all activations alike.
    curve = Curve(getattr(fastact, activation))
    at_kinks = [at for at, _ in KINKS.get(activation, [])]
    for x in np.random.default_rng(0).uniform(-32, 32, 200):
        if all(abs(x - at) > 0.01 for at in at_kinks):
            assert abs(curve.slope(float(x)) - exact_slope(activation, x)) <= 2e-12


@activations
def test_the_minimum_is_exact(activation):
    p = ALL[activation]
    assert p.monotonic == (activation in MONOTONIC)
    if p.minimum is None:
        return
    with mpmath.workdps(60):
        f = definition(activation)
        at = mpmath.findroot(lambda x: mpmath.diff(f, x), p.minimum.at)
        assert abs(p.minimum.at - at) <= 3e-14
        assert abs(p.minimum.value - f(at)) <= np.spacing(abs(p.minimum.value))


def test_the_minima_of_gelu():
    assert (
        f"{ALL['gelu'].minimum.value:.8f} {ALL['gelu'].minimum.at:.6f}" == "-0.16997121 -0.751792"
    )
    low = ALL["gelu_tanh"].minimum
    assert f"{low.value:.8f} {low.at:.6f}" == "-0.17004075 -0.752461"
    low = ALL["hard_swish"].minimum
    assert (low.at, low.value) == (-1.5, -0.375)


@property_test
@given(names, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_nothing_is_below_the_minimum_and_monotonic_means_it(activation, one, other):
    p, f = ALL[activation], getattr(fastact, activation)
    if p.minimum is None:
        assert f(min(one, other)) <= f(max(one, other))
    else:
        assert min(f(one), f(other)) >= p.minimum.value


def test_shares_of_dead_inputs():
    beyond = {n: float(mpmath.ncdf(-n)) for n in (3, 6)}
    assert (ALL["relu"].zero_share, ALL["relu"].flat_share) == (0.5, 0.5)
    assert (ALL["relu6"].zero_share, ALL["relu6"].flat_share) == (0.5, 0.5 + beyond[6])
    dead = ALL["hard_swish"]
    assert dead.zero_share == dead.flat_share == pytest.approx(beyond[3], rel=1e-15)
    for activation in set(fastact.activations) - set(KINKS):
        assert max(ALL[activation].zero_share, ALL[activation].flat_share) < 1e-100


@activations
def test_far_out_the_result_is_a_line(activation):
    p, f = ALL[activation], getattr(fastact, activation)
    assert (p.below.slope, p.below.offset) == (0, 0)
    assert (p.above.slope, p.above.offset) == ((0, 6) if activation == "relu6" else (1, 0))
    for line, side in ((p.below, -1), (p.above, +1)):
        start = np.float32(line.float32_from)
        bits = np.abs(start).view(np.uint32)
        outwards = side * np.arange(bits, 0x7F800000, 1009, dtype=np.uint32).view(np.float32)
        assert start in outwards
        assert np.array_equal(f(outwards), line.slope * outwards + line.offset)
        if start != 0:
            inwards = np.nextafter(start, np.float32(0))
            assert f(inwards) != np.float32(line.slope * inwards + line.offset)


def test_where_float32_reaches_its_limit():
    zero = Asymptote(slope=0.0, offset=0.0, float32_from=0.0)
    assert ALL["relu"].below == ALL["relu6"].below == zero
    assert ALL["relu6"].above == Asymptote(slope=0.0, offset=6.0, float32_from=6.0)
    assert ALL["hard_swish"].below.float32_from == -3
    # 0.5 ULP of the smallest subnormal, and of x itself
    assert -14.4 < ALL["gelu"].below.float32_from < -14.3
    assert 5.3 < ALL["gelu"].above.float32_from < 5.4


def test_the_distance_of_the_two_gelus():
    found = distance("gelu", "gelu_tanh")
    assert f"{found.value:.4e} {abs(found.at):.3f}" == "4.7324e-04 2.699"
    assert distance("gelu", "gelu") == Extremum(0, 0)


def test_distances_at_a_kink_and_without_end():
    kink = distance("hard_swish", "silu")
    assert (kink.at, kink.value) == (-3, float(-fastact.silu(-3.0)))
    assert distance("relu6", "relu") == distance("gelu", "relu6") == Extremum(math.inf, math.inf)


@property_test
@given(names, names, st.floats(-100, 100))
def test_no_two_results_are_further_apart_than_the_distance(one, other, x):
    apart = abs(getattr(fastact, one)(x) - getattr(fastact, other)(x))
    largest = distance(one, other).value
    assert apart <= largest + 2 * np.spacing(abs(x))
    assert math.isclose(largest, distance(other, one).value, rel_tol=1e-12)


def test_cells_are_short_and_say_it():
    gelu, relu, hard = (ALL[name].cells() for name in ("gelu", "relu", "hard_swish"))
    assert gelu["smoothness"] == "smooth"
    assert gelu["minimum"] == "min -0.1700 at -0.7518"
    assert gelu["x = -1"] == "-0.1587, slope -0.0833"
    assert gelu["result 0"] == "never"
    assert gelu["x to +inf"].startswith("x, exactly from 5.3")
    assert relu["smoothness"] == "kink at 0 (slope jumps by 1)"
    assert relu["minimum"] == "monotonic"
    assert relu["result 0"] == relu["slope 0"] == "50.00%"
    assert relu["x to -inf"] == "0, exactly from 0 on in float32"
    assert hard["smoothness"] == (
        "kink at -3 (slope jumps by -0.5), kink at 3 (slope jumps by -0.5)"
    )
    assert hard["slope 0"] == "0.13%"
    assert ALL["gelu_tanh"].cells()["x = -4"] == "-7.0e-05, slope -3.4e-04"
    assert ALL["relu6"].cells()["x to +inf"] == "6, exactly from 6 on in float32"


@pytest.mark.parametrize("wrong", ["gelu_grad", "elu", ""])
def test_an_unknown_activation_is_refused(wrong):
    for ask in (
        properties_of,
        lambda name: table([name]),
        lambda name: distance("relu", name),
    ):
        with pytest.raises(ValueError, match=f"{wrong!r}.*relu, "):
            ask(wrong)


def test_normal_shares_add_up_and_keep_their_digits():
    assert normal_share(-math.inf, math.inf) == 1
    assert normal_share(6, math.inf) == normal_share(-math.inf, -6)
    assert normal_share(-1, 1) == pytest.approx(0.6826894921370859, rel=1e-15)
