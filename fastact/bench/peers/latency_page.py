"""The page of latencies, made of a run's rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .caps import CAPS, Cap
from .goals import COUNTED, judge
from .libraries import PEERS
from .tables import goals_table, markdown, peers_table, reasons, select, variations_table
from .timing import Row
from .workloads import TABLES

_REMARKS = {peer.name: peer.remark for peer in PEERS}

HOW = """\
Every number is the median of nanoseconds per element, with the 10th and 90th percentile in small
print. Under one restriction of instruction sets, all libraries run in one process, on one
thread, on the same two arrays (aligned to 64 bytes, normally distributed numbers of standard
deviation 2), and take turns: each runs once in every round, warm, in an order drawn anew, so
that a drifting machine favours none; one that is many times slower runs in every fifth round. A
sample repeats the call until it takes about half a millisecond. After the timing each result is
compared with the exact one: a library that gives up the negative tail of GELU has an error of
millions of ULP there. What is timed is the statement listed at the end and nothing else; `-`
means that there is no such call, and the notes say why. A figure marked (!) does not count,
since the library used several threads or its result is wrong.

The ratio is the time of the fastest library beside fastact, over fastact's. A plain copy, and
MKL's distribution function without the multiplication that makes it a GELU, are shown but do not
count; nor does, under a restriction, a library that cannot be held to it."""

CAPPING = """\
The restrictions are the libraries' own settings: `FASTACT_ISA`, `ATEN_CPU_CAPABILITY` (torch),
`ONEDNN_MAX_CPU_ISA` (torch's and OpenVINO's oneDNN), `MKL_ENABLE_INSTRUCTIONS`, `SIMD_ML_ISA`,
`XLA_FLAGS=--xla_cpu_max_isa` (jax), `NUMBA_CPU_NAME`, `NUMBA_CPU_FEATURES` and
`NPY_DISABLE_CPU_FEATURES`. onnxruntime's MLAS has none and uses all that the CPU has. On CPUs that
are not Intel's, MKL chooses by rules of its own, whatever it is told, and does not count."""


def page(rows: Sequence[Row], head: Sequence[str], notes: Sequence[str] = ()) -> str:
    """Write the page.

    Parameters
    ----------
    rows : sequence of Row
        Everything that was measured.
    head : sequence of str
        The machine, the versions, the command and the date, a line each.
    notes : sequence of str, optional
        What went wrong.

    Returns
    -------
    str
        Markdown.
    """
    lines = ["# Latency beside other libraries", "", *(f"* {line}" for line in head), "", HOW, ""]
    lines += [f"**{note}**" for note in notes]
    for cap in CAPS:
        mine = [row for row in rows if row.cap == cap.name]
        if mine:
            lines += _section(cap, mine)
    lines += ["## How the restrictions are made", "", CAPPING, "", "## What is timed", ""]
    lines += [*_statements(rows), ""]
    return "\n".join(lines)


def _section(cap: Cap, rows: list[Row]) -> Iterator[str]:
    yield from [f"## {cap.title}", "", f"fastact uses its variant `{rows[0].isa}`.", ""]
    yield from ["### Goals", "", *markdown(goals_table(judge(rows)), words=1), ""]
    for function, dtype in TABLES:
        of_it = select(rows, "peers", function, dtype)
        if of_it:
            yield from [f"### {function}, {dtype}", "", *markdown(peers_table(of_it)), ""]
            yield from reasons((row.peer, row.error) for row in of_it if row.peer in COUNTED)
    for kind, title in [
        ("layouts", "Layouts: the input contiguous, of stride 2, and a transposed matrix"),
        ("values", "Values: normal, subnormal, and those whose GELU is subnormal"),
        ("functions", "gelu beside relu, in turns"),
    ]:
        of_it = select(rows, kind)
        if of_it:
            yield from [f"### {title}", "", *markdown(variations_table(of_it, kind)), ""]


def _statements(rows: Iterable[Row]) -> Iterator[str]:
    """List every statement once, with what is to know about its library."""
    seen: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.statement:
            seen.setdefault(row.peer, {}).setdefault(row.statement, row.workload.function)
    for peer, statements in seen.items():
        remark = f" ({_REMARKS.get(peer)})" if _REMARKS.get(peer) else ""
        listed = ", ".join(f"{function}: `{code}`" for code, function in statements.items())
        yield f"* {peer}{remark}: {listed}"
