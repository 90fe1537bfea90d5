"""The page of accuracy: fastact's promises, and the errors of other libraries beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ... import accuracy, accuracy_survey
from .libraries import PEERS
from .peer import Array, Call, Peer
from .tables import markdown, reasons, ulps
from .workloads import aligned

#: Functions and dtypes that are compared.
COMPARED = (
    ("gelu", "float32"),
    ("gelu_tanh", "float32"),
    ("silu", "float32"),
    ("gelu", "float64"),
    ("gelu", "float16"),
    ("gelu_tanh", "float16"),
)

#: Parts of the line, by what the textbook formula has left there: all digits, some, none.
REGIONS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("x >= 0", lambda x: x >= 0),
    ("-1 <= x < 0", lambda x: (x >= -1) & (x < 0)),
    ("x < -1", lambda x: x < -1),
)

SPECIAL = (-np.inf, -14.0, -6.0, -5.5, np.nan, 1e30)

HOW = """\
An error is in units in the last place (ULP) of the exact result, which a subnormal result has,
too; a result that is not finite where the exact one is counts as infinite. Exact is, for float64,
the definition in 60 digits; for smaller types the float64 function, which is held against that."""

PROMISES = """\
The bound and the input that attains it are in the registry, `fastact.max_ulp` tells them, and
the docstrings do. They hold for all values of float16, bfloat16 and float32: `pytest
--exhaustive -k accuracy` goes through each of them, and fails if a bound is exceeded or slack by
more than a fifth; for float64 they hold over the sweep of that test. What is beside it was found
in a sample while this page was made; `fastact accuracy` does the same on any machine. Variants
with a fused multiply-add return the same bits and share a bound. Where nothing is named, the
result is exact (bound 0) or correctly rounded (bound 0.5)."""

PEERS_TEXT = """\
Each library is called as the page of latencies calls it, by the same code, on the same inputs:
every bit pattern of float16, those of float32 in steps of {stride}, a sample of float64 along
the tail and over all exponents, and the inputs at which fastact is known to be worst. The
largest error is given with the input it occurs at. From -1 down, 0.5 x (1 + erf(x/√2)) subtracts
nearly equal numbers: an error of millions of ULP means that no digit is right, or that the
result is 0. An infinite one for large x is an overflow on the way. Libraries that take subnormal
numbers for 0 lose them on both sides of it."""


@dataclass(frozen=True)
class Error:
    """The largest error of a peer on a part of the line.

    Parameters
    ----------
    function, dtype, peer, region : str
        Of what, by whom, and where.
    ulp, at : float
        The error, and the input it occurs at.
    reason : str
        Why there is none; empty if there is.
    """

    function: str
    dtype: str
    peer: str
    region: str
    ulp: float = 0.0
    at: float = 0.0
    reason: str = ""


@dataclass
class Errors:
    """Everything that the page shows.

    Parameters
    ----------
    stride : int
        The distance of the float32 bit patterns.
    ours : accuracy_survey.Survey
        What fastact promises, and what was found.
    errors : list of Error
        The peers, fastact among them.
    special : dict
        For each function the results at `SPECIAL`, by the peer's name.
    """

    stride: int
    ours: accuracy_survey.Survey
    errors: list[Error] = field(default_factory=list)
    special: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            The fields.
        """
        return {**asdict(self), "ours": self.ours.to_dict()}


def measure(stride: int, peers: Sequence[Peer] = PEERS) -> Errors:
    """Survey fastact and compare the peers.

    Parameters
    ----------
    stride : int
        The distance of the float32 bit patterns, a prime best.
    peers : sequence of Peer, optional
        Whom to compare.

    Returns
    -------
    Errors
        What the page shows.
    """
    found = Errors(stride, accuracy_survey.survey())
    compared = [peer for peer in peers if peer.counts]
    for function, dtype in COMPARED:
        chunks = list(accuracy_survey.sample(function, dtype, stride))
        try:
            references = [accuracy.reference(function, x) for x in chunks]
        except ImportError:
            continue
        for peer in compared:
            found.errors += _errors(peer, function, chunks, references)
    for function in ("gelu", "gelu_tanh", "silu"):
        x = np.array(SPECIAL, np.float32)
        results = {peer.name: apply(peer, function, x) for peer in compared}
        found.special[function] = {
            name: result.astype(float).tolist()
            for name, result in results.items()
            if not isinstance(result, str)
        }
    return found


