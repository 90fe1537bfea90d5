"""Derives every constant in activations.h: ``python -m fastact.kernels.coefficients`` prints them.

Needs mpmath (extra ``test``). Everything is computed to 60 digits from the definitions, so a
reader can check the header without trusting it; a test holds the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp

mp.dps = 60

Real = Any  # an mpmath number; mpmath carries no types
Function = Callable[[Real], Real]

GELU_GRAD_CLAMP = mp.mpf("38.75")
GELU_GRAD_DEGREE = 10
TABLE_SIZE = 8  # the floats that one permutation instruction of AVX2 looks up
TABLE_DEGREE = 7
TABLE_LEAST = mp.mpf(2) ** -60  # smaller t are taken for it
TABLE_FIRST = mp.mpf("2.375")  # SHIFT: w where t is 0; its exponent gives the index 0

LN2 = mp.log(2)
SQRT_HALF_PI = mp.sqrt(mp.pi / 2)


class Format(NamedTuple):
    """A floating-point format and the degrees that suffice for it."""

    name: str
    digits: int  # bits of the significand
    exp_degree: int  # of the polynomials in exp(-r/2) = 1 + r s(r) and 2^-r = 1 + r s(r)
    tail_degree: int  # of the denominator N in the upper tail
    gelu_clamp: str  # beyond it t Q(t) rounds to zero
    gelu_tanh_clamp: str  # these three: beyond it t e rounds to zero
    gelu_quick_clamp: str
    silu_clamp: str
    n_bits: int  # bits of the largest n in the reduction by powers of two


FORMATS = (
    Format("FLOAT32", 24, 5, 4, "14.375", "10.875", "64", "110", 8),
    Format("FLOAT64", 53, 10, 10, "38.625", "21.75", "443", "754", 11),
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


def _polynomial(coefficients: Sequence[Real], x: Real) -> Real:
    """Evaluate a polynomial, lowest coefficient first."""
    value = mp.mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


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
                matrix[i, count - 1] = -sign / w * _polynomial(q, x)
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
            error = (_polynomial(p, x) / _polynomial(q, x) - y) * w
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
        scale = -t * ratio / _polynomial(n, t)
        columns.append([scale * t**j for j in range(m)])
        target.append(1 - ratio * (1 + t * k))
    c = rounded_fit(columns, target, form.digits, range(m - 1, -1, -1))
    return n, c, k


def table_edges(clamp: Real) -> list[Real]:
    """Where the intervals of the float32 table meet.

    The index is cut out of the bits of w = SCALE t + SHIFT, after an OFFSET is subtracted from
    them: it changes where w is (1.1875 or 1.6875) 2^k, so that every interval of w is some 1.41
    times as wide as the one before.
    """
    edges = [
        TABLE_FIRST * (1 + mp.mpf(k % 2) * 8 / 19) * 2 ** (k // 2) for k in range(TABLE_SIZE + 1)
    ]
    return [(w - edges[0]) / table_scale(clamp) for w in edges]


def table_scale(clamp: Real) -> Real:
    """SCALE: from 0 to the clamp, w just stays within the eight intervals."""
    return nearest(15 * TABLE_FIRST / clamp * (1 - mp.mpf(2) ** -16), 24)


def tail_table(clamp: Real) -> list[tuple[Real, list[Real]]]:
    """Centre and coefficients of 2 R(t) in t - centre, for each interval of the table.

    A centre is a short number near the middle at which 2 R is all but a float32, since the
    rounding of the constant coefficient is the one that the others cannot make up for.
    """
    edges = table_edges(clamp)
    table = []
    for a, b in pairwise(edges):
        middle = (a + b) / 2
        step = mp.mpf(2) ** (mp.floor(mp.log(middle, 2)) - 10)
        candidates = [(mp.nint(middle / step) + k) * step for k in range(-12, 13)]
        # 2 R(0) = 1 is exact, and makes gelu(x) = x/2 exact for tiny x. Just above 0, so that the
        # rest is positive for the least t that it is computed for, and gelu(-0.0) is -0.0.
        centre = 2 * TABLE_LEAST if a == 0 else min(candidates, key=_rounding_error_of_ratio)
        margin = mp.mpf("1e-6")  # w is rounded
        low, high = a - centre - margin, b - centre + margin
        grid = [(low + high) / 2 + u for u in _symmetric_grid((high - low) / 2, 10 * TABLE_DEGREE)]
        scale = [1 / upper_tail_ratio(centre + u) for u in grid]
        columns = [
            [w * u**j for j in range(1, TABLE_DEGREE + 1)] for u, w in zip(grid, scale, strict=True)
        ]
        constant = nearest(upper_tail_ratio(centre), 24)
        target = [1 - w * constant for w in scale]
        table.append((centre, [constant, *rounded_fit(columns, target, 24, range(TABLE_DEGREE))]))
    return table


def _rounding_error_of_ratio(t: Real) -> Real:
    ratio = upper_tail_ratio(t)
    return abs(nearest(ratio, 24) / ratio - 1)


def gelu_minimum() -> Real:
    """Where the derivative of gelu is zero, as a positive t: R(t) = t / sqrt(2 pi)."""
    return mp.findroot(lambda t: upper_tail_ratio(t) / 2 - t / mp.sqrt(2 * mp.pi), 0.75)


def gelu_grad_coefficients(clamp: Real, degree: int) -> tuple[list[Real], list[Real]]:
    """N and D of (R(t) - t / sqrt(2 pi)) / (zero - t) = N / D on [0, clamp]."""
    zero = gelu_minimum()

    def quotient(t: Real) -> Real:
        if abs(t - zero) < mp.mpf(10) ** -20:
            t = zero + mp.mpf(10) ** -20
        return (upper_tail_ratio(t) / 2 - t / mp.sqrt(2 * mp.pi)) / (zero - t)

    count = 2 * degree + 2
    n, d, _ = minimax(
        quotient,
        lambda t: 1 / quotient(t),
        _grid(clamp, count),
        _grid(clamp, 50 * count),
        degree,
        degree,
    )
    return n, d


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

        # The table of 2R, for float32 where an instruction looks values up.
        if name == "FLOAT32":
            clamp = mp.mpf(form.gelu_clamp)
            put("TABLE_SCALE", table_scale(clamp))
            put("TABLE_SHIFT", TABLE_FIRST)
            put("TABLE_LEAST", TABLE_LEAST)
            # The fraction of TABLE_FIRST, as its bits.
            put("TABLE_OFFSET", (TABLE_FIRST / 2 - 1) * 2**23)
            for i, (centre, coefficients) in enumerate(tail_table(clamp)):
                put(f"TABLE_CENTRE[{i}]", centre)
                for j, v in enumerate(coefficients):
                    # Of R 2^-40 instead of 2 R: the scale of 2^n is taken back here.
                    put(f"TABLE_P[{j}][{i}]", v * mp.mpf(2) ** -41)

        # The logistic function: exp(-v) = 2^-z, z = t w.
        for j, v in enumerate(exp_polynomial(-LN2, mp.mpf("0.5"), form.exp_degree, digits)):
            put(f"LOGISTIC_E{j}", v)
        for key, rate, clamp in (
            ("SILU", mp.mpf(1), form.silu_clamp),
            ("GELU_QUICK", mp.mpf("1.702"), form.gelu_quick_clamp),
        ):
            high, low = split(rate / LN2, digits, digits)
            put(f"{key}_CLAMP", mp.mpf(clamp))
            put(f"{key}_HIGH", high)
            put(f"{key}_LOW", low)

        # gelu_tanh: z = t (A + B t^2). A HIGH has bits to spare, so that it can be subtracted from
        # A + B t^2 without rounding.
        a = 2 * mp.sqrt(2 / mp.pi) / LN2
        b = a * mp.mpf("0.044715")
        clamp = mp.mpf(form.gelu_tanh_clamp)
        spare = math.ceil(mp.log(1 + b / a * clamp**2, 2))
        put("GELU_TANH_CLAMP", clamp)
        for key, value, bits in (("A", a, digits - spare), ("B", b, digits)):
            high, low = split(value, bits, digits)
            put(f"GELU_TANH_{key}_HIGH", high)
            put(f"GELU_TANH_{key}_LOW", low)

        if name == "FLOAT64":
            # gelu_grad: R(t) - t / sqrt(2 pi) = (ZERO - t) N / D.
            high, low = split(gelu_minimum(), digits, digits)
            put("GELU_GRAD_ZERO_HIGH", high)
            put("GELU_GRAD_ZERO_LOW", low)
            n, d = gelu_grad_coefficients(GELU_GRAD_CLAMP, GELU_GRAD_DEGREE)
            put("GELU_GRAD_CLAMP", GELU_GRAD_CLAMP)
            for j, v in enumerate(n):
                put(f"GELU_GRAD_N{j}", nearest(v, digits))
            for j, v in enumerate(d[1:], 1):
                put(f"GELU_GRAD_D{j}", nearest(v, digits))
            # gelu_tanh_grad: v' = A + 3 B t^2, v = 2 u.
            a = 2 * mp.sqrt(2 / mp.pi)
            put("GELU_TANH_GRAD_A", nearest(a, digits))
            put("GELU_TANH_GRAD_3B", nearest(3 * a * mp.mpf("0.044715"), digits))
    return table


def c_literal(name: str, value: Real) -> str:
    """`value` as a C constant, exact: a hex float, or bits."""
    if name.endswith("_OFFSET"):
        return hex(int(value))
    if name.startswith("FLOAT32"):
        return float(np.float32(value)).hex() + "f"
    return float(value).hex()


def main() -> None:
    """Print the constants as the lines of the header."""
    for name, value in constants().items():
        print(f"#define {name} {c_literal(name, value)}")


if __name__ == "__main__":
    main()
