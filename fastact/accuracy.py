"""References and error in ULP: what the accuracy promises of the registry are held against.

>>> import fastact
>>> import numpy as np
>>> from fastact import accuracy
>>> x = np.float32([-5.5, -1.0, 2.5])
>>> error = accuracy.ulp_error(fastact.gelu(x), accuracy.reference("gelu", x))
>>> bool(error.max() <= fastact.max_ulp("gelu", x.dtype))
True

The reference for float16, bfloat16 and float32 is the float64 function, whose own error is some
1e-8 of a float32 ULP. The reference for float64 is mpmath at 60 digits, kept as the sum of two
float64 numbers. bfloat16 needs ml_dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _core
from ._extras import require

Floats = NDArray[np.floating[Any]]

# Sign bit and exponent of +inf, as integers of the dtype's size.
_BITS = {
    "float16": (np.uint16, 0x8000, 0x7C00),
    "bfloat16": (np.uint16, 0x8000, 0x7F80),
    "float32": (np.uint32, 0x8000_0000, 0x7F80_0000),
    "float64": (np.uint64, 0x8000_0000_0000_0000, 0x7FF0_0000_0000_0000),
}


# A derivative that crosses zero, and how far around it the error is measured in the unit of a
# floor instead of the result's own: the zero is no float64, so no formula of this kind has a
# relative error there.
_ZEROS = {"gelu_tanh_grad": -0.7524614220710163}
_ZERO_REACH = 0.1
_ZERO_FLOOR = 2.0**-5


class Reference(NamedTuple):
    """Exact values as unevaluated sums of two float64 arrays, and the size to measure errors by."""

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    size: NDArray[np.float64]


class Worst(NamedTuple):
    """The largest error found, and the input that attains it."""

    ulp: float
    at: float


def _dtype(dtype: DTypeLike) -> np.dtype[Any]:
    if dtype == "bfloat16":  # NumPy knows this name only when ml_dtypes has been imported
        dtype = require("ml_dtypes", "test").bfloat16
    return np.dtype(dtype)


def _finfo(dtype: np.dtype[Any]) -> Any:
    if dtype.name == "bfloat16":
        return require("ml_dtypes", "test").finfo(dtype)
    return np.finfo(dtype)


@cache
def _definitions() -> dict[str, Callable[[Any], Any]]:
    """Return the definition of each function in mpmath arithmetic, at 60 digits."""
    mp = require("mpmath", "test").mp
    with mp.workdps(60):
        return _definitions_in(mp)


def _definitions_in(mp: Any) -> dict[str, Callable[[Any], Any]]:
    a, b = 2 * mp.sqrt(2 / mp.pi), mp.mpf("0.044715")

    def sigmoid(v: Any) -> Any:
        return 1 / (1 + mp.exp(-v))

    def gelu_tanh_grad(x: Any) -> Any:
        v, slope = a * (x + b * x**3), a * (1 + 3 * b * x**2)
        return sigmoid(v) * (1 + x * slope * sigmoid(-v))

    return {
        "relu": lambda x: max(x, mp.mpf(0)),
        "relu6": lambda x: min(max(x, mp.mpf(0)), mp.mpf(6)),
        "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
        "gelu_tanh": lambda x: x * sigmoid(a * (x + b * x**3)),
        "gelu_quick": lambda x: x * sigmoid(mp.mpf("1.702") * x),
        "silu": lambda x: x * sigmoid(x),
        "hard_swish": lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6,
        "relu_grad": lambda x: mp.mpf(1 if x > 0 else 0),
        "gelu_grad": lambda x: mp.ncdf(x) + x * mp.npdf(x),
        "gelu_tanh_grad": gelu_tanh_grad,
    }


def exact(activation: str, x: float) -> Any:
    """Compute a function to 60 digits.

    Parameters
    ----------
    activation : str
        A name in `fastact.activations` or `fastact.derivatives`.
    x : float
        A finite number.

    Returns
    -------
    mpmath.mpf
        The value, straight from the definition.

    Raises
    ------
    ImportError
        If mpmath is not installed (extra ``test``).

    Examples
    --------
    >>> print(float(exact("gelu", -10.0)))
    -7.619853024160526e-23
    """
    definition = _definitions()[activation]
    mpmath = require("mpmath", "test")
    # mpmath takes long for the exponential of 1e300, where the answer has been 0, 1, 6 or x for
    # long, so what is larger than this is not looked at.
    limit = 10_000
    with mpmath.mp.workdps(60):
        number = mpmath.mpf(float(x))
        nearer = min(max(number, -limit), limit)
        value = definition(nearer)
        return number if value == nearer else value


def reference(activation: str, x: Floats) -> Reference:
    """Compute the exact values of a function, to far more digits than `x` holds.

    Parameters
    ----------
    activation : str
        A name in `fastact.activations` or `fastact.derivatives`.
    x : ndarray
        float16, bfloat16, float32 or float64, finite. float64 takes 20 to 300 us an element.

    Returns
    -------
    Reference
        The exact values.

    Raises
    ------
    ImportError
        If `x` is float64 and mpmath is not installed (extra ``test``).
    """
    if x.dtype == np.float64:
        high = np.empty(x.shape)
        low = np.empty(x.shape)
        for i, number in np.ndenumerate(x):
            value = exact(activation, float(number))
            high[i] = float(value)
            low[i] = float(value - high[i])
        size = np.abs(high)
        if activation in _ZEROS:
            near = np.abs(x - _ZEROS[activation]) < _ZERO_REACH
            size = np.where(near, np.maximum(size, _ZERO_FLOOR), size)
        return Reference(high, low, size)
    function = getattr(_core.variants[_core.isa], activation)
    high = function(x.astype(np.float64))
    return Reference(high, np.zeros_like(high), np.abs(high))


def ulp_error(y: Floats, exact: Reference) -> NDArray[np.float64]:
    """Return the error of `y` in units in the last place of the exact value.

    Around the zero of a derivative it is that of 2^-5 in float64, as `Reference.size` says.

    Parameters
    ----------
    y : ndarray
        float16, bfloat16, float32 or float64 results.
    exact : Reference
        What they should be.

    Returns
    -------
    ndarray of float64
        The errors, not negative. A result that is not finite where the exact value is has the
        error inf.
    """
    info = _finfo(y.dtype)
    # The unit does not shrink below that of the subnormals, nor for zero.
    _, exponent = np.frexp(np.maximum(exact.size, float(info.tiny)))
    difference = (y.astype(np.float64) - exact.high) - exact.low
    # Two steps, since the unit of float64's subnormals has no finite inverse.
    with np.errstate(over="ignore"):  # of a result that is wrong beyond measure
        scaled = np.ldexp(np.ldexp(np.abs(difference), -exponent), int(info.nmant) + 1)
    result: NDArray[np.float64] = np.where(np.isfinite(y), scaled, np.inf)
    return result


def bit_patterns(dtype: DTypeLike, stride: int = 1, chunk: int = 1 << 20) -> Iterator[Floats]:
    """Sweep the finite values of a float dtype by their bit patterns.

    Every exponent is met equally often, so the sweep sees the tails and the subnormals, which a
    sweep over a range of values would not.

    Parameters
    ----------
    dtype : dtype_like
        float16, bfloat16, float32 or float64.
    stride : int, optional
        The distance of the patterns, a prime best; 1 gives every value.
    chunk : int, optional
        The largest number of values in an array.

    Yields
    ------
    ndarray
        Values in the order of their magnitude, positive ones first.

    Raises
    ------
    ImportError
        If `dtype` is bfloat16 and ml_dtypes is not installed (extra ``test``).

    Examples
    --------
    >>> sum(x.size for x in bit_patterns("float16"))
    63488
    """
    dtype = _dtype(dtype)
    unsigned, sign, infinity = _BITS[dtype.name]
    for first in (0, sign):
        for start in range(first, first + infinity, chunk * stride):
            stop = min(start + chunk * stride, first + infinity)
            count = -(-(stop - start) // stride)
            bits = start + stride * np.arange(count, dtype=np.uint64)
            yield bits.astype(unsigned).view(dtype)


def worst_error(function: Callable[[Floats], Floats], activation: str, x: Floats) -> Worst:
    """Return the largest error of `function` at `x` against the exact values.

    Parameters
    ----------
    function : callable
        What to measure, e.g. ``fastact.gelu`` or a peer's.
    activation : str
        A name in `fastact.activations` or `fastact.derivatives`.
    x : ndarray
        Finite inputs, at least one.

    Returns
    -------
    Worst
        The error in ULP, and where it is.
    """
    error = ulp_error(function(x), reference(activation, x))
    i = int(np.argmax(error))
    return Worst(float(error[i]), float(x[i]))
