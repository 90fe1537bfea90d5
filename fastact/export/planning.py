"""Deciding what becomes of each activation of a model, and at which opset."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from . import elementwise, forms
from .checks import one_of
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


def to_replace(
    replace: str | Collection[str] | None, default: tuple[str, ...] = GELUS
) -> tuple[str, ...]:
    """Settle which activations another one takes the place of.

    Parameters
    ----------
    replace : str or collection of str or None
        What a user gave.
    default : tuple of str, optional
        What None stands for.

    Returns
    -------
    tuple of str
        Keys of `fastact.export.elementwise.ACTIVATIONS`.

    Raises
    ------
    TypeError
        If it is no string and no collection of strings.
    ValueError
        If it is empty, or a name is unknown.

    Examples
    --------
    >>> to_replace("relu"), to_replace(None)
    (('relu',), ('gelu', 'gelu_tanh', 'gelu_quick'))
    """
    if replace is None:
        return default
    if not isinstance(replace, Collection):
        raise TypeError(f"replace must be a str or several, not {type(replace).__name__}")
    names = (replace,) if isinstance(replace, str) else tuple(dict.fromkeys(replace))
    if not names:
        raise ValueError("replace names no activation")
    return tuple(one_of("activation to replace", name, elementwise.ACTIVATIONS) for name in names)


def replaceable(found: Sequence[Site], names: Collection[str]) -> list[Site]:
    """Select the sites of these activations that can be replaced.

    Parameters
    ----------
    found : sequence of Site
        The sites of the model.
    names : collection of str
        Their activations.

    Returns
    -------
    list of Site
        Those that are no part of another node.

    Raises
    ------
    ModelError
        If there is none.
    """
    chosen = [site for site in found if site.form != "fused" and site.activation in names]
    if not chosen:
        raise ModelError(
            f"the model has no activation to replace: looked for {', '.join(names)}, "
            f"however they are written; found: {listed(found)}"
        )
    return chosen


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
        raise ModelError(f"the model has no {wanted}; found: {listed(found)}")
    names = {request.activation or site.activation for site in chosen}
    if request.form and not any(request.form in forms.FORMS[name] for name in names):
        known = "; ".join(f"{name} has {', '.join(forms.FORMS[name])}" for name in sorted(names))
        raise ModelError(f"none of the model's activations has the form {request.form!r}: {known}")

    after = _opset(sites, before, request)
    decisions = {}
    for site in found:
        decisions[site.scope.name, site.y] = _decide(site, before, after, request)
    return decisions, after


def listed(found: Sequence[Site]) -> str:
    """List the activations of a model for a message.

    Parameters
    ----------
    found : sequence of Site
        The sites of the model.

    Returns
    -------
    str
        Each activation once, with the node that it is a part of, if it is.
    """
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
    if before < forms.lowest_opset(name, form):  # in a function that imports another opset
        return False
    return forms.nodes(name, form, before, "x", "y") == forms.nodes(name, form, after, "x", "y")
