"""The ratios that fastact wants to reach, and whether a run reached them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .libraries import PEERS
from .timing import Row
from .workloads import Workload

OURS = "fastact"

#: The peers with which ratios are formed, ours included.
COUNTED = {peer.name for peer in PEERS if peer.counts}
_UNCAPPED = {peer.name for peer in PEERS if not peer.capped}
_IN_CACHE = (1_024, 65_536, 200_704, 1_048_576, 16_777_216)


@dataclass(frozen=True)
class Goal:
    """How many times as long a peer must take as fastact.

    Parameters
    ----------
    function, dtype : str
        What is computed.
    ratios : dict
        For each size the ratio to reach.
    isas : tuple of str
        The variants of fastact for which it is set.
    peer : str, optional
        Against this one alone; by default against the fastest of all.
    """

    function: str
    dtype: str
    ratios: dict[int, float]
    isas: tuple[str, ...]
    peer: str = ""


def _ratios(*ratios: float) -> dict[int, float]:
    sizes = (16, *_IN_CACHE)
    return dict(zip(sizes[len(sizes) - len(ratios) :], ratios, strict=True))


_FMA = ("avx512", "avx2", "neon")

GOALS = (
    Goal("gelu", "float32", _ratios(1.0, 1.3, 1.2, 1.2, 1.1, 1.0), ("avx512",)),
    Goal("gelu", "float32", _ratios(1.0, 1.2, 1.5, 1.5, 1.3, 1.0), ("avx2",)),
    Goal("gelu", "float32", dict.fromkeys(_IN_CACHE, 1.0), ("scalar",), "torch"),
    Goal("gelu_tanh", "float32", _ratios(1.0, 1.5, 1.5, 1.5, 1.5, 1.2), _FMA),
    Goal("relu", "float32", _ratios(1.0, 1.0, 0.95, 0.95, 0.95, 0.95), _FMA),
    Goal("relu", "float32", _ratios(0.95, 0.95, 0.95, 0.95), _FMA, "np.copyto"),
    Goal("gelu", "float64", dict.fromkeys(_IN_CACHE, 3.0), _FMA, "torch"),
    Goal("gelu", "float16", dict.fromkeys(_IN_CACHE, 1.0), _FMA, "torch"),
    Goal("relu", "float16", dict.fromkeys(_IN_CACHE[1:], 20.0), _FMA, "NumPy + SciPy"),
)


@dataclass(frozen=True)
class Limit:
    """How many times as long one workload of ours may take as another.

    Parameters
    ----------
    kind : str
        The kind of the group.
    title : str
        What is compared, in words.
    ratio : float
        The largest ratio allowed.
    pick : callable
        Tells of a workload whether it is the baseline of its group.
    """

    kind: str
    title: str
    ratio: float
    pick: Callable[[Workload], bool]


LIMITS = (
    Limit("layouts", "strided / contiguous", 2.5, lambda w: w.layout == "contiguous"),
    Limit("values", "subnormal / normal", 3.0, lambda w: w.values == "normal"),
    Limit("functions", "gelu / relu", 1.3, lambda w: w.function == "relu"),
)


@dataclass(frozen=True)
class Outcome:
    """A goal at one size, or a limit on one workload.

    Parameters
    ----------
    title, against : str
        What is compared with what.
    n : int
        Elements.
    ratio, wanted : float
        What was measured, and what to reach.
    is_limit : bool, optional
        Whether the ratio may be at most, and not at least, what is wanted.
    """

    title: str
    against: str
    n: int
    ratio: float
    wanted: float
    is_limit: bool = False

    @property
    def reached(self) -> bool:
        """Whether it was."""
        return self.ratio <= self.wanted if self.is_limit else self.ratio >= self.wanted


def ratio(ours: Row, other: Row) -> float:
    """Return how many times as long another row takes as ours, by their medians.

    Parameters
    ----------
    ours, other : Row
        Rows of one group.

    Returns
    -------
    float
        Above 1 where ours is the faster one.
    """
    return other.p50 / ours.p50


def fastest(rows: Iterable[Row], peer: str = "") -> Row | None:
    """Return the fastest peer's row, ours left out.

    Parameters
    ----------
    rows : iterable of Row
        Rows of one group and workload.
    peer : str, optional
        Look at this one alone.

    Returns
    -------
    Row or None
        None if no peer that counts gave a right result in one thread; under a cap, one that
        cannot be held to it does not count.
    """
    names = {peer} if peer else COUNTED - {OURS}
    able = [
        row
        for row in rows
        if row.peer in names and not row.error and not (row.cap != "none" and row.peer in _UNCAPPED)
    ]
    return min(able, key=lambda row: row.p50, default=None)


def judge(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Hold the rows of one cap against the goals and limits.

    Parameters
    ----------
    rows : iterable of Row
        All rows measured under it.

    Yields
    ------
    Outcome
        One for each goal and size, then one for each limit and workload, that was measured.
    """
    rows = list(rows)
    peers = [row for row in rows if row.kind == "peers"]
    for goal in GOALS:
        for n, wanted in goal.ratios.items():
            workload = Workload(goal.function, goal.dtype, n)
            same = [row for row in peers if row.workload == workload]
            ours = next((row for row in same if row.peer == OURS), None)
            other = fastest(same, goal.peer)
            if ours is None or other is None or ours.error or ours.isa not in goal.isas:
                continue
            title = f"{goal.function} {goal.dtype}"
            title += f", against {goal.peer}" if goal.peer else ", against the fastest"
            yield Outcome(title, other.peer, n, ratio(ours, other), wanted)
    for limit in LIMITS:
        mine = [r for r in rows if r.kind == limit.kind and r.peer == OURS and not r.error]
        baselines = [row for row in mine if limit.pick(row.workload)]
        for row in mine:
            for base in baselines:
                if row is base or base.workload.n != row.workload.n:
                    continue
                if limit.kind != "functions" and base.workload.function != row.workload.function:
                    continue
                w = row.workload
                what = {"layouts": w.layout, "values": w.values}.get(limit.kind, "relu")
                title = f"{w.function} {w.dtype}, {limit.title}"
                yield Outcome(title, what, w.n, ratio(base, row), limit.ratio, is_limit=True)
