"""Variants of a user's own model, one for each alternative activation, to be timed in turns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import onnx

from ...export import FORMS, rewrite, sites, verifying
from ...export.checks import one_of
from ...export.elementwise import ACTIVATIONS
from ...export.opsets import opset_of
from ...export.planning import replaceable, to_replace
from ...export.reading import embedded
from ...export.rewriting import load

Model = onnx.ModelProto | str | os.PathLike[str]

#: The name of the model as the user gave it.
AS_IT_IS = "original"

#: The activation, or the form, of a model that has several.
MIXED = "mixed"


@dataclass(frozen=True)
class Alternative:
    """A model with one activation at all of its sites, or why there is none.

    Parameters
    ----------
    name : str
        Activation and form, as in ``"gelu/erf"``; the user's own model is ``"original"``.
    activation, form : str
        The activation, and the form of `fastact.export.FORMS` it is written in. Of the user's
        own model also a spelling that is no form (see `fastact.export.sites.Site.form`), or
        ``"mixed"``.
    sites : int
        How many activations were looked at to be replaced.
    model : onnx.ModelProto or None
        The model, with all of its data inside; None if it could not be made.
    same_function : bool
        Whether it computes what the user's own model does, which was verified in onnxruntime.
        If not, it must be trained again.
    relative : float or None
        The largest change of an output, relative to the largest value of that output, or to 1
        if that is larger; None if the model could not be made.
    opset : int or None
        The opset of the model; None likewise.
    note : str
        A phrase on what is special about it: why it could not be made, that it must be trained
        again, another opset.
    """

    name: str
    activation: str
    form: str
    sites: int
    model: onnx.ModelProto | None
    same_function: bool
    relative: float | None
    opset: int | None
    note: str


def alternatives(
    model: Model,
    activations: Iterable[str],
    *,
    replace: str | Collection[str] | None = None,
    inputs: verifying.Inputs | None = None,
    tolerance: float | None = None,
) -> list[Alternative]:
    """Make a variant of a model for each alternative activation and each of its forms.

    Every activation that `fastact inspect` finds is replaced, whichever it is: a network with
    a ReLU in its stem and Hardswish behind becomes one with GELU throughout, so that two
    variants differ in nothing but the activation. Sigmoids and tanhs that gate a value are no
    activations in this sense and stay, and so does what is a part of one of onnxruntime's
    fused nodes. `replace` narrows that down.

    Parameters
    ----------
    model : onnx.ModelProto or path-like
        The model, or its file. It is not changed.
    activations : iterable of str
        The alternatives, keys of `fastact.export.FORMS`.
    replace : str or collection of str, optional
        The activations to replace; the default is all that are known.
    inputs : mapping of str to ndarray, optional
        What to run the models on to compare their outputs; random values by default.
    tolerance : float, optional
        The largest relative change of an output where the function stays; see `rewrite`.

    Returns
    -------
    list of Alternative
        The model as it is, then a variant for each activation and form. What the model is
        already is not made twice. A variant that cannot be made, or that does not compute
        the same though it should, is there without a model and with the reason.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an activation is unknown.
    ModelError
        If the model is no valid one, has no activation to replace, or does not run in
        onnxruntime.
    ImportError
        If onnxruntime is not installed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> for found in alternatives(cnn("digits", "gelu", form="erf"), ["relu", "gelu"]):
    ...     print(f"{found.name}: {found.note}")
    original: gelu as erf, opset 17
    relu/op: computes something else: it must be trained again
    gelu/op: computes the same; opset 17 -> 20
    """
    if isinstance(activations, str):
        activations = [activations]
    names = [one_of("activation", name, FORMS) for name in dict.fromkeys(activations)]
    replaced = to_replace(replace, tuple(ACTIVATIONS))
    source = embedded(*load(model))
    found = replaceable(sites.find(source), replaced)
    # A model that does not run at all is an error, and no reason to skip a variant.
    verifying.difference(source, source, inputs)

    activation, form = _only(site.activation for site in found), _only(site.form for site in found)
    opset = opset_of(source)
    note = f"{_spellings(found)}, opset {opset}"
    made = [Alternative(AS_IT_IS, activation, form, len(found), source, True, 0.0, opset, note)]
    for key in ((name, form) for name in names for form in FORMS[name]):
        if key != (activation, form):
            made.append(_alternative(source, *key, found, replaced, inputs, tolerance))
    return made


def _only(names: Iterable[str]) -> str:
    different = {*names}
    return different.pop() if len(different) == 1 else MIXED


def _spellings(found: Iterable[sites.Site]) -> str:
    return ", ".join(dict.fromkeys(f"{site.activation} as {site.form}" for site in found))


def _alternative(
    source: onnx.ModelProto,
    activation: str,
    form: str,
    found: Collection[sites.Site],
    replaced: tuple[str, ...],
    inputs: verifying.Inputs | None,
    tolerance: float | None,
) -> Alternative:
    key = (f"{activation}/{form}", activation, form, len(found))
    same = {site.activation for site in found} == {activation}
    try:
        result = rewrite(
            source,
            activation=activation,
            form=form,
            replace=replaced,
            inputs=inputs,
            tolerance=tolerance,
        )
    except ValueError as error:  # of which a ModelError is one
        return Alternative(*key, None, same, None, None, str(error))
    before, after = result.opset
    note = "computes the same" if same else "computes something else: it must be trained again"
    if after != before:
        note += f"; opset {before} -> {after}"
    return Alternative(*key, result.model, same, result.relative, after, note)
