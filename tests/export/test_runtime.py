"""Exported activations in onnxruntime, against float64 references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from scipy.special import erfc, expit

from fastact.export import FORMS, activation
from fastact.export.forms import ACTIVATIONS, lowest_opset

Array = npt.NDArray[Any]
Run = Callable[[onnx.ModelProto, Array], Array]

REFERENCES: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.where(x < 0, 0.0, x),
    "gelu": lambda x: 0.5 * x * erfc(-x / np.sqrt(2)),
    "gelu_tanh": lambda x: x * expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)),
    "gelu_quick": lambda x: x * expit(1.702 * x),
    "silu": lambda x: x * expit(x),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}

# onnxruntime's error grows with the result (float32 has 24 bits) and is absolute in the
# negative tail, where it returns 0 for what is not. The clamps are exact.
TOLERANCE = {
    "relu": 0.0,
    "gelu": 2e-7,
    "gelu_tanh": 6e-7,
    "gelu_quick": 2e-6,
    "silu": 2e-6,
    "relu6": 0.0,
    "hard_swish": 3e-7,
}

# 2.7 is where the exact and the tanh form differ most, by 4.73e-4.
POINTS = np.concatenate(
    [
        np.linspace(-12, 12, 4801),
        [2.7, -2.7, 0.0, -0.0, 1e-30, -1e-30, 1e-42, 75, -75, 1e13, -1e13, 3.4e38, -3.4e38],
        # -inf is left out by name: onnxruntime's Gelu and every written-out form give NaN.
        [np.inf],
    ]
).astype(np.float32)

NEWEST = onnx.defs.onnx_opset_version()
CASES = [
    (name, form, opset)
    for name, entry in ACTIVATIONS.items()
    for form in entry.forms
    for opset in sorted({lowest_opset(name, form), 10, 13, 17, 20, NEWEST})
    if lowest_opset(name, form) <= opset <= NEWEST
]


def error(y: Array, name: str, x: Array) -> float:
    """Give the largest error of `y`, relative where the result is above 1."""
    x = x.astype(np.float64)
    expected = REFERENCES[name](x)
    np.testing.assert_array_equal(np.isinf(y), np.isinf(expected))
    assert not np.isnan(y).any()
    finite = np.isfinite(expected)
    difference = np.abs(y[finite].astype(np.float64) - expected[finite])
    return float((difference / np.maximum(1.0, np.abs(expected[finite]))).max())


@pytest.mark.parametrize(("name", "form", "opset"), CASES)
def test_float32(run: Run, name: str, form: str, opset: int) -> None:
    y = run(activation(name, form=form, opset=opset, shape=POINTS.shape), POINTS)
    assert y.dtype == np.float32
    assert error(y, name, POINTS) <= TOLERANCE[name]
    assert np.isnan(
        run(activation(name, form=form, opset=opset), np.full((1, 64), np.nan, "f"))
    ).all()


@pytest.mark.parametrize("form_of_gelu", FORMS["gelu"])
@pytest.mark.parametrize("form_of_tanh", FORMS["gelu_tanh"])
def test_swapping_exact_and_tanh_would_be_seen(
    run: Run, form_of_gelu: str, form_of_tanh: str
) -> None:
    exact = run(activation("gelu", form=form_of_gelu, shape=POINTS.shape), POINTS)
    tanh = run(activation("gelu_tanh", form=form_of_tanh, shape=POINTS.shape), POINTS)
    assert error(exact, "gelu_tanh", POINTS) > 100 * TOLERANCE["gelu_tanh"]
    assert error(tanh, "gelu", POINTS) > 100 * TOLERANCE["gelu"]


@pytest.mark.parametrize(("name", "form"), [(n, f) for n, forms in FORMS.items() for f in forms])
def test_float16(run: Run, name: str, form: str) -> None:
    # Every finite float16, -inf excluded as above.
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)]
    y = run(activation(name, form=form, dtype="float16", shape=x.shape), x)
    assert y.dtype == np.float16
    # The float16 nearest to something within the tolerance of the float32 computation.
    expected = REFERENCES[name](x.astype(np.float64))
    margin = TOLERANCE[name] * np.maximum(1, np.abs(expected))
    assert ((expected - margin).astype(np.float16) <= y).all()
    assert (y <= (expected + margin).astype(np.float16)).all()


def test_relu_float64(run: Run, newest_loadable: int) -> None:
    x = np.array([-np.inf, -1.5, -0.0, 0.0, 5e-324, 1 + 2**-52, 1.7e308, np.inf])
    for opset in (7, 13, 14, newest_loadable):
        y = run(activation("relu", dtype="float64", opset=opset, shape=x.shape), x)
        np.testing.assert_array_equal(y, np.maximum(x, 0), strict=True)


@pytest.mark.parametrize(("name", "form", "opset"), CASES)
def test_dynamic_dimensions(run: Run, name: str, form: str, opset: int) -> None:
    model = activation(name, form=form, opset=opset, shape=("batch", 3, "width"))
    for batch in (0, 1, 2, 7):
        x = np.linspace(-3, 3, batch * 3 * 5, dtype=np.float32).reshape(batch, 3, 5)
        y = run(model, x)
        assert y.shape == x.shape
        if batch:
            assert error(y, name, x) <= TOLERANCE[name]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("shape", [(), (1,), (2, 1, 3, 1, 2)])
def test_any_rank(run: Run, name: str, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 2.7, np.float32)
    y = run(activation(name, shape=shape), x)
    assert y.shape == shape
    assert error(y, name, x) <= TOLERANCE[name]


@pytest.mark.parametrize(("name", "form", "opset"), CASES)
def test_optimised_graph(
    optimised: Callable[[onnx.ModelProto], list[str]], name: str, form: str, opset: int
) -> None:
    expected = {
        ("relu", "op"): ["Relu"],
        ("gelu", "op"): ["Gelu"],
        # Fused in either case: to the operator of ONNX where the opset has it.
        ("gelu", "erf"): ["Gelu" if opset >= 20 else "com.microsoft:Gelu"],
        ("gelu_tanh", "op"): ["Gelu"],
        # Never fused; a version that learns to do it will be seen here.
        ("gelu_tanh", "tanh"): ["Mul", "Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"],
        ("gelu_quick", "quick"): ["com.microsoft:QuickGelu"],
        ("silu", "sigmoid"): ["com.microsoft:QuickGelu"],
        ("relu6", "clip"): ["Clip"],
        ("hard_swish", "op"): ["HardSigmoid", "Mul"],
        ("hard_swish", "hard_sigmoid"): ["HardSigmoid", "Mul"],
        ("hard_swish", "clip"): ["Add", "Clip", "Div", "Mul"],
    }
    assert optimised(activation(name, form=form, opset=opset)) == expected[name, form]
