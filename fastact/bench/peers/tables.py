"""Tables of a run as cells of text, for the pages and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .goals import OURS, Outcome, fastest, ratio
from .timing import Row
from .workloads import Workload

Table = list[list[str]]


def select(rows: Iterable[Row], kind: str, function: str = "", dtype: str = "") -> list[Row]:
    """Pick the rows of one kind of group, and of one function and dtype if they are given.

    Parameters
    ----------
    rows : iterable of Row
        Where to pick from.
    kind : str
        The kind of the group.
    function, dtype : str, optional
        Of the workload.

    Returns
    -------
    list of Row
        The rows, in their order.
    """
    return [
        row
        for row in rows
        if row.kind == kind
        and function in ("", row.workload.function)
        and dtype in ("", row.workload.dtype)
    ]


def goals_table(outcomes: Iterable[Outcome]) -> Table:
    """Lay the goals out, a row for each goal and size.

    Parameters
    ----------
    outcomes : iterable of Outcome
        What `goals.judge` found.

    Returns
    -------
    list of list of str
        The cells, the first list being the header.
    """
    table = [["goal", "n", "beside", "measured", "to reach", ""]]
    for o in outcomes:
        sign, word = "at most" if o.is_limit else "at least", "reached" if o.reached else "MISSED"
        cells = [o.title, f"{o.n:,}", o.against, f"{o.ratio:.2f}", f"{sign} {o.wanted:g}", word]
        table.append(cells)
    return table


def peers_table(rows: Sequence[Row], *, spread: bool = True) -> Table:
    """Lay out one function: a row for each peer, a column for each size, and the errors.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one function and dtype.
    spread : bool, optional
        Whether to add the percentiles.

    Returns
    -------
    list of list of str
        The cells, the first list being the header.
    """
    sizes = sorted({row.workload.n for row in rows})
    found = {(row.peer, row.workload.n): row for row in rows}
    header = ["ns per element", *(f"n = {n:,}" for n in sizes), "max difference", "max ULP"]
    table = [header]
    for peer in dict.fromkeys(row.peer for row in rows):
        mine = [found[peer, n] for n in sizes if (peer, n) in found]
        if all(row.error and not row.rounds for row in mine):
            if any(row.error != f"no {row.workload.function}" for row in mine):
                short = "not installed" if mine[0].error == "not installed" else "-"
                table.append([peer, *[short] * len(sizes), "", ""])
            continue
        cells = [_cell(found[peer, n], spread) for n in sizes]
        table.append([peer, *cells, *_errors(mine)])
    table.append(["fastest other / fastact", *(_ratio(rows, n) for n in sizes), "", ""])
    return table


def _ratio(rows: Iterable[Row], n: int) -> str:
    same = [row for row in rows if row.workload.n == n]
    ours = next((row for row in same if row.peer == OURS and not row.error), None)
    other = fastest(same)
    return f"{ratio(ours, other):.2f} ({other.peer})" if ours and other else "-"


def _errors(rows: Iterable[Row]) -> tuple[str, str]:
    known = [row for row in rows if row.difference is not None and row.ulp is not None]
    if not known:
        return "", ""
    difference = max(row.difference or 0.0 for row in known)
    return f"{difference:.1e}" if difference else "0", ulps(max(row.ulp or 0.0 for row in known))


def ulps(error: float) -> str:
    """Write an error in ULP: with digits where it is small, as a power of ten where it is not.

    Parameters
    ----------
    error : float
        The error.

    Returns
    -------
    str
        Its digits.

    Examples
    --------
    >>> ulps(0.6928), ulps(49.6), ulps(16696923.0)
    ('0.69', '50', '1.7e+07')
    """
    if error == 0:
        return "0"
    return f"{error:.2f}" if error < 10 else f"{error:.0f}" if error < 1e4 else f"{error:.1e}"


def _cell(row: Row, spread: bool) -> str:
    if not row.rounds:
        return "-"
    p10, p50, p90 = (per_element(p, row.workload.n) for p in (row.p10, row.p50, row.p90))
    mark = " (!)" if row.error else ""
    return f"{p50}{mark} <sub>{p10}-{p90}</sub>" if spread else p50 + mark


def per_element(time_ns: float, n: int) -> str:
    """Write nanoseconds per element with three digits that mean something.

    Parameters
    ----------
    time_ns : float
        Nanoseconds of a call.
    n : int
        Elements.

    Returns
    -------
    str
        The quotient.

    Examples
    --------
    >>> per_element(272, 1_000), per_element(21_380, 1), per_element(43, 1_000)
    ('0.272', '21380', '0.043')
    """
    value = time_ns / n
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def variations_table(rows: Sequence[Row], kind: str) -> Table:
    """Lay out a group of several workloads: a row for each peer, a column for each workload.

    Parameters
    ----------
    rows : sequence of Row
        The rows of all groups of the kind.
    kind : str
        ``layouts``, ``values`` or ``functions``.

    Returns
    -------
    list of list of str
        The cells, with the ratio to the first workload of the group in parentheses.
    """

    def label(w: Workload) -> str:
        return {"layouts": w.layout, "values": w.values}.get(kind, w.function)

    labels = list(dict.fromkeys(label(row.workload) for row in rows))
    table = [["ns per element", *labels]]
    keys = ((row.peer, row.workload.function, row.workload.n) for row in rows)
    if kind == "functions":
        keys = ((row.peer, "", row.workload.n) for row in rows)
    for peer, function, n in dict.fromkeys(keys):
        mine = {
            label(row.workload): row
            for row in rows
            if (row.peer, row.workload.n) == (peer, n) and function in ("", row.workload.function)
        }
        base = mine[labels[0]]
        if base.error or len(labels) - sum(bool(row.error) for row in mine.values()) < 2:
            continue
        cells = [
            "-"
            if row.error
            else f"{per_element(row.p50, n)}" + f" ({row.p50 / base.p50:.2f})" * (row is not base)
            for row in (mine[name] for name in labels)
        ]
        table.append([f"{peer}, {function + ', ' if function else ''}n = {n:,}", *cells])
    return table


def markdown(table: Table, words: int = 1) -> list[str]:
    """Write cells as a table of Markdown.

    Parameters
    ----------
    table : list of list of str
        The cells, the first list being the header.
    words : int, optional
        How many columns hold words, and not numbers.

    Returns
    -------
    list of str
        The lines.
    """
    header, *body = [f"| {' | '.join(cells)} |" for cells in table]
    return [header, "|" + "---|" * words + "---:|" * (len(table[0]) - words), *body]


def reasons(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Say why figures are missing, each reason once.

    Parameters
    ----------
    rows : iterable of (str, str)
        A peer's name and the reason, which is empty where there is a figure.

    Returns
    -------
    list of str
        A line and an empty one, or nothing.

    Examples
    --------
    >>> reasons([("torch", ""), ("numba", "no float16"), ("numexpr", "no float16")])
    ['numba, numexpr: no float16.', '']
    """
    peers: dict[str, dict[str, None]] = {}
    for peer, reason in rows:
        if reason:
            peers.setdefault(reason, {})[peer] = None
    texts = [f"{', '.join(names)}: {reason}" for reason, names in peers.items()]
    return ["; ".join(texts) + ".", ""] if texts else []
