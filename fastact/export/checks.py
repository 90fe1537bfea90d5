"""Checks of arguments that more than one function of the package takes."""

from __future__ import annotations

import operator
from collections.abc import Iterable


def one_of(what: str, value: object, accepted: Iterable[str]) -> str:
    """Return `value` if it is one of the accepted names.

    Parameters
    ----------
    what : str
        What the value is, for the message: ``"activation"``.
    value : object
        The value a user gave.
    accepted : iterable of str
        The names that are valid.

    Returns
    -------
    str
        `value`.

    Raises
    ------
    TypeError
        If `value` is not a string.
    ValueError
        If `value` is another string; the message lists the accepted ones.

    Examples
    --------
    >>> one_of("colour", "blue", ["red", "green"])
    Traceback (most recent call last):
    ValueError: unknown colour 'blue'; accepted: 'red', 'green'
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    names = list(accepted)
    if value not in names:
        raise ValueError(f"unknown {what} {value!r}; accepted: {', '.join(map(repr, names))}")
    return value


def integer(what: str, value: object) -> int:
    """Return `value` as an int if it is an integer of any kind, NumPy's included.

    Parameters
    ----------
    what : str
        What the value is, for the message: ``"opset"``.
    value : object
        The value a user gave.

    Returns
    -------
    int
        `value`.

    Raises
    ------
    TypeError
        If `value` is not an integer. A bool is not one: ``opset=True`` is a slip.

    Examples
    --------
    >>> integer("opset", 17.0)
    Traceback (most recent call last):
    TypeError: opset must be an int, not float
    """
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        return operator.index(value)
    raise TypeError(f"{what} must be an int, not {type(value).__name__}")
