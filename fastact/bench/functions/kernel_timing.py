"""Times kernels in turns on arrays of one size, after a look at their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import accuracy, get_num_threads, max_ulp, set_num_threads, variants
from ..agreement import DisagreementError
from ..latency import Candidate, interleave

Floats = npt.NDArray[np.floating[Any]]

# A run goes through so many elements at least, since no clock times 64 of them; all runs at one
# size together through no more than those, but for the fewest that have quartiles.
_ELEMENTS_OF_A_RUN, _ELEMENTS_OF_A_SIZE = 1 << 14, 1 << 25
_FEWEST_RUNS, _MOST_RUNS = 9, 101

_VALUES = 1 << 16  # in a larger array they come again


def time_kernels(
    names: Sequence[str], variant: str, x: Floats, y: Floats, limit_s: float
) -> dict[str, Floats]:
    """Time activations in turns, each time with a new input that has just been written.

    Parameters
    ----------
    names : sequence of str
        Names in `fastact.activations`.
    variant : str
        One of `fastact.variants`.
    x, y : ndarray of float32
        The memory to use for input and output. Their size is a power of two.
    limit_s : float
        Seconds after which to make do with the runs so far. One run is made in any case.

    Returns
    -------
    dict
        For each activation the nanoseconds for one element, run by run.

    Raises
    ------
    DisagreementError
        If a result is further from the exact one than the kernel promises.
    """
    ufuncs = {name: getattr(variants[variant], name) for name in names}
    _lay_out(0, x)
    for name, ufunc in ufuncs.items():
        _check(name, variant, ufunc, x, y)
    n = len(x)
    calls = max(1, _ELEMENTS_OF_A_RUN // n)

    def candidate(ufunc: np.ufunc) -> Candidate:
        def run() -> None:
            for _ in repeat(None, calls):
                ufunc(x, y)

        return Candidate(lambda number: _lay_out(number, x), run)

    samples = interleave(
        {name: candidate(ufunc) for name, ufunc in ufuncs.items()},
        runs=min(max(_FEWEST_RUNS, _ELEMENTS_OF_A_SIZE // n), _MOST_RUNS),
        warmup=1,
        limit_s=limit_s,
    )
    return {name: np.divide(durations, n * calls) for name, durations in samples.items()}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let one thread compute, and after that as many as before."""
    threads = get_num_threads()
    set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(threads)


def _check(name: str, variant: str, ufunc: np.ufunc, x: Floats, y: Floats) -> None:
    """Hold a result against the exact one: all of a small array, the end of a large one."""
    end = slice(-_VALUES, None)
    y[end] = np.nan
    ufunc(x, y)
    error = accuracy.ulp_error(y[end], accuracy.reference(name, x[end])).max()
    promised = max_ulp(name, "float32", variant=variant)
    if not error <= promised:
        raise DisagreementError(
            f"{name} of {len(x)} elements, variant {variant}, is wrong by {error:.3g} ULP, "
            f"but promises {promised:g}: not timed"
        )


def _lay_out(number: int, x: Floats) -> None:
    """Write the input of a round: other values of the pool, or others first, in each."""
    first = number * 61 % _VALUES  # a prime, so that no two rounds of many are alike
    values = _pool()[first : first + min(len(x), _VALUES)]
    x.reshape(-1, len(values))[:] = values


@cache
def _pool() -> Floats:
    return np.random.default_rng(7).normal(scale=2.0, size=2 * _VALUES).astype(np.float32)
