"""The search over a function, on functions whose kinks, flats and minima are known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastact.bench.functions.curve import Asymptote, Curve, Flat, distance

# A search takes some 50 ms.
few = settings(max_examples=25, deadline=None, derandomize=True, database=None)


@few
@given(st.floats(-31, 31), st.floats(-3, 3), st.floats(0.02, 3), st.booleans())
def test_a_kink_is_found_wherever_it_is(at, slope, jump, down):
    jump = -jump if down else jump
    (kink,) = Curve(lambda x: slope * x + jump * np.maximum(x - at, 0)).kinks
    assert abs(kink.at - at) <= 2**-32
    assert abs(kink.jump - jump) <= 1e-6


@few
@given(st.floats(-8, 8), st.floats(0.2, 2))
def test_what_bends_without_a_kink_is_smooth(at, sharpness):
    assert Curve(lambda x: np.logaddexp(0, sharpness * (x - at))).kinks == ()


def test_several_kinks_come_from_left_to_right():
    kinks = Curve(lambda x: np.abs(x + 2) - 3 * np.abs(x - 0.25) + np.sin(x)).kinks
    assert [kink.at for kink in kinks] == [-2, 0.25]
    assert [kink.jump for kink in kinks] == pytest.approx([2, -6], abs=1e-12)


def test_a_slope_stays_on_its_side_of_a_kink():
    curve = Curve(np.abs)
    assert [curve.slope(x) for x in (-1.0, -0.01, 0.01, 1.0)] == pytest.approx(
        [-1, -1, 1, 1], abs=1e-12
    )
    assert curve.slope(0.0) == 0  # the mean of both sides
    assert Curve(np.abs, np.sign).slope(-1e-300) == -1


def test_flat_parts_reach_exactly_as_far_as_they_do():
    assert Curve(lambda x: np.clip(x, -0.3, 1.7)).flats == (
        Flat(-math.inf, -0.3, -0.3),
        Flat(1.7, math.inf, 1.7),
    )
    plateau = Curve(lambda x: np.minimum(x + 1, 0) + np.maximum(x - 1, 0)).flats
    assert plateau == (Flat(-1, 1, 0),)
    assert Curve(np.sin).flats == ()


@few
@given(st.floats(-30, 30))
def test_a_minimum_is_found_in_a_bend_and_in_a_kink(at):
    smooth = Curve(lambda x: (x - at) ** 2).minimum
    assert abs(smooth.at - at) <= 1e-9  # the values go up to 4,000
    sharp = Curve(lambda x: np.abs(x - at)).minimum
    assert abs(sharp.at - at) <= 1e-9


def test_what_never_decreases_has_no_minimum():
    assert Curve(np.tanh).minimum is None
    assert Curve(lambda x: x).minimum is None


def test_an_asymptote_is_a_line_and_where_float32_reaches_it():
    def function(x):
        return np.where(x < -2, -x / 2, np.where(x < 4, 0, x / 4 + 1)).astype(x.dtype)

    curve = Curve(lambda x: function(np.asarray(x)))
    just_below_minus_2 = float(np.nextafter(np.float32(-2), np.float32(-3)))
    assert curve.asymptote(-1) == Asymptote(-0.5, 0.0, just_below_minus_2)
    assert curve.asymptote(+1) == Asymptote(0.25, 1.0, 4.0)


def test_a_distance_is_that_of_the_point_furthest_apart():
    found = distance(Curve(np.tanh), Curve(lambda x: x / 2))
    assert abs(found.at) == found.value == math.inf
    bump = distance(Curve(lambda x: np.exp(-((x - 0.3) ** 2))), Curve(np.zeros_like))
    assert bump.value == 1
    assert abs(bump.at - 0.3) <= 1e-12
    assert distance(Curve(np.sin), Curve(np.sin)).value == 0
