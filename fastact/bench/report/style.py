"""How pictures look: colours for light and dark, sizes in CSS pixels, and SVG for a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from ..._extras import require
from ..results import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: The role of every colour that a picture or the page has, on light and on dark paper. Text has
#: a contrast of at least 4.5 to 1, and the four hues stay apart for the colour-blind.
PALETTE = {
    "paper": ("#ffffff", "#15181c"),
    "panel": ("#f3f5f7", "#1e2329"),
    "line": ("#d5dae0", "#39414a"),
    "muted": ("#565e68", "#a8b0ba"),
    "ink": ("#1a1d21", "#e8eaed"),
    "hue1": ("#0067b0", "#58b4f5"),
    "hue2": ("#b84300", "#ff9a5c"),
    "hue3": ("#9c3587", "#e697d2"),
    "hue4": ("#007a5a", "#36c99a"),
}
LIGHT = {role: light for role, (light, dark) in PALETTE.items()}

_HUES = [LIGHT[role] for role in PALETTE if role.startswith("hue")]
Dashes = str | tuple[float, tuple[float, ...]]
_DASHES: tuple[Dashes, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)))
_MARKERS = "osD^vPX*"

#: Widths of a picture in CSS pixels: on a desk, and on a phone.
WIDE, NARROW = 760, 336

#: Height of a line of text. A point of matplotlib is a CSS pixel here.
TEXT = 12

_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "xtick.labelsize": TEXT,
    "ytick.labelsize": TEXT,
    "legend.fontsize": TEXT,
    "legend.frameon": False,
    "text.parse_math": False,  # a file's name may hold a dollar sign
    "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["muted"],
    "axes.titlecolor": LIGHT["ink"],
    "axes.edgecolor": LIGHT["line"],
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "xtick.color": LIGHT["line"],
    "ytick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["muted"],
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": LIGHT["line"],
    "grid.linewidth": 0.8,
    "lines.linewidth": 2,
    "hatch.linewidth": 1.2,
    "figure.dpi": 72,
    "figure.facecolor": LIGHT["paper"],
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "fastact",  # the same bytes on every run
}


class Look(NamedTuple):
    """What sets one series of a picture apart, also without colour."""

    color: str
    dashes: Dashes
    marker: str


@contextmanager
def style(**changes: str) -> Iterator[None]:
    """Draw in the project's style inside a ``with``, whatever a user's matplotlibrc says.

    Parameters
    ----------
    **changes : str
        Further settings of matplotlib, with ``_`` for ``.``.
    """
    require("matplotlib", "html")
    from matplotlib.style import context

    further = {name.replace("_", "."): value for name, value in changes.items()}
    with context(["default", _STYLE | further]):
        yield


def figure(width: float, height: float) -> Figure:
    """Return an empty figure.

    Parameters
    ----------
    width, height : float
        In CSS pixels.

    Returns
    -------
    matplotlib.figure.Figure
        It belongs to no window.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width / 72, height / 72))


def looks(comparison: Comparison) -> dict[str, Look]:
    """Give every model and every activation of a comparison its look.

    Parameters
    ----------
    comparison : Comparison
        What is drawn.

    Returns
    -------
    dict
        By the name of the model or activation. Models of one activation share its colour.
    """
    activations = dict.fromkeys(m.activation for m in comparison.measurements)
    activations |= dict.fromkeys(entry.activation for entry in comparison.properties)
    colors = dict(zip(activations, cycle(_HUES), strict=False))
    shapes = list(zip(colors, cycle(_DASHES), cycle(_MARKERS), strict=False))
    models = zip(comparison.measurements, cycle(_DASHES), cycle(_MARKERS), strict=False)
    return {
        **{name: Look(colors[name], dashes, marker) for name, dashes, marker in shapes},
        **{m.name: Look(colors[m.activation], dashes, marker) for m, dashes, marker in models},
    }


def plain_log(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis plainly.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
        The axis.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def beside(axes: Axes, x: float, y: float, text: str, weight: str = "normal") -> None:
    """Write a short text to the right of a point, on paper, so that no line runs through it.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The plot.
    x, y : float
        The point.
    text, weight : str
        What to write, ``"bold"`` or not.
    """
    axes.annotate(
        text,
        (x, y),
        (7, 0),
        textcoords="offset points",
        va="center",
        fontweight=weight,
        bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 1},
    )


def label_lines(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write labels to the right of a plot, one below the other, each tied to its point.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The plot. Its limits are final.
    ends : sequence of tuple
        For each label the point's x and y, the text and the colour.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    points = [tuple(to_axes.transform((x, y))) for x, y, _, _ in ends]
    gap = 1.25 * TEXT / axes.get_window_extent().height
    heights = spread([y for _, y in points], gap)
    for (x, y, text, color), height in zip(ends, heights, strict=True):
        axes.annotate(
            text,
            (x, y),
            (1.03, height),
            textcoords="axes fraction",
            color=color,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.8, "shrinkA": 1, "shrinkB": 3},
        )


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move numbers apart that are too close, and as little as that takes.

    Parameters
    ----------
    places : sequence of float
        The numbers.
    gap : float
        The least distance of two of them.

    Returns
    -------
    list of float
        The moved numbers, in the order of `places`.

    Examples
    --------
    >>> spread([2.0, 0.0, 0.0], gap=1.0)
    [2.0, -0.5, 0.5]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[tuple[float, int]] = []  # middle and size of what stands together
    for index in order:
        middle, size = places[index], 1
        while groups and middle - groups[-1][0] < gap * (size + groups[-1][1]) / 2:
            before, many = groups.pop()
            middle = (before * many + middle * size) / (many + size)
            size += many
        groups.append((middle, size))
    moved = [
        middle + gap * (rank - (size - 1) / 2) for middle, size in groups for rank in range(size)
    ]
    result = [0.0] * len(places)
    for index, place in zip(order, moved, strict=True):
        result[index] = place
    return result


def svg(draw: Callable[[], Figure], name: str) -> str:
    """Draw a picture as SVG to stand inside of a page.

    Parameters
    ----------
    draw : callable
        Returns the figure.
    name : str
        Comes first in all ids of the picture, so that they are unique in the page.

    Returns
    -------
    str
        One ``<svg>`` element, hidden from screen readers. Its text is text in the page's font,
        and its colours are CSS variables called as in `PALETTE`.
    """
    buffer = io.StringIO()
    # The font of the page may be wider than the one that matplotlib measures with, never less so.
    with style(svg_fonttype="none"):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw().savefig(buffer, format="svg", transparent=True, metadata=nothing)
    text = buffer.getvalue()
    view_box = re.search(r'viewBox="0 0 ([\d.]+) [\d.]+"', text)
    assert view_box is not None
    start = text.index(">", text.index("<svg")) + 1
    body = re.sub(r"<style[^>]*>[^<]*</style>", "", text[start:])
    body = re.sub(r' id="', f' id="{name}-', body)
    body = re.sub(r' xlink:href="#', f' href="#{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", body)
    for role, color in LIGHT.items():
        body = body.replace(color, f"var(--{role})")
    return (
        f'<svg {view_box[0]} style="max-width: {float(view_box[1]):g}px" aria-hidden="true">{body}'
    )
