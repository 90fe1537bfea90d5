"""Derives every constant in activations.h: ``python -m fastact.kernels.coefficients`` prints them.

Needs mpmath (extra ``test``). Everything is computed to 60 digits from the definitions, so a
reader can check the header without trusting it; a test holds the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

mp.dps = 60

Real = Any  # an mpmath number; mpmath carries no types
Function = Callable[[Real], Real]

LN2 = mp.log(2)
SQRT_HALF_PI = mp.sqrt(mp.pi / 2)


class Format(NamedTuple):
    """A floating-point format and the degrees that suffice for it."""

    name: str
    digits: int  # bits of the significand
    exp_degree: int  # of the polynomials in exp(-r/2) = 1 + r s(r) and 2^-r = 1 + r s(r)
    tail_degree: int  # of the denominator N in the upper tail
    gelu_clamp: str  # beyond it t Q(t) rounds to zero
    gelu_tanh_clamp: str
    n_bits: int  # bits of the largest n in the reduction by powers of two


FORMATS = (
    Format("FLOAT32", 24, 5, 4, "14.5", "10.875", 8),
    Format("FLOAT64", 53, 10, 10, "38.625", "21.75", 11),
)


def nearest(value: Real, digits: int) -> Real:
    """Round `value` to `digits` significant bits, ties to even."""
    with mp.workprec(digits):
        return +value


def upper_tail_ratio(t: Real) -> Real:
    """2 R(t), where the upper tail of the normal distribution is Q(t) = exp(-t^2/2) R(t)."""
    return mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2)


def correction(t: Real) -> Real:
    """c(t) of 1 / (2 R(t)) = 1 + t (sqrt(pi/2) - c(t)); smooth, and 0 at infinity."""
    if t == 0:
        return SQRT_HALF_PI - mp.sqrt(2 / mp.pi)
    return SQRT_HALF_PI - (1 / upper_tail_ratio(t) - 1) / t


def _grid(b: Real, count: int) -> list[Real]:
    # Denser towards 0, where the functions of the upper tail vary.
    return [b * ((1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count)) / 2) ** 2 for i in range(count)]


def _symmetric_grid(b: Real, count: int) -> list[Real]:
    return [b * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count) for i in range(count - 1, -1, -1)]


def minimax(
    f: Function,
    weight: Function,
    first: Sequence[Real],
    grid: Sequence[Real],
    numerator: int,
    denominator: int = 0,
) -> tuple[list[Real], list[Real], Real]:
    """Best rational approximation by the Remez exchange, to within 1 %.

    Parameters
    ----------
    f, weight : callable
        The function, and the weight of its error.
    first : sequence
        The ``numerator + denominator + 2`` points to begin with.
    grid : sequence
        The points among which the extrema of the error are sought.
    numerator, denominator : int
        The degrees.

    Returns
    -------
    p, q : list
        Coefficients, lowest first; ``q[0]`` is 1.
    error : real
        The largest weighted error on the grid.
    """
    count = numerator + denominator + 2
    points = list(first)
    values = [(x, f(x), weight(x)) for x in grid]
    q = [mp.mpf(1)] + [mp.mpf(0)] * denominator
    levelled = mp.mpf(0)
    for _ in range(40):
        exact = [(x, f(x), weight(x)) for x in points]
        # p(x) - (f(x) +- levelled / weight) q(x) = 0, by Newton steps on the levelled error.
        for _ in range(40):
            matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
            for i, (x, y, w) in enumerate(exact):
                sign = (-1) ** i
                target = y + sign * levelled / w
                for j in range(numerator + 1):
                    matrix[i, j] = x**j
                for j in range(1, denominator + 1):
                    matrix[i, numerator + j] = -target * x**j
                matrix[i, count - 1] = -sign / w * mp.polyval(q[::-1], x)
                right[i] = target
            solution = mp.lu_solve(matrix, right)
            q = [mp.mpf(1), *solution[numerator + 1 : count - 1]]
            step = solution[count - 1]
            levelled += step
            if abs(step) <= abs(levelled) * mp.mpf(10) ** -10:
                break
        p = list(solution[: numerator + 1])
        extrema: list[tuple[Real, Real]] = []
        for x, y, w in values:
            error = (mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x) - y) * w
            if extrema and extrema[-1][1] * error > 0:
                if abs(error) > abs(extrema[-1][1]):
                    extrema[-1] = (x, error)
            else:
                extrema.append((x, error))
        largest = max(abs(error) for _, error in extrema)
        while len(extrema) > count:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        if len(extrema) < count or largest <= abs(levelled) * mp.mpf("1.01"):
            return p, q, largest
        points = [x for x, _ in extrema]
    raise ArithmeticError(f"no convergence at degrees {numerator}, {denominator}")


def rounded_fit(
    columns: Sequence[Sequence[Real]], target: Sequence[Real], digits: int, order: Sequence[int]
) -> list[Real]:
    """Coefficients of `digits` bits: round one after the other and fit the rest again.

    Rounding all of them at once would cost several times the error of the approximation.
    """
    done: dict[int, Real] = {}
    for j in order:
        free = [k for k in order if k not in done]
        matrix = mp.matrix([[row[k] for k in free] for row in columns])
        right = mp.matrix(
            [
                y - sum(row[k] * v for k, v in done.items())
                for row, y in zip(columns, target, strict=True)
            ]
        )
        solution, _ = mp.qr_solve(matrix, right)
        done[j] = nearest(solution[free.index(j)], digits)
    return [done[k] for k in range(len(order))]


def exp_polynomial(rate: Real, half_width: Real, degree: int, digits: int) -> list[Real]:
    """Coefficients of s in exp(rate r) = 1 + r s(r) on [-half_width, half_width].

    The first is simply rounded, so that the result is right to first order near 0.
    """
    grid = _symmetric_grid(half_width * mp.mpf("1.002"), 8 * degree + 8)
    columns = [[r ** (j + 1) * mp.exp(-rate * r) for j in range(degree + 1)] for r in grid]
    target = [mp.expm1(rate * r) * mp.exp(-rate * r) for r in grid]
    first = nearest(rate, digits)
    target = [y - row[0] * first for row, y in zip(columns, target, strict=True)]
    rest = rounded_fit([row[1:] for row in columns], target, digits, range(degree))
    return [first, *rest]


def tail_coefficients(form: Format) -> tuple[list[Real], list[Real], Real]:
    """N, C and K of 2 R(t) = N / (N + t (K N - C)), on [0, clamp]."""
    clamp = mp.mpf(form.gelu_clamp)
    m = form.tail_degree
    _, n, _ = minimax(
        correction,
        lambda t: t * upper_tail_ratio(t),
        _grid(clamp, 2 * m + 1),
        _grid(clamp, 100 * m),
        m - 1,
        m,
    )
    n = [nearest(v, form.digits) for v in n]
    k = nearest(SQRT_HALF_PI, form.digits)
    grid = _grid(clamp, 20 * m)
    # The relative error of 2R is linear in C once N and K are fixed.
    columns, target = [], []
    for t in grid:
        ratio = upper_tail_ratio(t)
        scale = -t * ratio / mp.polyval(n[::-1], t)
        columns.append([scale * t**j for j in range(m)])
        target.append(1 - ratio * (1 + t * k))
    c = rounded_fit(columns, target, form.digits, range(m - 1, -1, -1))
    return n, c, k


def split(value: Real, high_digits: int, digits: int) -> tuple[Real, Real]:
    """`value` as a high part of `high_digits` bits and a low part of `digits` bits."""
    high = nearest(value, high_digits)
    return high, nearest(value - high, digits)


def constants() -> dict[str, Real]:
    """Every constant of activations.h by its name there.

    Returns
    -------
    dict
        Names to mpmath numbers, each exactly representable in its format.
    """
    table: dict[str, Real] = {}
    for form in FORMATS:
        name, digits = form.name, form.digits

        def put(key: str, value: Real, name: str = name) -> None:
            table[f"{name}_{key}"] = value

        # gelu: exp(-t^2/2) = 2^n exp(-r/2), r = t^2 + n 2 ln 2. n HIGH must be exact.
        high, low = split(2 * LN2, digits - form.n_bits - 1, digits)
        put("GELU_CLAMP", mp.mpf(form.gelu_clamp))
        put("GELU_RATE", nearest(-1 / (2 * LN2), digits))
        put("TWO_LN2_HIGH", high)
        put("TWO_LN2_LOW", low)
        for j, v in enumerate(exp_polynomial(mp.mpf("-0.5"), LN2, form.exp_degree, digits)):
            put(f"GELU_E{j}", v)
        n, c, k = tail_coefficients(form)
        for j, v in enumerate(n[1:], 1):
            put(f"GELU_N{j}", v)
        for j, v in enumerate(c):
            put(f"GELU_C{j}", v)
        put("GELU_K", k)

        # gelu_tanh: exp(-2u) = 2^-z, z = t (A + B t^2). A HIGH has bits to spare, so that
        # A HIGH can be subtracted from A + B t^2 without rounding.
        a = 2 * mp.sqrt(2 / mp.pi) / LN2
        b = a * mp.mpf("0.044715")
        clamp = mp.mpf(form.gelu_tanh_clamp)
        spare = math.ceil(mp.log(1 + b / a * clamp**2, 2))
        put("GELU_TANH_CLAMP", clamp)
        for key, value, bits in (("A", a, digits - spare), ("B", b, digits)):
            high, low = split(value, bits, digits)
            put(f"GELU_TANH_{key}_HIGH", high)
            put(f"GELU_TANH_{key}_LOW", low)
        for j, v in enumerate(exp_polynomial(-LN2, mp.mpf("0.5"), form.exp_degree, digits)):
            put(f"GELU_TANH_E{j}", v)
    return table


def c_literal(name: str, value: Real) -> str:
    """`value` as a C hex float constant, exact."""
    if name.startswith("FLOAT32"):
        return float(np.float32(value)).hex() + "f"
    return float(value).hex()


def main() -> None:
    """Print the constants as the lines of the header."""
    for name, value in constants().items():
        print(f"#define {name} {c_literal(name, value)}")


if __name__ == "__main__":
    main()
