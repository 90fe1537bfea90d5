"""How sure a latency is: quantiles, bootstrap intervals, and how steady the machine was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

#: An interval of a ratio that is wider than this does not tell which of two is faster, unless
#: it leaves 1 out.
WIDE = 0.10

#: A machine whose block medians move by more than this is too noisy to time anything on.
DRIFTING = 0.15

# Times that the CPU is taken away, in 1,000 runs, from where on that is worth naming.
OFTEN = 10

# The rounds are cut into so many blocks, whose medians show whether the machine drifts.
_BLOCKS = 20
_RESAMPLINGS = 400
_SEED = 1
_NS_PER_MS = 1e6

Name = TypeVar("Name")


@dataclass(frozen=True)
class Noise:
    """How steady a machine was while it measured.

    Parameters
    ----------
    drift : float
        The range of the medians of 20 successive blocks of rounds, relative to the median of
        all: the largest of any candidate, the two most distant blocks of each left out.
    preemptions : float or None
        How often the system gave the CPU to something else, in 1,000 runs; None if not known.
    load : float or None
        The system's load average over the last minute; None if not known.
    reasons : tuple of str
        Why the machine was too noisy; empty if it was steady.
    """

    drift: float
    preemptions: float | None
    load: float | None
    reasons: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            The fields.
        """
        return {**asdict(self), "reasons": list(self.reasons)}


def quantiles(samples_ns: Sequence[int]) -> tuple[float, ...]:
    """Return the quantiles of samples at 0, 1, ... 100 percent, in milliseconds.

    Parameters
    ----------
    samples_ns : sequence of int
        Durations in nanoseconds.

    Returns
    -------
    tuple of float
        101 values, rising.

    Examples
    --------
    >>> quantiles([1_000_000, 3_000_000])[50]
    2.0
    """
    samples = np.asarray(samples_ns, np.float64) / _NS_PER_MS
    return tuple(np.percentile(samples, range(101)).tolist())


def block_medians(samples_ns: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return the medians of successive blocks of rounds.

    Parameters
    ----------
    samples_ns : sequence of int
        Durations, in the order of their rounds.

    Returns
    -------
    ndarray of float64
        20 medians, or as many as there are samples.
    """
    blocks = np.array_split(np.asarray(samples_ns), min(_BLOCKS, len(samples_ns)))
    return np.array([np.median(block) for block in blocks])


def resampled_percentiles(
    samples_ns: Mapping[Name, Sequence[int]], percents: Sequence[float]
) -> dict[Name, npt.NDArray[np.float64]]:
    """Resample the rounds of all candidates together, block by block.

    Successive rounds are not independent, since what disturbs one lasts into the next. So
    blocks of rounds are drawn, with replacement, and the same ones for every candidate
    (block bootstrap; Kuensch, 1989).

    Parameters
    ----------
    samples_ns : mapping
        For each candidate its durations, from `interleave`.
    percents : sequence of float
        The percentiles to take of each resampling.

    Returns
    -------
    dict
        For each candidate an array of 400 resamplings by percentiles, in nanoseconds.
    """
    random = np.random.default_rng(_SEED)
    rounds = len(next(iter(samples_ns.values())))
    blocks = np.array_split(np.arange(rounds), min(_BLOCKS, rounds))
    draws = random.integers(0, len(blocks), (_RESAMPLINGS, len(blocks)))
    values = {name: np.asarray(samples, np.float64) for name, samples in samples_ns.items()}
    found: dict[Name, list[npt.NDArray[np.float64]]] = {name: [] for name in values}
    for draw in draws:
        chosen = np.concatenate([blocks[block] for block in draw])
        for name, samples in values.items():
            found[name].append(np.percentile(samples[chosen], percents))
    return {name: np.array(rows) for name, rows in found.items()}


def interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval that holds the middle 95 % of values.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Resampled results.

    Returns
    -------
    tuple of float
        Its ends.
    """
    low, high = np.percentile(values, [2.5, 97.5]).tolist()
    return low, high


def ratio_intervals(samples_ns: Mapping[Name, Sequence[int]]) -> dict[Name, tuple[float, float]]:
    """Return the 95 % bootstrap intervals of each median relative to the first.

    Parameters
    ----------
    samples_ns : mapping
        For each candidate its durations, from `interleave`.

    Returns
    -------
    dict
        For each candidate the ends; those of the first are 1.
    """
    drawn = resampled_percentiles(samples_ns, (50,))
    first = next(iter(drawn.values()))
    return {name: interval((values / first)[:, 0]) for name, values in drawn.items()}


def tells(ends: tuple[float, float]) -> bool:
    """Tell whether the interval of a ratio says which of two is faster, or that neither is.

    Parameters
    ----------
    ends : tuple of float
        The interval.

    Returns
    -------
    bool
        True if it leaves 1 out, or is narrow.

    Examples
    --------
    >>> tells((1.1, 1.9)), tells((0.98, 1.03)), tells((0.9, 1.2))
    (True, True, False)
    """
    low, high = ends
    return low > 1 or high < 1 or high - low <= WIDE


def noise(
    samples_ns: Mapping[Name, Sequence[int]], preemptions: int | None, load: float | None, cpus: int
) -> Noise:
    """Judge how steady the machine was.

    Parameters
    ----------
    samples_ns : mapping
        For each candidate its durations, from `interleave`.
    preemptions : int or None
        How often the CPU was taken away in the meantime.
    load : float or None
        The load average.
    cpus : int
        How many CPUs there are.

    Returns
    -------
    Noise
        The figures, and reasons if they are too large.

    Examples
    --------
    >>> noise({"a": [5] * 400}, preemptions=0, load=0.5, cpus=2).reasons
    ()
    """
    drift = max(_drift(block_medians(samples)) for samples in samples_ns.values())
    runs = sum(map(len, samples_ns.values()))
    often = None if preemptions is None else 1000 * preemptions / runs
    if drift <= DRIFTING:
        return Noise(drift, often, load)
    reasons = [f"medians over time moved by {drift:.0%}"]
    if often is not None and often > OFTEN:
        reasons.append(f"the CPU was taken away {often:.0f} times in 1,000 runs")
    if load is not None and load > cpus:
        reasons.append(f"the load is {load:.1f} on {cpus} CPU{'s' * (cpus != 1)}")
    return Noise(drift, often, load, tuple(reasons))


def _drift(medians: npt.NDArray[np.float64]) -> float:
    middle = np.sort(medians)[1:-1] if len(medians) > 4 else medians
    return float((middle[-1] - middle[0]) / np.median(medians))
