"""The page of what was found: tables of runtimes and forms, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..architectures import ARCHITECTURES
from ..forms import FORMS
from ..targets import TARGETS
from .cases import CNN_ACTIVATIONS, Case, activations, networks
from .results import CNN_TOLERANCE, OK, TOLERANCE, Findings, Result, disagreements
from .runtimes import BY_HAND, RUNTIMES

_HEAD = """\
# Portability

What each runtime makes of each exported activation and CNN. `python -m fastact.export.portability`
makes this page: it installs every runtime into an environment of its own and runs all models there.

**ok** is followed by the largest error: of an activation on 2,001 values from -10 to 10 against
float64, absolute; of a CNN against onnxruntime, relative to the largest logit. **wrong** is more
than {tolerance} off, a CNN more than {cnn_tolerance}. Then come the operators that the runtime made
of the model, where it tells.
The checkers of onnxruntime's mobile providers look at a model and compute nothing.
"""


class _Notes:
    """Numbers the reasons that cells refer to."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, text: str) -> int:
        """Give the number of a text, the same for the same text."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def _cell(results: Mapping[Case, Result], notes: _Notes) -> str:
    """Write the cell of one form in one runtime, over all its opsets."""
    if not results:
        return "-"
    worst: dict[str, list[Case]] = {}
    for case, result in results.items():
        worst.setdefault(result.status, []).append(case)
    parts = []
    for status, cases in worst.items():
        of_it = [results[case] for case in cases]
        text = status if status == OK else f"**{status}**"
        errors = [result.error for result in of_it if result.error is not None]
        if errors:
            text += f" {max(errors):.1e}" if any(errors) else " 0"
        counts = sorted({result.nodes for result in of_it if result.nodes is not None})
        if counts:
            numbers = " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))
            text += f", {numbers} op" + ("" if counts == [1] else "s")
        if len(worst) > 1:
            text += " (opset " + ", ".join(str(case.opset) for case in cases) + ")"
        reasons = dict.fromkeys(result.reason for result in of_it if result.reason)
        # One reason stands for all opsets: they differ in a number at most.
        text += "".join(f" [{notes.number(reason)}]" for reason in list(reasons)[:1])
        parts.append(text)
    return "; ".join(parts)


def _table(
    found: Mapping[str, Findings],
    rows: Iterable[tuple[str, Callable[[str], list[Case]]]],
    notes: _Notes,
) -> list[str]:
    """Lay out a table: a column for each runtime; a row gives its cases in one."""
    lines = [
        "| | " + " | ".join(RUNTIMES[name].title for name in found) + " |",
        "|---|" + "---|" * len(found),
    ]
    for title, cases in rows:
        cells = []
        for name, findings in found.items():
            results = findings.results
            cells.append(
                _cell({c: results[c.name] for c in cases(name) if c.name in results}, notes)
            )
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def _forms(dtype: str) -> Iterable[tuple[str, Callable[[str], list[Case]]]]:
    for name, forms in FORMS.items():
        for form in forms:
            mine = [
                case
                for case in activations()
                if (case.activation, case.form, case.dtype) == (name, form, dtype)
            ]
            yield f"{name}, {form}", lambda runtime, mine=mine: mine  # type: ignore[misc]


def _networks() -> Iterable[tuple[str, Callable[[str], list[Case]]]]:
    for arch in ARCHITECTURES:
        for activation in CNN_ACTIVATIONS:

            def cases(runtime: str, arch: str = arch, activation: str = activation) -> list[Case]:
                written = networks(RUNTIMES[runtime].target, [arch])
                return [case for case in written if case.activation == activation]

            yield f"{arch}, {activation}", cases


def page(found: Mapping[str, Findings], command: str) -> str:
    """Write the page.

    Parameters
    ----------
    found : mapping of str to Findings
        What was found, by runtime.
    command : str
        What was typed to find it.

    Returns
    -------
    str
        Markdown.
    """
    found = {name: found[name] for name in RUNTIMES if name in found}
    notes = _Notes()
    lines = [_HEAD.format(tolerance=TOLERANCE, cnn_tolerance=CNN_TOLERANCE)]
    lines += [f"Last written by `{command}`.", "", "| runtime | tried on | with |", "|---|---|---|"]
    for name, findings in found.items():
        versions = ", ".join(f"{package} {number}" for package, number in findings.versions.items())
        lines.append(f"| {RUNTIMES[name].title} | {findings.date} | {versions} |")
    lines += ["", "## Activations, float32", ""]
    lines += ["Each at its lowest opset, 13, 17, 20 and 22, as far as these hold the form.", ""]
    lines += _table(found, _forms("float32"), notes)
    lines += ["", "## Activations, float16", ""]
    lines += ["Computed in float32 between two casts; the error is to the nearest float16.", ""]
    lines += _table(found, _forms("float16"), notes)
    lines += ["", "## CNNs", ""]
    lines += ["The activation written as `target=` chooses for the runtime; - if it has none.", ""]
    lines += _table(found, _networks(), notes)
    if notes.texts:
        lines += ["", "## Reasons", ""]
        lines += [f"{number}. {text}" for number, text in enumerate(notes.texts, 1)]
    lines += ["", "## Against the table of targets", ""]
    told = {name: disagreements(name, findings.results) for name, findings in found.items()}
    told = {name: sentences for name, sentences in told.items() if sentences}
    if not told:
        lines.append("`fastact.export.TARGETS` says the same as all of the above.")
    for name, sentences in told.items():
        lines += [f"* {RUNTIMES[name].title}: {sentence}" for sentence in sentences]
    lines += ["", "## By hand, not run here", ""]
    lines += ["What `target=` goes by for the others:", ""]
    lines += ["| runtime | what is known | how | why by hand |", "|---|---|---|---|"]
    for hand, why in BY_HAND.items():
        target = TARGETS[hand]
        known = [f"{name}, {form}: {note}" for (name, form), (_, note) in target.notes.items()]
        known += [f"has no {operator}" for operator in sorted(target.lacks)]
        lines.append(f"| {target.runtime} | {'; '.join(known)} | {target.source} | {why} |")
    return "\n".join(lines) + "\n"
