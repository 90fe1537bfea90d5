"""Tables of the activations of a comparison: cost, differences, properties, runtimes."""

from __future__ import annotations

from ..results import Comparison
from .kernel_plots import cache_elements
from .tables import Table


def kernel_costs(comparison: Comparison) -> Table:
    """Return the time for each element, for every size of an array.

    Parameters
    ----------
    comparison : Comparison
        The comparison; it has kernel costs.

    Returns
    -------
    Table
        One row for each size.
    """
    costs = comparison.kernel_costs
    assert costs is not None
    rows = [
        (f"{n:,}", *(f"{medians[i]:.3f}" for medians in costs.median_ns.values()))
        for i, n in enumerate(costs.sizes)
    ]
    rooms = [f"{name} {room:,.0f}" for name, room in cache_elements(costs).items()]
    held = f"; the caches hold, in elements: {', '.join(rooms)}" if rooms else ""
    head = ("elements", *(f"{activation}, ns" for activation in costs.median_ns))
    return Table(f"Median time for each element{held}", head, tuple(rows))


def distances(comparison: Comparison) -> Table:
    """Return how far apart the activations are.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each pair.
    """
    rows = [
        (f"{pair.one} and {pair.other}", f"{pair.value:.4g}", f"{pair.at:.4g}")
        for pair in comparison.distances
    ]
    head = ("activations", "largest difference", "at")
    return Table("Largest difference of each two activations", head, tuple(rows))


def properties(comparison: Comparison) -> Table:
    """Return what the activations are like, one column for each.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    Table
        One row for each property.
    """
    cells = [entry.cells() for entry in comparison.properties]
    first, *others = cells[0]
    rows = tuple((key, *(entry[key] for entry in cells)) for key in others)
    head = ("property", *(entry[first] for entry in cells))
    caption = "Computed from the kernels; shares are those of standard normal inputs"
    return Table(caption, head, rows, numbers=False)


def runtimes(comparison: Comparison, *, notes: bool = False) -> Table:
    """Return what each runtime makes of each form of the activations.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    notes : bool
        Whether to tell it in whole sentences, and how it is known, or in one word.

    Returns
    -------
    Table
        One row for each runtime.
    """
    from ...export import FORMS, TARGETS
    from ...export.choice import weigh
    from ...export.support import Support

    words = {
        Support.NO: "no",
        Support.WRONG: "wrong",
        Support.UNKNOWN: "not known",
        Support.RUNS: "runs",
        Support.FUSED: "fused",
    }
    compared = [entry.activation for entry in comparison.properties]
    columns = [(activation, form) for activation in compared for form in FORMS[activation]]
    head = ("runtime", *map("/".join, columns))
    rows = []
    for target in TARGETS.values():
        found = [weigh(target, activation, form, None) for activation, form in columns]
        cells = (note if notes else words[support] for support, note, _ in found)
        rows.append((target.runtime, *cells, *([target.source] if notes else [])))
    if notes:
        caption, head = "What each runtime makes of each form", (*head, "how it is known")
    else:
        caption = (
            "fused: as one operator, or inside of the one before; runs: as several operators; "
            "wrong: with other results; no: it lacks an operator or the opset"
        )
    return Table(caption, head, tuple(rows), numbers=False)
