"""Writing the activations of a user's model in another form, or another one in their place.

This works on the protobuf message itself, so that what is not touched stays as it was, fields
that are unknown here included.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import onnx

from . import editing, forms, sites, verifying
from .checks import one_of
from .graph import lowest_ir
from .opsets import lowest_ir_of, opset_of, with_opset
from .planning import GELUS, Decision, Request, plan, to_replace
from .reading import ModelError, check, embedded, read
from .targets import find

# Of the largest value of an output. The exact and the tanh form are up to 4.7e-4 apart.
TOLERANCE = 1e-5
# The same for a model in half precision: a few of its last digits.
HALF_TOLERANCE = 5e-3


@dataclass(frozen=True)
class Change:
    """What became of one activation.

    Parameters
    ----------
    activation, y, scope : str
        Which one, the value it makes, and where: "" is the main graph.
    before : tuple of str
        The operators it was written in.
    after : str or None
        The activation and form it has now; None if it was kept.
    reason : str
        Why so.
    """

    activation: str
    y: str
    scope: str
    before: tuple[str, ...]
    after: str | None
    reason: str


@dataclass(frozen=True)
class Rewritten:
    """A rewritten model and what was done to it.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. Data that was in other files still is.
    changes : tuple of Change
        One for each activation.
    opset, ir : tuple of int and int
        Before and after.
    difference, relative : float
        The largest change of an output on the inputs it was run on: absolute, and relative to
        the largest value of that output, or to 1 if that is larger.
    tolerance : float or None
        The largest relative change that was allowed; None if the model is to compute something
        else, for another activation was put in.
    """

    model: onnx.ModelProto
    changes: tuple[Change, ...]
    opset: tuple[int, int]
    ir: tuple[int, int]
    difference: float
    relative: float
    tolerance: float | None


def rewrite(
    model: onnx.ModelProto | str | os.PathLike[str],
    *,
    form: str | None = None,
    opset: int | None = None,
    target: str | None = None,
    activation: str | None = None,
    replace: str | Collection[str] | None = None,
    inputs: verifying.Inputs | None = None,
    tolerance: float | None = None,
) -> Rewritten:
    """Write the activations of a model in another form.

    Parameters
    ----------
    model : onnx.ModelProto or path-like
        The model, or its file. It is not changed.
    form : str, optional
        How to write every GELU that has this form; the others are kept. An exact GELU stays
        exact and a tanh one stays that.
    opset : int, optional
        The opset to bring the model to; activations that it cannot hold are rewritten.
    target : str, optional
        A runtime (see `TARGETS`): every activation is written in the form it runs best, and
        opset and IR version become ones that it reads.
    activation : str, optional
        Put this one in the place of every GELU. That changes what the model computes: it has
        to be trained again.
    replace : str or collection of str, optional
        The activations that `activation` takes the place of, such as ``"relu"`` or
        ``("silu", "hard_swish")``; the default is every GELU. What is a part of another one,
        as a ReLU may be of a Hardswish or of onnxruntime's FusedConv, is not replaced.
    inputs : mapping of str to ndarray, optional
        What to run the model on, before and after; random values by default.
    tolerance : float, optional
        The largest change of an output, relative to its largest value; the default is 1e-5, or
        5e-3 for a model in half precision.

    Returns
    -------
    Rewritten
        The new model, which has passed onnx's checker and gave the same outputs in onnxruntime.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If nothing is asked for, a name is unknown, or the opset cannot hold the form.
    ModelError
        If the model is no valid one, has nothing to replace, does not run in onnxruntime, or
        gives other outputs afterwards.
    ImportError
        If onnxruntime is not installed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> result = rewrite(cnn("digits", "gelu", form="op"), form="erf", opset=13)
    >>> [change.after for change in result.changes], result.opset
    (['gelu as erf', 'gelu as erf', 'gelu as erf'], (20, 13))
    >>> result.relative < result.tolerance
    True
    >>> result = rewrite(cnn("digits", "relu"), activation="gelu", replace="relu")
    >>> [change.after for change in result.changes]
    ['gelu as erf', 'gelu as erf', 'gelu as erf']
    """
    request = _request(form, opset, target, activation, replace)
    source, folder = load(model)
    found = sites.find(source)
    before = opset_of(source)
    decisions, after = plan(found, before, request)
    try:
        # Going up, the opset comes first, and going down last, so that it has every operator.
        result = with_opset(source, after, folder) if after > before else _copy(source)
        editing.apply(result, decisions, after)
        result = with_opset(result, after, folder)
        _fit_ir(result, target)
        whole = embedded(result, folder)
        check(whole)
        difference, relative = verifying.difference(embedded(source, folder), whole, inputs)
        if any(_swaps(decisions[site.scope.name, site.y], site) for site in found):
            tolerance = None
        elif tolerance is None:
            tolerance = HALF_TOLERANCE if editing.in_half_precision(source) else TOLERANCE
        if tolerance is not None and not relative <= tolerance:
            raise ModelError(
                f"an output changed by {relative:.2g} of its largest value, "
                f"more than the tolerance of {tolerance:.2g}"
            )
    except ModelError as error:
        raise ModelError(f"not rewritten: {error}") from None
    changes = []
    for site in found:
        decision = decisions[site.scope.name, site.y]
        after_form = f"{decision.activation} as {decision.form}" if decision.form else None
        where = (site.activation, site.y, site.scope.name, tuple(site.operators))
        changes.append(Change(*where, after_form, decision.reason))
    return Rewritten(
        result,
        tuple(changes),
        (before, after),
        (source.ir_version, result.ir_version),
        difference,
        relative,
        tolerance,
    )


def load(model: onnx.ModelProto | str | os.PathLike[str]) -> tuple[onnx.ModelProto, Path | None]:
    """Take a model as it is, or read it.

    Parameters
    ----------
    model : onnx.ModelProto or path-like
        The model, or its file.

    Returns
    -------
    model : onnx.ModelProto
        The model.
    folder : Path or None
        Where its external data is, if it was a file.

    Raises
    ------
    TypeError
        If it is neither.
    ModelError
        If it is not valid.
    OSError
        If the file cannot be read.
    """
    if isinstance(model, onnx.ModelProto):
        check(embedded(model, None))
        return model, None
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"model must be an onnx.ModelProto or a path, not {type(model).__name__}")
    return read(model), Path(model).parent


def _request(
    form: str | None,
    opset: int | None,
    target: str | None,
    activation: str | None,
    replace: str | Collection[str] | None,
) -> Request:
    if form is None and opset is None and target is None and activation is None:
        raise ValueError("nothing to do: give form, opset, target or activation")
    if activation is not None:
        one_of("activation", activation, forms.FORMS)
    elif replace is not None:
        raise ValueError("replace says what activation takes the place of: give activation, too")
    if form is not None:
        names = GELUS if activation is None else (activation,)
        one_of("form", form, dict.fromkeys(known for g in names for known in forms.FORMS[g]))
    if target is not None:
        find(target)
    opset = None if opset is None else forms.known_opset(opset)
    return Request(form, opset, target, activation, to_replace(replace))


def _swaps(decision: Decision, site: sites.Site) -> bool:
    return decision.form is not None and decision.activation != site.activation


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _fit_ir(model: onnx.ModelProto, target: str | None) -> None:
    """Lower the IR version if the target reads none so new."""
    newest = find(target).opset if target is not None else None
    if newest is not None and model.ir_version > lowest_ir(newest):
        model.ir_version = min(model.ir_version, lowest_ir_of(model))