def apply(peer: Peer, function: str, x: Array) -> Array | str:
    """Apply a peer's function to an array.

    Parameters
    ----------
    peer : Peer
        Whom to ask.
    function : str
        The function's name.
    x : ndarray
        The input.

    Returns
    -------
    ndarray or str
        The result, or the reason why there is none.
    """
    buffer, y = aligned(x.size, x.dtype.name), aligned(x.size, x.dtype.name)
    buffer[:] = x
    with np.errstate(all="ignore"):  # NumPy's formulas overflow and know it
        call = peer.try_bind(function, buffer, y)
        return call.result().copy() if isinstance(call, Call) else call


def _errors(
    peer: Peer, function: str, chunks: Sequence[Array], references: Sequence[accuracy.Reference]
) -> Iterator[Error]:
    dtype = chunks[0].dtype.name
    worst: dict[str, accuracy.Worst] = {}
    for x, exact in zip(chunks, references, strict=True):
        y = apply(peer, function, x)
        if isinstance(y, str):
            yield Error(function, dtype, peer.name, "", reason=y)
            return
        error = accuracy.ulp_error(y, exact)
        for region, holds in REGIONS:
            inside = np.flatnonzero(holds(x))
            if inside.size:
                i = inside[np.argmax(error[inside])]
                here = accuracy.Worst(float(error[i]), float(x[i]))
                worst[region] = max(worst.get(region, here), here, key=lambda w: w.ulp)
    for region, found in worst.items():
        yield Error(function, dtype, peer.name, region, found.ulp, found.at)


def page(found: Errors, head: Sequence[str]) -> str:
    """Write the page.

    Parameters
    ----------
    found : Errors
        What was measured.
    head : sequence of str
        The machine, the versions, the command and the date, a line each.

    Returns
    -------
    str
        Markdown.
    """
    lines = ["# Accuracy", "", *(f"* {line}" for line in head), "", HOW, ""]
    lines += ["## What fastact promises, and what a sample finds", "", PROMISES, ""]
    lines += [*markdown(_ours(found.ours), words=3), ""]
    lines += [text for why in found.ours.skipped for text in (f"Not looked at: {why}.", "")]
    lines += ["## Beside other libraries", "", PEERS_TEXT.format(stride=found.stride), ""]
    for function, dtype in COMPARED:
        mine = [e for e in found.errors if (e.function, e.dtype) == (function, dtype)]
        lines += [f"### {function}, {dtype}", "", *markdown(_compared(mine)), ""]
        lines += reasons((e.peer, e.reason) for e in mine)
    lines += ["## At special values, float32", ""]
    for function, results in found.special.items():
        table = [[function, *(f"{x:g}" for x in SPECIAL)], ["exact", *_exact(function)]]
        table += [[name, *map(_digits, values)] for name, values in results.items()]
        lines += [*markdown(table), ""]
    return "\n".join(lines).rstrip() + "\n"


def _exact(function: str) -> Iterator[str]:
    for x in SPECIAL:
        if np.isfinite(x):
            value = accuracy.reference(function, np.array([x], np.float32)).high[0]
            yield _digits(float(np.float32(value)))
        else:
            yield "nan" if np.isnan(x) else "-0"  # the limit


def _digits(value: float) -> str:
    return f"{value:.7g}"


def _ours(survey: accuracy_survey.Survey) -> list[list[str]]:
    return [list(accuracy_survey.COLUMNS), *survey.rows()]


def _compared(errors: Sequence[Error]) -> list[list[str]]:
    table = [["largest error, ULP", *(region for region, _ in REGIONS)]]
    for peer in dict.fromkeys(e.peer for e in errors if not e.reason):
        mine = {e.region: e for e in errors if e.peer == peer}
        table.append([peer, *(_worst(mine[region]) for region, _ in REGIONS)])
    return table


def _worst(e: Error) -> str:
    return f"{ulps(e.ulp)} at {e.at:.6g}"
