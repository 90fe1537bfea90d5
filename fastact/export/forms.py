"""The ONNX forms of every activation: the nodes of each, and the lowest opset that has them."""

from __future__ import annotations

import math
from typing import NamedTuple

import onnx

from .checks import integer, one_of

# Loaded by every onnxruntime since 1.13 and by the converters of the mobile runtimes.
DEFAULT_OPSET = 17

# The first opset in which Add and Mul broadcast as NumPy does, which every graph here relies on.
LOWEST_OPSET = 7


class Form(NamedTuple):
    """One way to write an activation as ONNX nodes from ``{x}`` to ``{y}``."""

    opset: int  # the lowest that has every operator of the nodes
    nodes: str  # ONNX text; names that no node computes are those of CONSTANTS


class Activation(NamedTuple):
    """What can be exported of one activation."""

    dtypes: tuple[str, ...]
    reason: str  # why not more dtypes
    forms: dict[str, Form]  # the preferred one first


ACTIVATIONS = {
    "relu": Activation(
        dtypes=("float32", "float16", "float64"),
        reason="only floats have it in every opset",
        forms={
            "op": Form(7, "{y} = Relu ({x})"),
        },
    ),
    "gelu": Activation(
        dtypes=("float32", "float16"),
        reason="onnxruntime has no CPU kernel for it",
        forms={
            "op": Form(20, '{y} = Gelu <approximate = "none"> ({x})'),
            # x/2 (1 + erf(x/sqrt(2))), operation for operation the pattern that onnxruntime
            # replaces by its own Gelu. Multiplying by 1/sqrt(2) instead of dividing is not seen.
            "erf": Form(
                9,
                """
                {y}_scaled = Div ({x}, sqrt_2)
                {y}_erf = Erf ({y}_scaled)
                {y}_erf_plus_1 = Add ({y}_erf, one)
                {y}_doubled = Mul ({x}, {y}_erf_plus_1)
                {y} = Mul ({y}_doubled, half)
                """,
            ),
        },
    ),
    "gelu_tanh": Activation(
        dtypes=("float32", "float16"),
        reason="onnxruntime has no CPU kernel for it",
        forms={
            "op": Form(20, '{y} = Gelu <approximate = "tanh"> ({x})'),
            # x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). The cube is two products and not
            # Pow, which is slow, and which some converters silently turn into the exact GELU.
            # x is halved before the last product, which overflows for no finite x then.
            "tanh": Form(
                7,
                """
                {y}_square = Mul ({x}, {x})
                {y}_cube = Mul ({y}_square, {x})
                {y}_cube_part = Mul ({y}_cube, cube_factor)
                {y}_sum = Add ({x}, {y}_cube_part)
                {y}_scaled = Mul ({y}_sum, sqrt_2_over_pi)
                {y}_tanh = Tanh ({y}_scaled)
                {y}_tanh_plus_1 = Add ({y}_tanh, one)
                {y}_halved = Mul ({x}, half)
                {y} = Mul ({y}_halved, {y}_tanh_plus_1)
                """,
            ),
        },
    ),
}

CONSTANTS = {
    "half": 0.5,
    "one": 1.0,
    "sqrt_2": math.sqrt(2.0),
    "sqrt_2_over_pi": math.sqrt(2.0 / math.pi),
    "cube_factor": 0.044715,
}

FORMS = {name: tuple(activation.forms) for name, activation in ACTIVATIONS.items()}


def nodes(activation: str, form: str, x: str, y: str) -> str:
    """Write the nodes that compute an activation of the value `x` into the value `y`.

    Parameters
    ----------
    activation, form : str
        A key of `FORMS` and one of its forms.
    x, y : str
        Names of the input and output value. Values in between are named after `y`.

    Returns
    -------
    str
        ONNX text.

    Examples
    --------
    >>> nodes("gelu", "op", "conv1", "act1")
    'act1 = Gelu <approximate = "none"> (conv1)'
    """
    return ACTIVATIONS[activation].forms[form].nodes.format(x=x, y=y)


def select(activation: str, form: str | None, opset: int | None) -> tuple[str, int]:
    """Settle the form and opset of an activation from what a user asked for.

    Parameters
    ----------
    activation : str
        A key of `FORMS`.
    form : str or None
        One of its forms; None takes the first that the opset holds.
    opset : int or None
        The opset to write; None takes `DEFAULT_OPSET`, or a later one if `form` needs it.

    Returns
    -------
    form : str
        The form to write.
    opset : int
        The opset to write.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is unknown, the opset is outside what the installed onnx knows, or the opset
        is too early for the form.

    Examples
    --------
    >>> select("gelu", None, None)
    ('erf', 17)
    >>> select("gelu", "op", None)
    ('op', 20)
    >>> select("gelu", None, 21)
    ('op', 21)
    """
    forms = ACTIVATIONS[one_of("activation", activation, ACTIVATIONS)].forms
    if form is not None:
        one_of(f"form of {activation}", form, forms)
    if opset is None:
        opset = max(DEFAULT_OPSET, forms[form].opset) if form else DEFAULT_OPSET
    opset = _known(opset)

    for candidate in forms if form is None else (form,):
        if forms[candidate].opset <= opset:
            return candidate, opset

    earliest = min(forms, key=lambda name: forms[name].opset)
    wanted = form or earliest
    way_out = "" if wanted == earliest else f"; form={earliest!r} needs {forms[earliest].opset}"
    raise ValueError(
        f"form={wanted!r} of {activation} needs opset {forms[wanted].opset} or later, "
        f"but opset {opset} was asked for{way_out}"
    )


def _known(opset: int) -> int:
    newest = onnx.defs.onnx_opset_version()
    opset = integer("opset", opset)
    if not LOWEST_OPSET <= opset <= newest:
        raise ValueError(
            f"opset must be from {LOWEST_OPSET} to {newest}, "
            f"the newest that onnx {onnx.__version__} knows; got {opset}"
        )
    return opset
