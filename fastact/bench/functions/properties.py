"""What each activation is like: smooth or not, monotonic or not, what passes of negative inputs.

Everything is computed from the float64 ufuncs, and where float32 is named, from those for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache

from ... import activations as registered
from ... import derivatives, isa, variants
from . import curve
from .curve import Asymptote, Curve, Extremum, Kink

#: Where to look at what passes of negative inputs: near zero, in the middle, far out.
NEGATIVE_INPUTS = (-0.1, -1.0, -4.0)


@dataclass(frozen=True)
class Point:
    """What an activation does with one input.

    Parameters
    ----------
    at, value, slope : float
        Input, result and first derivative.
    """

    at: float
    value: float
    slope: float


@dataclass(frozen=True)
class Properties:
    """One activation.

    Parameters
    ----------
    activation : str
        Its name.
    kinks : tuple of Kink
        Where the first derivative jumps, from left to right; none if the function is smooth.
    negative : tuple of Point
        What passes at each of `NEGATIVE_INPUTS`.
    zero_share : float
        Share of standard normal inputs with a result of exactly 0, from 0 to 1.
    flat_share : float
        Share of standard normal inputs around which the result is constant, so that no gradient
        passes, from 0 to 1.
    minimum : Extremum or None
        The smallest value; None if a larger input never has a smaller result.
    below, above : Asymptote
        What it approaches towards -inf and +inf.
    """

    activation: str
    kinks: tuple[Kink, ...]
    negative: tuple[Point, ...]
    zero_share: float
    flat_share: float
    minimum: Extremum | None
    below: Asymptote
    above: Asymptote

    @property
    def smooth(self) -> bool:
        """Whether the first derivative has no jump."""
        return not self.kinks

    @property
    def largest_jump(self) -> float:
        """The largest jump of the first derivative, without its sign; 0 if smooth."""
        return max((abs(kink.jump) for kink in self.kinks), default=0.0)

    @property
    def monotonic(self) -> bool:
        """Whether a larger input never has a smaller result."""
        return self.minimum is None

    def to_dict(self) -> dict[str, object]:
        """Return everything as data, ready for JSON.

        Returns
        -------
        dict
            The fields by name, and `smooth`, `largest_jump` and `monotonic`.
        """
        return {
            **asdict(self),
            "smooth": self.smooth,
            "largest_jump": self.largest_jump,
            "monotonic": self.monotonic,
        }

    def cells(self) -> dict[str, str]:
        """Write the properties for people, as one row of a table.

        Returns
        -------
        dict
            The texts by their headings, which are the same for every activation.

        Examples
        --------
        >>> cells = properties_of("gelu").cells()
        >>> cells["minimum"], cells["x = -1"]
        ('min -0.1700 at -0.7518', '-0.1587, slope -0.0833')
        """
        low = self.minimum
        kinks = (f"kink at {kink.at:g} (slope jumps by {kink.jump:.3g})" for kink in self.kinks)
        return {
            "activation": self.activation,
            "smoothness": ", ".join(kinks) or "smooth",
            **{
                f"x = {p.at:g}": f"{_number(p.value)}, slope {_number(p.slope)}"
                for p in self.negative
            },
            "result 0": _share(self.zero_share),
            "slope 0": _share(self.flat_share),
            "minimum": f"min {low.value:.4f} at {low.at:.4f}" if low else "monotonic",
            "x to -inf": _line(self.below),
            "x to +inf": _line(self.above),
        }


def properties_of(activation: str) -> Properties:
    """Compute the properties of an activation.

    Parameters
    ----------
    activation : str
        A name in `fastact.activations`.

    Returns
    -------
    Properties
        The properties.

    Raises
    ------
    ValueError
        If there is no such activation.

    Examples
    --------
    >>> properties_of("relu").kinks
    (Kink(at=0.0, jump=1.0),)
    """
    f = _curve(activation)
    return Properties(
        activation=activation,
        kinks=f.kinks,
        negative=tuple(Point(x, f(x), f.slope(x)) for x in NEGATIVE_INPUTS),
        zero_share=math.fsum(normal_share(a, b) for a, b, value in f.flats if value == 0),
        flat_share=math.fsum(normal_share(a, b) for a, b, _ in f.flats),
        minimum=f.minimum,
        below=f.asymptote(-1),
        above=f.asymptote(+1),
    )


def table(activations: Iterable[str] = registered) -> tuple[Properties, ...]:
    """Compute the properties of several activations.

    Parameters
    ----------
    activations : iterable of str, optional
        Names in `fastact.activations`; all of them if not given.

    Returns
    -------
    tuple of Properties
        In the same order.

    Raises
    ------
    ValueError
        If there is no activation of one of the names.
    """
    return tuple(properties_of(activation) for activation in activations)


def distance(one: str, other: str) -> Extremum:
    """Find the largest absolute difference of two activations.

    Parameters
    ----------
    one, other : str
        Names in `fastact.activations`.

    Returns
    -------
    Extremum
        One input where it is taken, and the difference; both infinite if it keeps growing.

    Raises
    ------
    ValueError
        If there is no activation of one of the names.

    Examples
    --------
    >>> largest = distance("gelu", "gelu_tanh")
    >>> f"{largest.value:.4e} at {abs(largest.at):.3f}"
    '4.7324e-04 at 2.699'
    """
    return curve.distance(_curve(one), _curve(other))


def normal_share(start: float, stop: float) -> float:
    """Return the share of a standard normal distribution in an interval.

    Parameters
    ----------
    start, stop : float
        Its ends, which may be infinite.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> normal_share(-math.inf, 0.0)
    0.5
    """
    if start > 0:  # the lower tail has more digits
        start, stop = -stop, -start
    return (math.erfc(-stop / math.sqrt(2)) - math.erfc(-start / math.sqrt(2))) / 2


@cache
def _curve(activation: str) -> Curve:
    if activation not in registered:
        raise ValueError(f"unknown activation {activation!r}; known: {', '.join(registered)}")
    ufuncs, derivative = variants[isa], f"{activation}_grad"
    return Curve(
        getattr(ufuncs, activation),
        getattr(ufuncs, derivative) if derivative in derivatives else None,
    )


def _number(value: float) -> str:
    return f"{value:.4f}" if value == 0 or abs(value) >= 5e-4 else f"{value:.1e}"


def _share(share: float) -> str:
    """Write a share in per cent; what is below a hundredth of one is not a number to remember."""
    if share == 0:
        return "never"
    return f"{share:.2%}" if share >= 1e-4 else "< 0.01%"


def _line(line: Asymptote) -> str:
    terms = [
        {0.0: "", 1.0: "x"}.get(line.slope, f"{line.slope:g} x"),
        f"{line.offset:g}" if line.offset else "",
    ]
    text = " + ".join(term for term in terms if term) or "0"
    return f"{text}, exactly from {line.float32_from:.4g} on in float32"
