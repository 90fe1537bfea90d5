"""The ONNX forms of every activation: the nodes of each, and the lowest opset that has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import onnx

from .checks import integer, one_of

# Loaded by every onnxruntime since 1.13 and by the converters of the mobile runtimes.
DEFAULT_OPSET = 17

# The first opset in which Add and Mul broadcast as NumPy does, which every graph here relies on.
LOWEST_OPSET = 7


# The nodes from {x} to {y} as ONNX text, by the first opset that has them spelled so. Names that
# no node computes are those of CONSTANTS.
Form = Mapping[int, str]


class Activation(NamedTuple):
    """What can be exported of one activation."""

    forms: dict[str, Form]  # the preferred one first
    dtypes: tuple[str, ...] = ("float32", "float16")
    reason: str = "its constants are float32"  # why not more dtypes


NO_KERNEL = "onnxruntime has no CPU kernel for it"

ACTIVATIONS = {
    "relu": Activation(
        dtypes=("float32", "float16", "float64"),
        reason="only floats have it in every opset",
        forms={"op": {7: "{y} = Relu ({x})"}},
    ),
    "relu6": Activation(
        forms={
            "clip": {
                7: "{y} = Clip <min = 0.0, max = 6.0> ({x})",
                11: "{y} = Clip ({x}, zero, six)",
            },
        },
    ),
    "gelu": Activation(
        reason=NO_KERNEL,
        forms={
            "op": {20: '{y} = Gelu <approximate = "none"> ({x})'},
            # x/2 (1 + erf(x/sqrt(2))), operation for operation the pattern that onnxruntime
            # replaces by its own Gelu. Multiplying by 1/sqrt(2) instead of dividing is not seen.
            "erf": {
                9: """
                {y}_scaled = Div ({x}, sqrt_2)
                {y}_erf = Erf ({y}_scaled)
                {y}_erf_plus_1 = Add ({y}_erf, one)
                {y}_doubled = Mul ({x}, {y}_erf_plus_1)
                {y} = Mul ({y}_doubled, half)
                """,
            },
        },
    ),
    "gelu_tanh": Activation(
        reason=NO_KERNEL,
        forms={
            "op": {20: '{y} = Gelu <approximate = "tanh"> ({x})'},
            # x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). The cube is two products and not
            # Pow, which is slow, and which some converters silently turn into the exact GELU.
            # x is halved before the last product, which overflows for no finite x then.
            "tanh": {
                7: """
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
            },
        },
    ),
    # x sigmoid(a x) becomes one QuickGelu in onnxruntime, whose version 1.32 does not fuse Swish,
    # the operator of opset 24, and refuses it in opset 28.
    "gelu_quick": Activation(
        forms={
            "quick": {
                7: """
                {y}_scaled = Mul ({x}, quick_factor)
                {y}_sigmoid = Sigmoid ({y}_scaled)
                {y} = Mul ({x}, {y}_sigmoid)
                """,
            },
        },
    ),
    "silu": Activation(
        forms={
            "sigmoid": {
                7: """
                {y}_sigmoid = Sigmoid ({x})
                {y} = Mul ({x}, {y}_sigmoid)
                """,
            },
        },
    ),
    # x min(max(x + 3, 0), 6) / 6. The quotient comes before the product, which overflows for no
    # finite x then. onnxruntime turns the operator into the second form.
    "hard_swish": Activation(
        forms={
            "op": {14: "{y} = HardSwish ({x})"},
            "hard_sigmoid": {
                7: """
                {y}_sigmoid = HardSigmoid <alpha = 0.16666667163372, beta = 0.5> ({x})
                {y} = Mul ({x}, {y}_sigmoid)
                """,
            },
            "clip": {
                11: """
                {y}_shifted = Add ({x}, three)
                {y}_clipped = Clip ({y}_shifted, zero, six)
                {y}_share = Div ({y}_clipped, six)
                {y} = Mul ({x}, {y}_share)
                """,
            },
        },
    ),
}

CONSTANTS = {
    "zero": 0.0,
    "half": 0.5,
    "one": 1.0,
    "three": 3.0,
    "six": 6.0,
    "sqrt_2": math.sqrt(2.0),
    "sqrt_2_over_pi": math.sqrt(2.0 / math.pi),
    "cube_factor": 0.044715,
    "quick_factor": 1.702,
}

FORMS = {name: tuple(activation.forms) for name, activation in ACTIVATIONS.items()}


def entry(activation: str) -> Activation:
    """Look up what can be exported of an activation.

    Parameters
    ----------
    activation : str
        A key of `FORMS`.

    Returns
    -------
    Activation
        Its forms and dtypes.

    Raises
    ------
    TypeError
        If `activation` is not a string.
    ValueError
        If it is unknown.
    """
    return ACTIVATIONS[one_of("activation", activation, ACTIVATIONS)]


def lowest_opset(activation: str, form: str) -> int:
    """Tell the first opset that can hold an activation in one of its forms.

    Parameters
    ----------
    activation, form : str
        A key of `FORMS` and one of its forms.

    Returns
    -------
    int
        The opset.
    """
    return min(ACTIVATIONS[activation].forms[form])


def nodes(activation: str, form: str, opset: int, x: str, y: str) -> str:
    """Write the nodes that compute an activation of the value `x` into the value `y`.

    Parameters
    ----------
    activation, form : str
        A key of `FORMS` and one of its forms.
    opset : int
        The opset of the file, one that can hold the form.
    x, y : str
        Names of the input and output value. Values in between are named after `y`.

    Returns
    -------
    str
        ONNX text.

    Examples
    --------
    >>> nodes("relu6", "clip", 17, "conv1", "act1")
    'act1 = Clip (conv1, zero, six)'
    """
    spellings = ACTIVATIONS[activation].forms[form]
    return spellings[max(first for first in spellings if first <= opset)].format(x=x, y=y)


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
    forms = entry(activation).forms
    if form is not None:
        one_of(f"form of {activation}", form, forms)
    if opset is None:
        opset = max(DEFAULT_OPSET, min(forms[form])) if form else DEFAULT_OPSET
    opset = known_opset(opset)

    for candidate in forms if form is None else (form,):
        if min(forms[candidate]) <= opset:
            return candidate, opset

    earliest = min(forms, key=lambda name: min(forms[name]))
    wanted = form or earliest
    way_out = "" if wanted == earliest else f"; form={earliest!r} needs {min(forms[earliest])}"
    raise ValueError(
        f"form={wanted!r} of {activation} needs opset {min(forms[wanted])} or later, "
        f"but opset {opset} was asked for{way_out}"
    )


def known_opset(opset: int) -> int:
    """Check that an opset is one that can be written.

    Parameters
    ----------
    opset : int
        The opset a user asked for.

    Returns
    -------
    int
        The same, as a plain int.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is below `LOWEST_OPSET` or newer than what the installed onnx knows.
    """
    newest = onnx.defs.onnx_opset_version()
    opset = integer("opset", opset)
    if not LOWEST_OPSET <= opset <= newest:
        raise ValueError(
            f"opset must be from {LOWEST_OPSET} to {newest}, "
            f"the newest that onnx {onnx.__version__} knows; got {opset}"
        )
    return opset
