"""A function of one variable, and what a search over the line finds out about it.

Nothing is known beforehand. The search goes over a grid on [-32, 32], and refines it where it
matters. A kink whose slope jumps by less than 2^-6, and two kinks that are closer than 1/8, are
beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Function = Callable[[Any], Any]

_SPACING = 2.0**-8
_GRID: Floats = np.arange(-32.0, 32.0 + _SPACING, _SPACING)
_FAR = 2.0**20  # where an activation has long reached its asymptotes

# The second difference over h is the jump of the slope at a kink, and h f'' elsewhere: between
# the two lies the threshold. Below the last spacing rounding errors would outgrow it.
_LAST_SPACING = 2.0**-32
_THRESHOLD = 2.0**-8

# Differences of order 8, with whole numbers as weights, so that they are exact on straight lines.
_STEP = 2.0**-6  # a smaller one loses more to rounding than to the rest of the series
_WEIGHT = 840
_CENTRAL: Floats = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3], dtype=float)
_FORWARD: Floats = np.array(
    [-2283, 6720, -11760, 15680, -14700, 9408, -3920, 960, -105], dtype=float
)

# Bit patterns of positive finite float32 values: all of them coarsely, then some one by one.
_PATTERNS = 0x7F80_0000
_COARSE = 4093
_FINE = 1 << 20


@dataclass(frozen=True)
class Kink:
    """A place where the first derivative jumps.

    Parameters
    ----------
    at : float
        The place.
    jump : float
        The slope to its right minus the slope to its left.
    """

    at: float
    jump: float


@dataclass(frozen=True)
class Extremum:
    """A smallest or largest value.

    Parameters
    ----------
    at, value : float
        Where it is taken, and the value.
    """

    at: float
    value: float


@dataclass(frozen=True)
class Asymptote:
    """The line ``slope * x + offset`` that a function approaches far out.

    Parameters
    ----------
    slope, offset : float
        The line.
    float32_from : float
        From this input outwards every float32 result is exactly on the line.
    """

    slope: float
    offset: float
    float32_from: float


class Flat(NamedTuple):
    """An interval on which a function is constant."""

    start: float
    stop: float
    value: float


class Curve:
    """A function of one variable, explored when asked.

    Parameters
    ----------
    function : callable
        Maps arrays to arrays, element by element, float64 and float32.
    derivative : callable, optional
        Its exact derivative. Without it, slopes are central differences of order 8.
    """

    def __init__(self, function: Function, derivative: Function | None = None) -> None:
        self._function = function
        self._derivative = derivative

    def __call__(self, x: float) -> float:
        """Return the result at one point."""
        return float(self._function(x)) + 0.0  # no -0.0

    def slope(self, x: float) -> float:
        """Return the first derivative; at a kink the mean of both sides, unless it is given.

        Parameters
        ----------
        x : float
            A point in [-32, 32].

        Returns
        -------
        float
            The slope. A difference is wrong by no more than 2e-12, but next to a kink.
        """
        if self._derivative is not None:
            return float(self._derivative(x)) + 0.0
        to_kink = min((abs(x - kink.at) for kink in self.kinks), default=math.inf)
        step = min(_STEP, max(to_kink / 4, _LAST_SPACING))
        return self._difference(_CENTRAL, x - 4 * step, step)

    def _difference(self, weights: Floats, start: float, step: float) -> float:
        y = self._function(start + step * np.arange(len(weights)))
        return float(weights @ y) / (_WEIGHT * step) + 0.0

    @cached_property
    def values(self) -> Floats:
        """The results on the grid."""
        result: Floats = self._function(_GRID)
        return result

    @cached_property
    def kinks(self) -> tuple[Kink, ...]:
        """Where the first derivative jumps, from left to right.

        Around every point of the grid, the bend is followed down to ever smaller spacings. It
        vanishes with them unless there is a kink.
        """
        places, spacing = _GRID[1:-1], _SPACING
        bends = np.zeros_like(places)
        while spacing > _LAST_SPACING:
            spacing /= 2
            x = places[:, None] + spacing * np.arange(-2, 3)
            y = self._function(x)
            bend = np.abs(y[:, :-2] - 2 * y[:, 1:-1] + y[:, 2:]) / spacing
            sharpest = bend.argmax(axis=1)[:, None]
            places = np.take_along_axis(x, sharpest + 1, axis=1)[:, 0]
            bends = np.take_along_axis(bend, sharpest, axis=1)[:, 0]
        found = np.sort(places[bends > _THRESHOLD])
        apart = found[np.diff(found, prepend=-np.inf) > _SPACING]  # neighbours find the same one
        return tuple(Kink(float(at), self._jump(float(at))) for at in apart)

    def _jump(self, at: float) -> float:
        right = self._difference(_FORWARD, at, _STEP)
        left = self._difference(_FORWARD, at, -_STEP)
        return right - left

    @cached_property
    def flats(self) -> tuple[Flat, ...]:
        """The intervals on which the function is constant; outer ones reach to infinity."""
        y = self.values
        middle = self._function((_GRID[:-1] + _GRID[1:]) / 2)
        flat = np.concatenate([[False], (y[:-1] == middle) & (middle == y[1:]), [False]])
        ends = np.flatnonzero(flat[1:] != flat[:-1]).reshape(-1, 2)
        return tuple(
            Flat(self._flat_end(i, -1), self._flat_end(j, +1), float(y[i]) + 0.0) for i, j in ends
        )

    def _flat_end(self, i: int, side: int) -> float:
        if i in (0, _GRID.size - 1):
            return side * math.inf
        value = self(_GRID[i])
        return _last(lambda x: self(x) == value, _GRID[i], _GRID[i + side])

    @cached_property
    def minimum(self) -> Extremum | None:
        """The smallest value; None if the function never decreases."""
        if np.all(np.diff(self.values) >= 0):
            return None
        i = int(np.argmin(self.values))
        at = min(float(_GRID[i]), _turning_point(self.slope, i), key=self)
        return Extremum(at, self(at))

    def asymptote(self, side: int) -> Asymptote:
        """Return what the function approaches far out.

        Parameters
        ----------
        side : int
            -1 for the left, +1 for the right.

        Returns
        -------
        Asymptote
            The line, and where float32 reaches it.
        """
        z = side * _FAR
        slope = (self(2 * z) - self(z)) / z + 0.0
        offset = self(z) - slope * z + 0.0
        return Asymptote(slope, offset, self._float32_from(side, slope, offset))

    def _float32_from(self, side: int, slope: float, offset: float) -> float:
        def last_off(start: int, stop: int, stride: int) -> int | None:
            """Return the outermost bit pattern whose result is not on the line."""
            bits = np.arange(start, stop, stride, dtype=np.uint32)
            x = side * bits.view(np.float32)
            off = np.flatnonzero(self._function(x) != np.float32(slope) * x + np.float32(offset))
            return int(bits[off[-1]]) if off.size else None

        coarse = last_off(0, _PATTERNS, _COARSE) or 0
        last = last_off(coarse, min(coarse + _FINE, _PATTERNS), 1)
        first = np.uint32(0 if last is None else last + 1)
        return side * float(first.view(np.float32)) + 0.0


def distance(one: Curve, other: Curve) -> Extremum:
    """Find the largest absolute difference of two functions.

    Parameters
    ----------
    one, other : Curve
        The functions.

    Returns
    -------
    Extremum
        One input where it is taken, and the difference; both infinite if it keeps growing.
    """
    difference = np.abs(one.values - other.values)
    i = int(np.argmax(difference))
    if difference[i] == 0:
        return Extremum(0.0, 0.0)
    if i in (0, _GRID.size - 1):
        return Extremum(math.copysign(math.inf, _GRID[i]), math.inf)
    turning = _turning_point(lambda x: one.slope(x) - other.slope(x), i)
    at = max(float(_GRID[i]), turning, key=lambda x: abs(one(x) - other(x)))
    return Extremum(at, abs(one(at) - other(at)))


def _turning_point(slope: Callable[[float], float], i: int) -> float:
    """Find where a slope changes its sign, between the neighbours of a point of the grid."""
    before, after = float(_GRID[i - 1]), float(_GRID[i + 1])
    rising = slope(before) > 0
    return _last(lambda x: (slope(x) > 0) == rising, before, after)


def _last(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Find by bisection how far from `inside`, where it holds, towards `outside` it does."""
    for _ in range(64):
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return float(inside)
