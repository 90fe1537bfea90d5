"""The latency protocol: candidates take turns, warm-up is apart, the spread is kept."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np

#: Percentiles from fewer runs than this say little, above all p99.
ENOUGH_RUNS = 200

Name = TypeVar("Name")

_NS_PER_MS = 1e6
_REPORT_EVERY_NS = 1e8


@dataclass(frozen=True)
class Candidate:
    """One thing to time.

    Parameters
    ----------
    prepare : callable
        Called with the round's number (negative while warming up) before every run, outside
        the timing. It lays out that round's input, so that no run meets what an earlier one
        left behind.
    run : callable
        What is timed.
    """

    prepare: Callable[[int], object]
    run: Callable[[], object]


@dataclass(frozen=True)
class Latency:
    """Percentiles of a set of timed runs, in milliseconds.

    Parameters
    ----------
    p50_ms, p90_ms, p99_ms : float
        Percentiles, linear between neighbouring samples.
    mean_ms, min_ms : float
        Arithmetic mean and smallest sample.
    n : int
        How many runs were timed.

    Examples
    --------
    >>> Latency.of([1_000_000, 2_000_000, 3_000_000]).p50_ms
    2.0
    """

    p50_ms: float
    p90_ms: float
    p99_ms: float
    mean_ms: float
    min_ms: float
    n: int

    @classmethod
    def of(cls, samples_ns: Sequence[int]) -> Latency:
        """Summarise samples.

        Parameters
        ----------
        samples_ns : sequence of int
            Durations in nanoseconds.

        Returns
        -------
        Latency
            Their percentiles, in milliseconds.

        Raises
        ------
        ValueError
            If there are no samples.
        """
        if not len(samples_ns):
            raise ValueError("a latency needs at least one timed run")
        samples = np.asarray(samples_ns, dtype=np.float64) / _NS_PER_MS
        p50, p90, p99 = np.percentile(samples, [50, 90, 99]).tolist()
        mean, least = float(samples.mean()), float(samples.min())
        return cls(p50, p90, p99, mean, least, n=len(samples))

    def to_dict(self) -> dict[str, float]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            Times in milliseconds, and ``n``.
        """
        return asdict(self)


def interleave(
    candidates: Mapping[Name, Candidate],
    *,
    runs: int = 2000,
    warmup: int = 50,
    limit_s: float = 30.0,
    progress: Callable[[int, int], object] | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> dict[Name, list[int]]:
    """Time candidates in turns (A B A B), so that a drifting machine favours none.

    Parameters
    ----------
    candidates : mapping
        What to time, by name. Each runs once in every round, in this order.
    runs : int, optional
        Rounds to time.
    warmup : int, optional
        Rounds before those, of which nothing is kept.
    limit_s : float, optional
        Seconds after which to stop short of `runs`. At least one round is timed.
    progress : callable, optional
        Called now and then with (rounds done, rounds expected in all). A round of which
        nothing is kept follows, so that its work costs the first candidate nothing.
    clock : callable, optional
        Returns the time in nanoseconds.

    Returns
    -------
    dict
        For each name its durations in nanoseconds. The i-th of every list is round i.

    Raises
    ------
    ValueError
        If `runs` is not positive or there is nothing to time.

    Examples
    --------
    >>> samples = interleave({"sum": Candidate(lambda i: None, lambda: sum(range(9)))}, runs=3)
    >>> len(samples["sum"])
    3
    """
    if runs < 1 or not candidates:
        raise ValueError("nothing to time: need at least one candidate and one run")
    samples: dict[Name, list[int]] = {name: [] for name in candidates}

    def go_round(number: int) -> list[int]:
        durations = []
        for candidate in candidates.values():
            candidate.prepare(number)
            start = clock()
            candidate.run()
            durations.append(clock() - start)
        return durations

    collecting = gc.isenabled()
    gc.disable()  # a collection inside a run would be charged to whoever ran then
    try:
        for number in range(-warmup, 0):
            go_round(number)
        start = reported = clock()
        for number in range(runs):
            for kept, duration in zip(samples.values(), go_round(number), strict=True):
                kept.append(duration)
            now, done = clock(), number + 1
            if now - start >= limit_s * 1e9:
                break
            if progress is not None and now - reported >= _REPORT_EVERY_NS:
                within_limit = int(done * limit_s * 1e9 / (now - start))
                progress(done, min(runs, within_limit))
                go_round(-1)
                reported = clock()
    finally:
        if collecting:
            gc.enable()
    if progress is not None:
        progress(done, done)
    return samples


def slower_share(samples_ns: Sequence[int], baseline_ns: Sequence[int]) -> float:
    """Return the share of rounds in which one candidate took longer than another.

    One half means that neither is the slower one; unlike a ratio of medians it says how
    sure a small difference is.

    Parameters
    ----------
    samples_ns, baseline_ns : sequence of int
        Durations of the same rounds, from `interleave`.

    Returns
    -------
    float
        Between 0 and 1; a round with two equal durations counts half.

    Examples
    --------
    >>> slower_share([5, 5, 5, 5], [4, 4, 4, 5])
    0.875
    """
    difference = np.subtract(samples_ns, baseline_ns)
    return float(np.mean(np.sign(difference)) / 2 + 0.5)


def milliseconds(time_ms: float) -> str:
    """Write a duration for people, with four decimals or fewer as it grows.

    Parameters
    ----------
    time_ms : float
        Milliseconds.

    Returns
    -------
    str
        The number, without its unit.

    Examples
    --------
    >>> milliseconds(0.00654), milliseconds(12.3456)
    ('0.0065', '12.346')
    """
    whole_digits = len(str(int(time_ms)))
    return f"{time_ms:.{max(0, 5 - whole_digits)}f}"
