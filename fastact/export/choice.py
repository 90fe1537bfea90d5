"""Chooses form, opset and IR of an activation, by what a user or a runtime asks for."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from . import forms, table
from .forms import DEFAULT_OPSET
from .graph import lowest_ir
from .support import Support, Target
from .table import TABLE
from .targets import DELEGATING, find


class Choice(NamedTuple):
    """How an activation is written, and why so."""

    form: str
    opset: int
    ir: int
    reason: str


def choose(
    activation: str,
    target: str | None = None,
    *,
    form: str | None = None,
    opset: int | None = None,
    besides: Collection[str] = (),
) -> Choice:
    """Choose how to write an activation.

    Parameters
    ----------
    activation : str
        A key of `FORMS`.
    target : str, optional
        A runtime, one of `TARGETS`. Without one only the opset decides.
    form : str, optional
        The form to write, ``"table"`` included; the default is the one that the target runs
        best, and else the first that the opset has.
    opset : int, optional
        The opset to write; the default is 17, a later one if the form needs it, or an earlier
        one if the target reads no later.
    besides : collection of str, optional
        Operators that the model holds besides those of the activation.

    Returns
    -------
    Choice
        The form, the opset, the lowest IR version for it, and a sentence that says why.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is unknown, the opset cannot hold the form, or the target can run none; the
        message says what stands in the way and what to use instead. A provider of onnxruntime
        leaves what it cannot run to the CPU provider, so for one the best form there is chosen.

    Examples
    --------
    >>> choose("gelu", opset=13)[:3]
    ('erf', 13, 7)
    >>> choose("gelu", "onnxruntime>=1.18")[:3]
    ('op', 20, 9)
    >>> print(choose("silu", "mnn").reason)
    silu as 'sigmoid', opset 17, IR 8: MNN runs it as one operator (run: 3.6.1)
    """
    if target is None:
        if form == TABLE:
            forms.entry(activation)
            opset = forms.known_opset(DEFAULT_OPSET if opset is None else opset)
        else:
            form, opset = forms.select(activation, form, opset)
        ir = lowest_ir(opset)
        why = f"{activation} as {form!r}, opset {opset}, IR {ir}: for any runtime that reads these"
        return Choice(form, opset, ir, why)

    runtime = find(target)
    entry = forms.entry(activation)
    opset = None if opset is None else forms.known_opset(opset)
    if form is not None and form != TABLE:
        forms.select(activation, form, opset)  # whose errors say more
    if opset is not None and runtime.opset is not None and opset > runtime.opset:
        raise ValueError(
            f"{runtime.runtime} reads opsets up to {runtime.opset}, but opset {opset} was asked for"
        )
    missing = runtime.missing(besides)
    if missing:
        raise ValueError(f"{runtime.runtime} has no {' and no '.join(missing)} ({runtime.source})")

    best: tuple[Support, str, int, str] | None = None
    against = []
    candidates = tuple(entry.forms) if form is None else (form,)
    for candidate in candidates:
        support, note, written = weigh(runtime, activation, candidate, opset)
        if support <= Support.WRONG:
            against.append(f"not {candidate!r}: {note}")
        elif best is None or support > best[0]:
            best = (support, candidate, written, note)
    obstacles = "; ".join(against)
    if best is None and target in DELEGATING and form != TABLE:
        at_any_opset = (weigh(runtime, activation, candidate, None) for candidate in candidates)
        if all(support == Support.NO for support, *_ in at_any_opset):
            return _left_to_the_cpu(runtime, activation, form, opset, obstacles)
    if best is None:
        raise ValueError(
            f"{runtime.runtime} cannot run {activation} "
            f"({obstacles}; {runtime.source}); {_instead(runtime, activation)}"
        )
    _, found, written, note = best
    ir = lowest_ir(written)
    reason = (
        f"{activation} as {found!r}, opset {written}, IR {ir}: {runtime.runtime} {note} "
        f"({runtime.source})" + (f"; {obstacles}" if obstacles else "")
    )
    return Choice(found, written, ir, reason)


def operators(activation: str, form: str, opset: int = DEFAULT_OPSET) -> list[str]:
    """Name the operators of a form.

    Parameters
    ----------
    activation, form : str
        The activation and its form, ``"table"`` included.
    opset : int, optional
        The opset of the file.

    Returns
    -------
    list of str
        The operators in the order of the nodes.

    Examples
    --------
    >>> operators("gelu", "erf")
    ['Div', 'Erf', 'Add', 'Mul', 'Mul']
    """
    if form == TABLE:
        text = table.nodes("x", "y", "int8", opset)
    else:
        opset = max(opset, forms.lowest_opset(activation, form))
        text = forms.nodes(activation, form, opset, "x", "y")
    return re.findall(r"= (\w+) ", text)


def weigh(
    runtime: Target, activation: str, form: str, opset: int | None
) -> tuple[Support, str, int]:
    """Tell how well a runtime runs a form, why, and at which opset it would be written.

    Parameters
    ----------
    runtime : Target
        The runtime.
    activation, form : str
        The activation and its form, ``"table"`` included.
    opset : int or None
        The opset of the file; None takes the default one, or the nearest that the form has.

    Returns
    -------
    support : Support
        How well it runs.
    note : str
        That in words.
    written : int
        The opset.

    Examples
    --------
    >>> weigh(find("onnxruntime>=1.15"), "gelu", "op", None)[:2]
    (<Support.NO: 0>, 'needs opset 20 and it reads up to 19')
    """
    lowest = forms.LOWEST_OPSET if form == TABLE else forms.lowest_opset(activation, form)
    newest = runtime.opset or max(DEFAULT_OPSET, lowest)
    written = min(newest, max(DEFAULT_OPSET, lowest)) if opset is None else opset
    if lowest > written:
        limit = f"it reads up to {newest}" if opset is None else f"opset {opset} was asked for"
        return Support.NO, f"needs opset {lowest} and {limit}", written
    return *runtime.support(activation, form, operators(activation, form, written)), written


def _left_to_the_cpu(
    runtime: Target, activation: str, form: str | None, opset: int | None, obstacles: str
) -> Choice:
    """Choose what onnxruntime's CPU provider, which takes over, runs best."""
    found, written, ir, _ = choose(activation, "onnxruntime", form=form, opset=opset)
    _, note, _ = weigh(find("onnxruntime"), activation, found, written)
    reason = (
        f"{activation} as {found!r}, opset {written}, IR {ir}: {runtime.runtime} leaves it to the "
        f"CPU provider, which {note}; {obstacles} ({runtime.source}). To run there whole, "
        f"{_instead(runtime, activation)}"
    )
    return Choice(found, written, ir, reason)


def _instead(runtime: Target, activation: str) -> str:
    """Say which activation near to it the runtime does run."""
    for other in ("gelu_tanh", "gelu", "relu"):
        for form in forms.FORMS[other] if other != activation else ():
            if weigh(runtime, other, form, None)[0] >= Support.RUNS:
                return f"use {other}, trained anew, which runs as {form!r}"
    return "use another target"
