"""What was found: outputs judged, kept as JSON, and held against what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..choice import operators
from ..support import Support
from ..targets import find
from .cases import Array, Case, activations
from .runtimes import RUNTIMES

OK, WRONG, REFUSED = "ok", "wrong", "refused"

# Absolute, of an activation; the exact and the tanh GELU are 4.7e-4 apart. One unit in the last
# place of float16 on top. A CNN's errors are relative to its largest logit: MNN's convolutions
# are up to 1.2e-4 off in LeNet-5 with ReLU, and the other GELU in the place of one changes 2.2e-4
# or more (but for mobilenet, 1.6e-6).
TOLERANCE = 1e-5
FLOAT16_UNIT = 2.0**-10
CNN_TOLERANCE = 2e-4


@dataclass(frozen=True)
class Result:
    """What a runtime made of a model.

    Parameters
    ----------
    status : {"ok", "wrong", "refused"}
        Whether it ran, and right.
    error : float or None, optional
        The largest error; None if nothing was computed or it is not a number.
    nodes : int or None, optional
        How many operators the runtime made of it.
    reason : str, optional
        Why it was refused.
    """

    status: str
    error: float | None = None
    nodes: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Findings:
    """What one runtime made of all models.

    Parameters
    ----------
    date : str
        When.
    versions : dict of str to str
        Of the packages in its environment, the runtime first, and of Python.
    results : dict of str to Result
        By the name of the case.
    """

    date: str
    versions: dict[str, str]
    results: dict[str, Result] = field(default_factory=dict)


def judge(case: Case, answer: Mapping[str, Any], output: Array | None) -> Result:
    """Judge what a runtime made of a model.

    Parameters
    ----------
    case : Case
        The model.
    answer : mapping
        ``nodes``, or ``refused``.
    output : ndarray or None
        What it computed; None if it only looked at the model.

    Returns
    -------
    Result
        The judgement.

    Examples
    --------
    >>> case = Case("relu", "op", 13)
    >>> judge(case, {"nodes": 1}, case.expected + np.float32(0.5))
    Result(status='wrong', error=0.5, nodes=1, reason='')
    """
    if "refused" in answer:
        return Result(REFUSED, reason=_one_line(answer["refused"]))
    nodes = answer["nodes"]
    if output is None:
        return Result(OK, nodes=nodes)
    expected = case.expected.astype(np.float64)
    if output.shape != expected.shape:
        return Result(WRONG, nodes=nodes, reason=f"its output has the shape {output.shape}")
    difference = np.abs(output.astype(np.float64) - expected)
    allowed = np.full(expected.shape, TOLERANCE)
    if case.arch:
        difference /= np.abs(expected).max()
        allowed[...] = CNN_TOLERANCE
    elif case.dtype == "float16":
        allowed += FLOAT16_UNIT * np.abs(expected)
    largest = float(difference.max())
    error = float(f"{largest:.1e}") if np.isfinite(largest) else None
    return Result(OK if (difference <= allowed).all() else WRONG, error, nodes)


# Where the reason is in what onnxruntime says, which begins with functions of its source.
_REASON = re.compile(r"Unsupported model IR version.*|Current official support.*?\d(?=\.)")


def _one_line(text: str) -> str:
    """Shorten what a runtime says to its reason, without the paths of this machine.

    >>> _one_line("RuntimeError: cannot read /tmp/a/b.onnx, since it is empty")
    'cannot read b.onnx, since it is empty'
    """
    found = _REASON.search(text)
    if found:
        return found[0]
    text = re.sub(r"^(?:Fail|NotImplementedError|RuntimeError): ", "", text)
    text = re.sub(r"(?:/[\w.@+-]+)+/", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:160] if lines else "no reason given"


def read(path: Path) -> dict[str, Findings]:
    """Read what was found before.

    Parameters
    ----------
    path : Path
        A file that `write` wrote.

    Returns
    -------
    dict of str to Findings
        By runtime.
    """
    return {
        name: Findings(
            entry["date"],
            entry["versions"],
            {case: Result(**result) for case, result in entry["results"].items()},
        )
        for name, entry in json.loads(path.read_text(encoding="utf-8")).items()
    }


def to_json(found: Mapping[str, Findings]) -> str:
    """Write what was found as JSON, a line for each model.

    Parameters
    ----------
    found : mapping of str to Findings
        By runtime.

    Returns
    -------
    str
        The text.
    """
    runtimes = []
    for name, findings in found.items():
        # What is at its default is left out.
        lines = ",\n".join(
            f"      {json.dumps(case)}: "
            + json.dumps({key: value for key, value in vars(result).items() if value or value == 0})
            for case, result in findings.results.items()
        )
        runtimes.append(
            f"  {json.dumps(name)}: {{\n"
            f'    "date": {json.dumps(findings.date)},\n'
            f'    "versions": {json.dumps(findings.versions)},\n'
            f'    "results": {{\n{lines}\n    }}\n  }}'
        )
    return "{\n" + ",\n".join(runtimes) + "\n}\n"


def differences(expected: Findings, found: Findings) -> list[str]:
    """Tell where a runtime no longer does what it did.

    Parameters
    ----------
    expected, found : Findings
        Before and now.

    Returns
    -------
    list of str
        A sentence each. Errors may change within their limits, and so may the operators of a
        CNN, which depend on the CPU; those of an activation may not.
    """
    told = []
    for name in dict.fromkeys([*expected.results, *found.results]):
        before, now = expected.results.get(name), found.results.get(name)
        if before is None or now is None:
            told.append(f"{name}: {'was not tried before' if now else 'was not tried'}")
        elif before.status != now.status:
            told.append(f"{name}: was {describe(before)}, is {describe(now)}")
        elif before.nodes != now.nodes and name in {case.name for case in activations()}:
            told.append(f"{name}: was {before.nodes} operators, is {now.nodes}")
    return told


def describe(result: Result) -> str:
    """Put a result into a few words.

    Parameters
    ----------
    result : Result
        The result.

    Returns
    -------
    str
        The words.

    Examples
    --------
    >>> describe(Result("ok", 1e-7, 1)), describe(Result("refused", reason="no Gelu"))
    ('ok (1e-07)', 'refused (no Gelu)')
    """
    if result.error is not None:
        detail = f"{result.error:.2g}"
    else:
        detail = result.reason or ("NaN" if result.status == WRONG else "not computed")
    return f"{result.status} ({detail})"


def disagreements(runtime: str, results: Mapping[str, Result]) -> list[str]:
    """Tell where the table of targets says something else than what was found.

    Parameters
    ----------
    runtime : str
        A key of `RUNTIMES`.
    results : mapping of str to Result
        What was found, by the name of the case.

    Returns
    -------
    list of str
        A sentence each.
    """
    target = find(RUNTIMES[runtime].target)
    told = []
    by_form: dict[tuple[str, str], dict[int, Result]] = {}
    for case in activations():
        result = results.get(case.name)
        if result is None or case.dtype != "float32":
            continue
        if target.opset is not None and case.opset > target.opset:
            if result.status != REFUSED:
                told.append(f"{case.name}: it reads this opset; the table ends at {target.opset}")
            continue
        by_form.setdefault((case.activation, case.form), {})[case.opset] = result
    for (activation, form), found in by_form.items():
        used = operators(activation, form)
        claimed, note = target.support(activation, form, used)
        seen = _seen(found.values())
        # One operator that stays one may be either.
        either = len(used) == 1 and (claimed, seen) == (Support.RUNS, Support.FUSED)
        if claimed != seen and not either:
            told.append(
                f"{activation} as {form}: the table says {claimed.name} ({note}), "
                f"found {seen.name}: "
                + ", ".join(f"opset {opset} {describe(r)}" for opset, r in found.items())
            )
    told += [
        f"{name}: it is what the table chooses, and was {describe(result)}"
        for name, result in results.items()
        if result.status != OK and name not in {case.name for case in activations()}
    ]
    return told


def _seen(results: Iterable[Result]) -> Support:
    """Sum up the opsets of a form: the worst of them, and one operator only if always so."""
    results = list(results)
    if any(result.status == REFUSED for result in results):
        return Support.NO
    if any(result.status == WRONG for result in results):
        return Support.WRONG
    return Support.FUSED if all(result.nodes == 1 for result in results) else Support.RUNS
