"""What a peer is: a library, and the statement that applies one of its functions to an array."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class UnsupportedError(Exception):
    """The library has no such function, or not for this dtype or layout; the message says which."""


@dataclass(frozen=True)
class Call:
    """One statement to time, and where its result is.

    Parameters
    ----------
    statement : str
        A Python expression, exactly what is timed: no wrapper stands between.
    names : dict
        What the expression refers to.
    output : ndarray, optional
        The array it writes to; without one the value of the expression is the result, which the
        library allocates anew in every call.
    context : callable, optional
        Returns the context manager in which the statement runs, entered outside the timing.

    Examples
    --------
    >>> x = np.float32([-1.0, 2.0])
    >>> Call("maximum(x, 0)", {"maximum": np.maximum, "x": x}).result()
    array([0., 2.], dtype=float32)
    """

    statement: str
    names: dict[str, Any]
    output: Array | None = None
    context: Callable[[], AbstractContextManager[object]] = nullcontext

    @cached_property
    def _timer(self) -> timeit.Timer:
        return timeit.Timer(self.statement, globals=self.names)

    def time(self, repeats: int) -> float:
        """Run the statement several times.

        Parameters
        ----------
        repeats : int
            How often.

        Returns
        -------
        float
            Nanoseconds of a run.
        """
        with self.context():
            return self._timer.timeit(repeats) / repeats * 1e9

    def result(self) -> Array:
        """Run the statement once.

        Returns
        -------
        ndarray
            What it computes.
        """
        with self.context():
            value = eval(self.statement, dict(self.names))
        return np.asarray(value) if self.output is None else self.output


@dataclass(frozen=True)
class Peer:
    """A library, or one way of using it.

    Parameters
    ----------
    name : str
        How the tables call it.
    package : str
        The distribution that brings it.
    bind : callable
        Called with a function's name, input and output; returns the `Call`. Raises
        `UnsupportedError` where there is none, and ImportError if the package is missing.
    counts : bool, optional
        False for what is shown for comparison but computes less than the function does, so that
        no ratio is formed with it unless a goal names it.
    capped : bool, optional
        False if no setting keeps it from using all instructions of the CPU.
    remark : str, optional
        What a reader must know to judge its figures.
    """

    name: str
    package: str
    bind: Callable[[str, Array, Array], Call] = field(repr=False)
    counts: bool = True
    capped: bool = True
    remark: str = ""

    def try_bind(self, function: str, x: Array, y: Array) -> Call | str:
        """Bind, or say in words why that is not possible.

        Parameters
        ----------
        function : str
            A name in `fastact.activations`.
        x, y : ndarray
            Input and output, of one shape and dtype.

        Returns
        -------
        Call or str
            The call, run once to see that it works, or the reason why there is none.
        """
        try:
            call = self.bind(function, x, y)
            call.result()
        except UnsupportedError as error:
            return str(error)
        except ImportError:
            return "not installed"
        except Exception as error:  # whatever a library does wrong belongs into the table
            text = " ".join(str(error).split())
            return f"failed: {type(error).__name__}: {text[:100]}"
        return call
