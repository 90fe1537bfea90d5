"""A comparison as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from ..._extras import require
from ..profiles import NOT_EMULATED
from ..results import Comparison
from . import activation_tables, tables
from .charts import Chart, charts
from .style import NARROW, PALETTE, WIDE, svg

_FOLDER = Path(__file__).parent


def save(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison as a page, whole or not at all.

    Parameters
    ----------
    comparison : Comparison
        What to write.
    path : path-like
        The file. An existing one is replaced.

    Raises
    ------
    ImportError
        If matplotlib or jinja2 is not installed.
    OSError
        If the file cannot be written; nothing is left behind then.
    """
    from ...export.files import write_bytes

    write_bytes(Path(path), render(comparison).encode())


def render(comparison: Comparison) -> str:
    """Return a comparison as a page.

    Parameters
    ----------
    comparison : Comparison
        What to write.

    Returns
    -------
    str
        HTML with its pictures and styles inside; the same for the same comparison.

    Raises
    ------
    ImportError
        If matplotlib or jinja2 is not installed.
    """
    jinja2 = require("jinja2", "html")
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    head, reasons = answer(comparison)
    page: str = templates.get_template("report.html.j2").render(
        c=comparison,
        answer=head,
        reasons=reasons,
        charts=[(chart, pictures(chart, comparison)) for chart in charts(comparison)],
        tables=tables,
        activation_tables=activation_tables,
        not_emulated=NOT_EMULATED,
        palette=PALETTE,
        css=(_FOLDER / "report.css").read_text(encoding="utf-8"),
    )
    return page


def pictures(chart: Chart, comparison: Comparison) -> dict[str, str]:
    """Draw a chart for a desk and for a phone.

    Parameters
    ----------
    chart : Chart
        What to draw.
    comparison : Comparison
        What it shows.

    Returns
    -------
    dict
        SVG by ``"wide"`` and ``"narrow"``, between which the page chooses.
    """
    return {
        size: svg(partial(chart.draw, comparison, width), f"{chart.key}-{size}")
        for size, width in (("wide", WIDE), ("narrow", NARROW))
    }


def answer(comparison: Comparison) -> tuple[str, str]:
    """Split a verdict into the answer and the reasons.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    answer, reasons : str
        Together what the verdict says.
    """
    verdict = comparison.verdict
    if verdict.take is not None:
        head = f"Take {verdict.take}"
    else:
        head = "No verdict" if verdict.too_noisy else "No model meets the budget"
    reasons = verdict.sentence.removeprefix(f"{head}: ")
    return head, reasons[:1].upper() + reasons[1:]
