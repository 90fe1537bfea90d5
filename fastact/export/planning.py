"""Deciding what becomes of each activation of a model, and at which opset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import forms
from .choice import choose
from .opsets import has
from .reading import ModelError
from .sites import Site
from .targets import find

GELUS = ("gelu", "gelu_tanh", "gelu_quick")


class Request(NamedTuple):
    """What a user asked for; None is nothing."""

    form: str | None = None
    opset: int | None = None
    target: str | None = None
    activation: str | None = None
    replace: tuple[str, ...] = GELUS  # what form and activation are meant for


class Decision(NamedTuple):
    """What becomes of one site: an activation in a form, or None to keep it, and why."""

    activation: str
    form: str | None
    reason: str


def plan(
    found: Sequence[Site], before: int, request: Request
) -> tuple[dict[tuple[str, str], Decision], int]:
    """Decide what becomes of each site.

    Parameters
    ----------
    found : sequence of Site
        The sites of the model.
    before : int
        Its opset.
    request : Request
        What was asked for.

    Returns
    -------
    decisions : dict
        One for each site, by the name of its scope and of its value y.
    opset : int
        The opset to write.

    Raises
    ------
    ModelError
        If there is none of the activations for which a form or another one was asked.
    ValueError
        If the opset cannot hold what was asked for.
    """
    sites = [site for site in found if site.form != "fused"]
    chosen = [site for site in sites if site.activation in request.replace]
    if not chosen and (request.form or request.activation):
        wanted = "GELU" if request.replace == GELUS else " or ".join(request.replace)
        raise ModelError(f"the model has no {wanted}; found: {_listed(found)}")
    names = {request.activation or site.activation for site in chosen}
    if request.form and not any(request.form in forms.FORMS[name] for name in names):
        known = "; ".join(f"{name} has {', '.join(forms.FORMS[name])}" for name in sorted(names))
        raise ModelError(f"none of the model's activations has the form {request.form!r}: {known}")

    after = _opset(sites, before, request)
    decisions = {}
    for site in found:
        decisions[site.scope.name, site.y] = _decide(site, before, after, request)
    return decisions, after


def _listed(found: Sequence[Site]) -> str:
    """List activations by name, and the nodes that those which are a part of them are in."""
    names = [
        f"{site.activation} in {_fused_node(site)}" if site.form == "fused" else site.activation
        for site in found
    ]
    return ", ".join(dict.fromkeys(names)) or "no activation"


def _fused_node(site: Site) -> str:
    return f"{site.anchor.domain}.{site.anchor.op_type}"


def _opset(sites: Sequence[Site], before: int, request: Request) -> int:
    """Settle the opset: the one asked for, or the nearest to the model's that will do."""
    if request.opset is not None:
        return request.opset
    opset = before
    newest = find(request.target).opset if request.target else None
    if newest is not None:
        opset = min(opset, newest)
    for site in sites:
        name, form = _wanted(site, request)
        if form is not None and request.target is None:
            opset = max(opset, forms.lowest_opset(name, form))
        elif request.target is not None:
            try:
                choose(name, request.target, form=form, opset=opset)
            except ValueError:
                try:
                    opset = max(opset, choose(name, request.target, form=form).opset)
                except ValueError:
                    continue  # cannot run at all, which the decision will say
    return opset


def _wanted(site: Site, request: Request) -> tuple[str, str | None]:
    """Tell the activation that a site is to have, and the form if it was named."""
    if site.activation not in request.replace:
        return site.activation, None
    name = request.activation or site.activation
    return name, request.form if request.form in forms.FORMS[name] else None


def _decide(site: Site, before: int, after: int, request: Request) -> Decision:
    if site.form == "fused":
        return Decision(site.activation, None, f"is a part of {_fused_node(site)}")
    name, form = _wanted(site, request)
    swapped = name != site.activation
    if request.form and site.activation in request.replace and form is None and not swapped:
        accepted = ", ".join(map(repr, forms.FORMS[name]))
        return Decision(name, None, f"{name} has no form {request.form!r}; it has {accepted}")
    reason = "as asked"
    if request.target is not None:
        try:
            choice = choose(name, request.target, form=form, opset=after)
        except ValueError as error:
            return Decision(name, None, str(error))
        form, reason = choice.form, choice.reason
    elif form is not None or swapped:
        form, _ = forms.select(name, form, after)
    elif site.form in forms.FORMS[name] and forms.lowest_opset(name, site.form) <= after:
        form, reason = site.form, "as before"  # which may be spelled otherwise there
    elif all(node.domain or has(node.op_type, after) for node in site.nodes):
        return Decision(name, None, f"opset {after} has its operators")
    else:
        form, _ = forms.select(name, None, after)
        reason = f"opset {after} has no {site.anchor.op_type}"
    if not swapped and form == site.form and _stays(name, form, before, after):
        return Decision(name, None, f"is written so already: {form}")
    return Decision(name, form, reason)


def _stays(name: str, form: str, before: int, after: int) -> bool:
    """Tell whether a form is spelled alike in both opsets."""
    return forms.nodes(name, form, before, "x", "y") == forms.nodes(name, form, after, "x", "y")
