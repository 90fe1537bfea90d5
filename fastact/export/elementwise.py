"""What ONNX's elementwise operators compute, in float64, and what each activation computes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

Array = npt.NDArray[np.float64]

_erf = np.vectorize(math.erf, otypes=[np.float64])

#: The element types that hold fractions.
FLOATS = {
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
}


def sigmoid(x: Array) -> Array:
    """Compute the logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


def gelu(x: Array) -> Array:
    """Compute the exact GELU."""
    return np.asarray(x / 2 * (1 + _erf(x / math.sqrt(2))))


def gelu_tanh(x: Array) -> Array:
    """Compute the tanh form of GELU."""
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def hard_swish(x: Array) -> Array:
    """Compute x relu6(x + 3) / 6."""
    return np.asarray(x * np.clip(x + 3, 0, 6) / 6)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "gelu_quick": lambda x: x * sigmoid(1.702 * x),
    "silu": lambda x: x * sigmoid(x),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hard_swish": hard_swish,
}

Inputs = Sequence[Any]
Attributes = Mapping[str, Any]


def _cast(inputs: Inputs, attributes: Attributes) -> Array:
    if attributes["to"] not in FLOATS:
        raise ValueError("not a cast between floats")
    return np.asarray(inputs[0])


def _clip(inputs: Inputs, attributes: Attributes) -> Array:
    # The limits are attributes up to opset 10, inputs that may be absent from 11 on.
    low, high = (*inputs[1:], None, None)[:2]
    low = attributes.get("min", -np.inf) if low is None else low
    high = attributes.get("max", np.inf) if high is None else high
    return np.asarray(np.minimum(np.maximum(inputs[0], low), high))


def _hard_sigmoid(inputs: Inputs, attributes: Attributes) -> Array:
    slope, offset = attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
    return np.asarray(np.clip(slope * inputs[0] + offset, 0, 1))


def _gelu(inputs: Inputs, attributes: Attributes) -> Array:
    exact = attributes.get("approximate", b"none") == b"none"
    return gelu(inputs[0]) if exact else gelu_tanh(inputs[0])


def _scaled_sigmoid(default: float) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, attributes: np.asarray(
        inputs[0] * sigmoid(attributes.get("alpha", default) * inputs[0])
    )


