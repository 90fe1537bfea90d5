"""Pictures of the activations themselves: the functions, and what they cost on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import fastact

from ..functions.kernel_cost import ELEMENT_BYTES, KernelCosts
from ..functions.properties import Properties
from ..results import Comparison
from .style import LIGHT, NARROW, figure, label_lines, looks, plain_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

# What is shown of the functions, and the part of it that is enlarged. All kinks and minima of
# ReLU and the GELUs are in it.
_SHOWN, _ENLARGED = (-4.0, 4.0), (-1.25, 1.25)

# Slopes are central differences over twice this, off by no more than 1e-5 and 0 at kinks.
_STEP = 2.0**-10


def functions(comparison: Comparison, width: float) -> Figure:
    """Draw the activations and their derivatives, each with the region near zero enlarged.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    width : float
        In CSS pixels.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    stacked = width <= NARROW
    picture = figure(width, 1040 if stacked else 560)
    plots = picture.subplots(4 if stacked else 2, 1 if stacked else 2).flat
    look = looks(comparison)
    for axes, (title, slope, (low, high)) in zip(
        plots,
        (
            ("function", False, _SHOWN),
            ("function, near zero", False, _ENLARGED),
            ("derivative", True, _SHOWN),
            ("derivative, near zero", True, _ENLARGED),
        ),
        strict=True,
    ):
        for i, entry in enumerate(comparison.properties):
            x, y = curve(entry, low, high, slope=slope)
            color, dashes, marker = look[entry.activation]
            # Marks take turns along the line, so that of two curves on each other both are seen.
            turns = (8 * i, 8 * len(comparison.properties))
            axes.plot(
                x,
                y,
                color=color,
                ls=dashes,
                marker=marker,
                markevery=turns,
                ms=5,
                label=entry.activation,
            )
        axes.set_title(title)
        axes.set_xlim(low, high)
        axes.grid(axis="y")
        for line in (axes.axhline, axes.axvline):
            line(0, color=LIGHT["muted"], lw=0.8, zorder=1)
    handles, names = axes.get_legend_handles_labels()
    picture.legend(
        handles, names, loc="outside upper left", ncols=2 if stacked else 4, handlelength=4
    )
    return picture


def curve(entry: Properties, low: float, high: float, *, slope: bool) -> tuple[Floats, Floats]:
    """Compute a line to draw, which is interrupted where a slope jumps.

    Parameters
    ----------
    entry : Properties
        The activation.
    low, high : float
        From where to where.
    slope : bool
        Whether to compute the derivative.

    Returns
    -------
    x, y : ndarray of float64
        The line.
    """
    kinks = [kink.at for kink in entry.kinks if low < kink.at < high]
    sides = [side for at in kinks for side in (at - 2 * _STEP, at, at + 2 * _STEP)]
    x: Floats = np.union1d(np.linspace(low, high, 161), sides)
    function = getattr(fastact, entry.activation)
    if not slope:
        return x, function(x)
    y: Floats = (function(x + _STEP) - function(x - _STEP)) / (2 * _STEP)
    y[np.isin(x, kinks)] = np.nan
    return x, y


def kernel_costs(comparison: Comparison, width: float) -> Figure:
    """Draw the time for each element against the size of the array, and mark the caches.

    Parameters
    ----------
    comparison : Comparison
        What to draw; it has kernel costs.
    width : float
        In CSS pixels.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    measured = comparison.kernel_costs
    assert measured is not None
    look = looks(comparison)
    picture = figure(width, 360)
    axes = picture.subplots()
    ends = []
    sizes = measured.sizes
    for activation, medians in measured.median_ns.items():
        color, dashes, marker = look[activation]
        quartiles = measured.q1_ns[activation], measured.q3_ns[activation]
        axes.fill_between(sizes, *quartiles, color=color, alpha=0.2, lw=0)
        axes.plot(sizes, medians, color=color, ls=dashes, marker=marker, ms=6)
        ends.append((sizes[-1], medians[-1], activation, color))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    plain_log(axes.yaxis)
    axes.set_xticks(sizes[:: 2 if width > NARROW else 3])
    axes.xaxis.set_major_formatter(lambda n, _: elements(int(n)))
    axes.minorticks_off()
    axes.set_xlabel("elements of the array, float32")
    axes.set_ylabel("ns for each element")
    axes.grid(visible=False, axis="x")
    axes.grid(axis="y")
    for name, room in cache_elements(measured).items():
        if sizes[0] < room < sizes[-1]:
            axes.axvline(room, color=LIGHT["muted"], lw=1.2, ls=(0, (2, 2)))
            axes.annotate(
                name,
                (room, 1),
                (0, 3),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                ha="center",
                color=LIGHT["muted"],
            )
    label_lines(axes, ends)
    return picture


def cache_elements(costs: KernelCosts) -> dict[str, float]:
    """Return how many elements fit each cache, input and output together.

    Parameters
    ----------
    costs : KernelCosts
        Those of the kernels, with the caches of the machine.

    Returns
    -------
    dict
        By the name of the cache; those that the system does not tell are left out.
    """
    caches = costs.caches
    sizes = {"L1d": caches.l1d, "L2": caches.l2, "L3": caches.l3}
    return {name: size / ELEMENT_BYTES for name, size in sizes.items() if size}


def elements(n: int) -> str:
    """Write a number of elements in powers of two.

    Parameters
    ----------
    n : int
        The number.

    Returns
    -------
    str
        With Ki for 1,024 and Mi for 1,048,576.

    Examples
    --------
    >>> elements(64), elements(4096), elements(1 << 24)
    ('64', '4 Ki', '16 Mi')
    """
    for unit, size in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if n >= size and n % size == 0:
            return f"{n // size} {unit}"
    return str(n)
