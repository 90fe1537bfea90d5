"""The int8 form of every activation: a lookup table of its results for all 256 codes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

import fastact

from .checks import integer

# The name of the form, which is the only one on 8-bit codes and not one on floats.
TABLE = "table"
DTYPES = ("int8", "uint8")


class Quantization(NamedTuple):
    """How 8-bit codes stand for numbers: ``scale * (code - zero_point)``."""

    scale: float
    zero_point: int

    @classmethod
    def check(cls, what: str, value: object, dtype: str) -> Quantization:
        """Check what a user gave as a scale and a zero point.

        Parameters
        ----------
        what : str
            Its name, for the message.
        value : object
            What was given: a pair.
        dtype : {"int8", "uint8"}
            The codes.

        Returns
        -------
        Quantization
            The same, with the scale rounded to float32, which is what a file holds.

        Raises
        ------
        TypeError
            If it is no pair of a number and an integer.
        ValueError
            If the scale is not a positive float32, or the zero point is not a code.

        Examples
        --------
        >>> Quantization.check("y_quantization", (0.5, 300), "uint8")
        Traceback (most recent call last):
        ValueError: the zero point of y_quantization must be from 0 to 255, got 300
        """
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise TypeError(f"{what} must be a pair (scale, zero_point), not {value!r}")
        try:
            with np.errstate(over="ignore"):
                scale = float(np.float32(value[0]))
        except (TypeError, ValueError):
            raise TypeError(f"the scale of {what} must be a number, not {value[0]!r}") from None
        if not 0 < scale < math.inf:
            raise ValueError(f"the scale of {what} must be a positive float32, got {value[0]!r}")
        zero_point = integer(f"the zero point of {what}", value[1])
        limits = np.iinfo(dtype)
        if not limits.min <= zero_point <= limits.max:
            raise ValueError(
                f"the zero point of {what} must be from {limits.min} to {limits.max}, "
                f"got {zero_point}"
            )
        return cls(scale, zero_point)

    @classmethod
    def covering(cls, low: float, high: float, dtype: str) -> Quantization:
        """Spread the codes over a range of numbers, zero among them and exact.

        Parameters
        ----------
        low, high : float
            The range.
        dtype : {"int8", "uint8"}
            The codes.

        Returns
        -------
        Quantization
            The finest that covers it.

        Examples
        --------
        >>> Quantization.covering(-0.5, 127, "uint8")
        Quantization(scale=0.5, zero_point=1)
        """
        low, high = min(low, 0.0), max(high, 0.0)
        scale = float(np.float32((high - low) / 255)) or 1.0
        return cls(scale, int(np.iinfo(dtype).min + np.rint(-low / scale)))


def results(
    activation: str, dtype: str, x: Quantization, y: Quantization | None = None
) -> tuple[npt.NDArray[np.integer], Quantization]:
    """Compute the results of an activation for all 256 codes.

    Parameters
    ----------
    activation : str
        One of `fastact.activations`.
    dtype : {"int8", "uint8"}
        The codes of input and output.
    x : Quantization
        That of the input.
    y : Quantization, optional
        That of the output; the default is the finest that covers all results.

    Returns
    -------
    table : ndarray of 256 codes
        The result of code c stands at index c; of a negative one at 256 + c, where an index
        that counts from the end finds it. Each is the code nearest to the float64 result.
    y : Quantization
        That of the output.

    Examples
    --------
    >>> table, y = results("relu", "int8", Quantization(0.5, 0), Quantization(0.25, -128))
    >>> table[[0, 1, 100, -1]].tolist()
    [-128, -126, 72, -128]
    """
    limits = np.iinfo(dtype)
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    exact = getattr(fastact, activation)(x.scale * (codes - x.zero_point))
    if y is None:
        y = Quantization.covering(float(exact.min()), float(exact.max()), dtype)
    rounded = np.rint(exact / y.scale) + y.zero_point
    return np.clip(rounded, limits.min, limits.max).astype(dtype), y


def nodes(x: str, y: str, dtype: str, opset: int) -> str:
    """Write the nodes that look up the codes `x` in the tensor ``{y}_table``.

    Parameters
    ----------
    x, y : str
        Names of the input and output value.
    dtype : {"int8", "uint8"}
        The codes.
    opset : int
        The opset of the file.

    Returns
    -------
    str
        ONNX text.

    Examples
    --------
    >>> print(nodes("x", "y", "int8", 17))
    y_index = Cast <to = 6> (x)
    y = Gather (y_table, y_index)
    """
    cast = f"{y}_index = Cast <to = {onnx.TensorProto.INT32}> ({x})"
    if dtype == "uint8" or opset >= 11:
        return f"{cast}\n{y} = Gather ({y}_table, {y}_index)"
    # Before opset 11 an index cannot count from the end: the table starts at code -128 then.
    shifted = f"{y}_shifted = Add ({y}_index, {y}_offset)"
    return f"{cast}\n{shifted}\n{y} = Gather ({y}_table, {y}_shifted)"


def tensors(
    y: str, table: npt.NDArray[np.integer], dtype: str, opset: int
) -> dict[str, npt.NDArray[np.integer]]:
    """Give the tensors that the nodes of `nodes` refer to.

    Parameters
    ----------
    y : str
        Name of the output value.
    table : ndarray
        From `results`.
    dtype : {"int8", "uint8"}
        The codes.
    opset : int
        The opset of the file.

    Returns
    -------
    dict of str to ndarray
        The tensors by name.
    """
    if dtype == "uint8" or opset >= 11:
        return {f"{y}_table": table}
    return {f"{y}_table": np.roll(table, 128), f"{y}_offset": np.array(128, np.int32)}