def _of_inputs(function: Callable[..., Any]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, attributes: np.asarray(function(*inputs))


def _of_first(function: Callable[[Array], Any]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, attributes: np.asarray(function(inputs[0]))


MICROSOFT = "com.microsoft"

# Operators that combine values with constants around the nonlinear one.
LINKS: dict[tuple[str, str], Callable[[Inputs, Attributes], Array]] = {
    ("", "Abs"): _of_inputs(np.abs),
    ("", "Add"): _of_inputs(np.add),
    ("", "Cast"): _cast,
    ("", "Div"): _of_inputs(np.divide),
    ("", "Identity"): _of_inputs(np.asarray),
    ("", "Mul"): _of_inputs(np.multiply),
    ("", "Neg"): _of_inputs(np.negative),
    ("", "Pow"): _of_inputs(np.power),
    ("", "Reciprocal"): _of_inputs(np.reciprocal),
    ("", "Sqrt"): _of_inputs(np.sqrt),
    ("", "Sub"): _of_inputs(np.subtract),
    ("", "Sum"): _of_inputs(lambda *terms: sum(terms)),
}

# Nonlinear operators, one of which is in every spelling of an activation.
ANCHORS: dict[tuple[str, str], Callable[[Inputs, Attributes], Array]] = {
    ("", "Clip"): _clip,
    ("", "Erf"): _of_inputs(_erf),
    ("", "Exp"): _of_inputs(np.exp),
    ("", "Gelu"): _gelu,
    ("", "HardSigmoid"): _hard_sigmoid,
    ("", "HardSwish"): _of_inputs(hard_swish),
    ("", "Max"): _of_inputs(lambda *terms: functools.reduce(np.maximum, terms)),
    ("", "Min"): _of_inputs(lambda *terms: functools.reduce(np.minimum, terms)),
    ("", "Relu"): _of_inputs(ACTIVATIONS["relu"]),
    ("", "Sigmoid"): _of_inputs(sigmoid),
    ("", "Swish"): _scaled_sigmoid(1.0),
    ("", "Tanh"): _of_inputs(np.tanh),
    # The second input of the last two is a bias, which is added to x before.
    (MICROSOFT, "Gelu"): _of_first(gelu),
    (MICROSOFT, "QuickGelu"): _scaled_sigmoid(1.702),
    (MICROSOFT, "BiasGelu"): _of_first(gelu),
    (MICROSOFT, "FastGelu"): _of_first(gelu_tanh),
}

BIASED = {(MICROSOFT, "BiasGelu"), (MICROSOFT, "FastGelu")}

OPERATORS = LINKS | ANCHORS
"""Operators by domain and type."""

# Wide enough to tell relu from relu6, fine enough to tell the GELUs apart around +-2.7.
SAMPLES = np.linspace(-9, 9, 91)

# Constants in half precision, which are up to 2.4e-4 off, pass, absolutely and relatively. The
# exact and the tanh GELU do not pass for each other: where they are 4.7e-4 apart for a negative
# x, their values are small.
TOLERANCE = 1e-4
RELATIVE_TOLERANCE = 2.5e-4


def name_of(values: Array | None) -> str | None:
    """Name the activation that has these values on `SAMPLES`.

    Parameters
    ----------
    values : ndarray or None
        What some function makes of `SAMPLES`; None is nothing.

    Returns
    -------
    str or None
        A key of `ACTIVATIONS`, or None.

    Examples
    --------
    >>> name_of(SAMPLES / 2 * (1 + _erf(SAMPLES / 1.4142)))
    'gelu'
    >>> name_of(SAMPLES / 2 * (1 + _erf(SAMPLES / 1.5))) is None
    True
    """
    if values is None or values.shape != SAMPLES.shape:
        return None
    expected, allowed = _expected()
    with np.errstate(invalid="ignore"):
        same = (np.abs(values - expected) <= allowed).all(axis=1)
    return list(ACTIVATIONS)[int(same.argmax())] if same.any() else None


@functools.cache
def _expected() -> tuple[Array, Array]:
    """Compute the values of each activation, and how far from them others may be."""
    expected = np.array([function(SAMPLES) for function in ACTIVATIONS.values()])
    return expected, TOLERANCE + RELATIVE_TOLERANCE * np.abs(expected)


def compute(node: onnx.NodeProto, inputs: Inputs) -> Array | None:
    """Compute one node.

    Parameters
    ----------
    node : onnx.NodeProto
        The node.
    inputs : sequence of ndarray or None
        Its inputs, None for one that is absent.

    Returns
    -------
    ndarray or None
        Its output; None if it is no elementwise operator of `OPERATORS`, or if it depends on
        an attribute of the function around it.

    Examples
    --------
    >>> compute(onnx.helper.make_node("Relu", ["x"], ["y"]), [np.array([-1.0, 1.0])])
    array([0., 1.])
    """
    operator = OPERATORS.get(key(node))
    if operator is None or any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    try:
        with np.errstate(all="ignore"):
            return operator(inputs, attributes)
    except (TypeError, ValueError, KeyError):  # not the inputs that the operator takes
        return None


def key(node: onnx.NodeProto) -> tuple[str, str]:
    """Give a node's domain and operator, as `OPERATORS` has them.

    Parameters
    ----------
    node : onnx.NodeProto
        The node.

    Returns
    -------
    tuple of str and str
        The domain, "" for the default one, and the operator.
    """
    return ("" if node.domain == "ai.onnx" else node.domain), node.op_type
