"""How a group is timed: every call in turns, warm, in samples long enough for the clock."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ... import accuracy
from .peer import Array, Call, Peer
from .workloads import Group, Workload, aligned

Key = TypeVar("Key")

_SAMPLE_NS = 5e5  # a sample repeats the call for so long, which hides the clock's own cost
_ROUNDS, _LEAST_ROUNDS = 301, 10
# One whose sample takes so many times the shortest joins every fifth round only, or there would be
# few rounds.
_SLOW, _SLOW_EVERY = 8, 5
_LARGE = 4_000_000  # arrays from here on get four times as long, or there would be few rounds
_COMPARED = {"float16": 65_536, "float32": 65_536, "float64": 500}
# CPU seconds per second from which a call has used more than one thread, and how long to look.
_THREADED, _LOOK_S = 1.5, 0.03


@dataclass(frozen=True)
class Row:
    """One peer on one workload.

    Parameters
    ----------
    cap, isa : str
        The restriction of instruction sets, and the variant of fastact under it.
    kind, peer : str
        The kind of the group, and who was measured.
    workload : Workload
        On what.
    p10, p50, p90 : float
        Nanoseconds per call.
    rounds : int
        How many samples there are.
    difference, ulp : float, optional
        Largest difference from the exact result, and the largest error in ULP of it; None if
        the exact result is not known.
    statement : str
        What was timed.
    error : str
        Why there are no figures; empty if there are.
    """

    cap: str
    isa: str
    kind: str
    peer: str
    workload: Workload
    p10: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    rounds: int = 0
    difference: float | None = None
    ulp: float | None = None
    statement: str = ""
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            The fields, those of the workload in a dict of their own.
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Row:
        """Make a row of what `to_dict` returned.

        Parameters
        ----------
        data : dict
            The fields.

        Returns
        -------
        Row
            An equal row.
        """
        return cls(**{**data, "workload": Workload(**data["workload"])})


def measure(
    group: Group, peers: Sequence[Peer], seconds: float, *, cap: str = "none", isa: str = ""
) -> list[Row]:
    """Time every peer on every workload of a group, in turns.

    Parameters
    ----------
    group : Group
        What to time.
    peers : sequence of Peer
        Whom to ask.
    seconds : float
        How long to time the whole group.
    cap, isa : str, optional
        What to write into the rows.

    Returns
    -------
    list of Row
        One row for each peer and workload, also where there is no such call.
    """
    y = aligned(group.workloads[0].n, group.workloads[0].dtype)
    inputs = {workload: workload.input() for workload in group.workloads}
    before = {workload: x.tobytes() for workload, x in inputs.items() if x.size < _LARGE}
    rows: dict[tuple[str, Workload], Row] = {}
    calls: dict[tuple[str, Workload], Call] = {}
    for workload, x in inputs.items():
        for peer in peers:
            key = (peer.name, workload)
            rows[key] = Row(cap, isa, group.kind, *key)
            bound = peer.try_bind(workload.function, x, y.reshape(x.shape))
            if isinstance(bound, str):
                rows[key] = replace(rows[key], error=bound)
            else:
                calls[key] = bound
    repeats = {key: _repeats(call) for key, call in calls.items()}
    samples = take_turns(calls, repeats, seconds * (4 if y.size >= _LARGE else 1))
    computes = {peer.name for peer in peers if peer.counts}
    for key, durations in samples.items():
        p10, p50, p90 = np.percentile(durations, [10, 50, 90]).tolist()
        call, (peer_name, workload) = calls[key], key
        found = _threads(call, repeats[key])
        if not found and peer_name in computes:
            found = _compare(call.result(), workload.function, inputs[workload])
        rows[key] = replace(
            rows[key],
            **{"p10": p10, "p50": p50, "p90": p90, "rounds": len(durations)},
            **found,
            statement=call.statement,
        )
    for workload, content in before.items():
        if inputs[workload].tobytes() != content:
            raise RuntimeError(f"a call has changed its input: {workload}")
    return list(rows.values())


def take_turns(
    calls: Mapping[Key, Call], repeats: Mapping[Key, int], limit_s: float
) -> dict[Key, list[float]]:
    """Time each in every round, in an order drawn anew, after two runs that do not count.

    In a fixed order a neighbour's cache or a scheduler in step with the rounds would always hit
    the same one.

    Parameters
    ----------
    calls : mapping
        What to time.
    repeats : mapping
        How many runs of each make a sample.
    limit_s : float
        Seconds after which no new round begins; ten count in any case.

    Returns
    -------
    dict
        For each key the nanoseconds of a run, round by round.
    """
    samples: dict[Key, list[float]] = {key: [] for key in calls}
    first = {
        key: min(call.time(repeats[key]) for _ in range(2)) * repeats[key]
        for key, call in calls.items()
    }
    slow = {key for key, time_ns in first.items() if time_ns > _SLOW * min(first.values())}
    order, rng = list(calls), random.Random(7)
    start = time.perf_counter()
    for number in range(_ROUNDS):
        if number >= _LEAST_ROUNDS and time.perf_counter() - start > limit_s:
            break
        rng.shuffle(order)
        for key in order:
            if key not in slow or number % _SLOW_EVERY == 0:
                samples[key].append(calls[key].time(repeats[key]))
    return samples


def _repeats(call: Call) -> int:
    call.time(2)
    few = max(1, int(_SAMPLE_NS / 10 / min(call.time(1) for _ in range(3))))
    return max(1, round(_SAMPLE_NS / call.time(few)))


def _threads(call: Call, repeats: int) -> dict[str, Any]:
    """See that a call keeps to one thread."""
    cpu, wall = time.process_time(), time.perf_counter()
    while time.perf_counter() < wall + _LOOK_S:
        call.time(repeats)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"error": f"used {cpu / wall:.1f} threads"} if cpu > _THREADED * wall else {}


def _compare(y: Array, function: str, x: Array) -> dict[str, Any]:
    """Compare a result with the exact one, in some places if there are many."""
    step = max(1, x.size // _COMPARED[x.dtype.name])
    inputs, result = x.ravel()[::step], y.ravel()[::step]
    if result.dtype != x.dtype:
        return {"error": f"returned {result.dtype}"}
    try:
        exact = accuracy.reference(function, inputs)
    except ImportError:  # float64 needs mpmath
        return {}
    difference = np.abs((result.astype(np.float64) - exact.high) - exact.low)
    relative = difference / np.maximum(1, np.abs(exact.high))
    largest, ulp = float(difference.max()), float(accuracy.ulp_error(result, exact).max())
    right = relative.max() <= max(1e-4, 4 * float(np.finfo(x.dtype).eps))
    error = "" if right else f"wrong by {largest:.1e}"
    return {"difference": largest, "ulp": ulp, "error": error}
