"""The int8 lookup table: the nearest code for each of the 256, and which requests are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastact.export import FORMS, activation
from fastact.export.table import Quantization, results

Array = npt.NDArray[Any]
Run = Callable[[onnx.ModelProto, Array], Array]

NEWEST = onnx.defs.onnx_opset_version()

REFERENCES: dict[str, Callable[[mpmath.mpf], mpmath.mpf]] = {
    "relu": lambda x: max(x, mpmath.mpf(0)),
    "gelu": lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "gelu_tanh": lambda x: (
        x / (1 + mpmath.exp(-2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))
    ),
    "gelu_quick": lambda x: x / (1 + mpmath.exp(-mpmath.mpf("1.702") * x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "relu6": lambda x: min(max(x, mpmath.mpf(0)), mpmath.mpf(6)),
    "hard_swish": lambda x: x * min(max(x + 3, mpmath.mpf(0)), mpmath.mpf(6)) / 6,
}

QUANTIZATIONS = [
    # A layer's usual range, one that is all tail, one where the two GELUs differ by two codes.
    ("int8", (0.047, -13), None),
    ("int8", (0.5, 0), (0.25, -100)),
    ("int8", (2.7 / 127, 0), (2e-4, 0)),
    ("uint8", (0.031, 128), None),
    ("uint8", (0.1, 0), (0.05, 7)),
]


def every_code(dtype: str) -> Array:
    return np.arange(256, dtype=np.uint8).view(dtype)


def expected(name: str, dtype: str, x: Quantization, y: Quantization) -> Array:
    limits = np.iinfo(dtype)
    with mpmath.workdps(40):
        codes = [
            mpmath.nint(REFERENCES[name](mpmath.mpf(x.scale) * (int(c) - x.zero_point)) / y.scale)
            for c in every_code(dtype)
        ]
    return np.clip(np.array([int(c) for c in codes]) + y.zero_point, limits.min, limits.max)


def quantizations(model: onnx.ModelProto) -> list[Quantization]:
    facts = {entry.key: entry.value for entry in model.metadata_props}
    return [
        Quantization(float(facts[f"{port}_scale"]), int(facts[f"{port}_zero_point"]))
        for port in "xy"
    ]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(("dtype", "x", "y"), QUANTIZATIONS)
def test_every_code_is_the_nearest(
    run: Run, newest_loadable: int, name: str, dtype: str, x: Any, y: Any
) -> None:
    codes = every_code(dtype)
    for opset in (7, 10, 11, 17, newest_loadable):
        model = activation(
            name, dtype=dtype, opset=opset, shape=("n",), x_quantization=x, y_quantization=y
        )
        found = run(model, codes)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected(name, dtype, *quantizations(model)))


@pytest.mark.parametrize("opset", range(7, NEWEST + 1))
def test_file(opset: int) -> None:
    options: dict[str, Any] = {"dtype": "int8", "opset": opset, "shape": (1, "n", 3)}
    model = activation("gelu", x_quantization=(0.05, 3), **options)
    assert [node.op_type for node in model.graph.node] == (
        ["Cast", "Gather"] if opset >= 11 else ["Cast", "Add", "Gather"]
    )
    assert model.opset_import[0].version == opset
    ports = (model.graph.input[0], model.graph.output[0])
    assert {port.type.tensor_type.elem_type for port in ports} == {onnx.TensorProto.INT8}
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert (facts["form"], facts["x_scale"], facts["x_zero_point"]) == (
        "table",
        repr(float(np.float32(0.05))),
        "3",
    )
    again = activation("gelu", form="table", x_quantization=(0.05, 3), **options)
    assert model.SerializeToString() == again.SerializeToString()


def test_the_two_gelus_are_told_apart() -> None:
    x, y = Quantization(2.7 / 127, 0), Quantization(2e-4, 0)
    exact, _ = results("gelu", "int8", x, y)
    tanh, _ = results("gelu_tanh", "int8", x, y)
    # At +-2.7 and around; clipped where the result is out of the codes' range.
    assert np.abs(exact.astype(int) - tanh).max() >= 2


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(sorted(FORMS)),
    dtype=st.sampled_from(["int8", "uint8"]),
    scale=st.floats(-100, 100).map(lambda exponent: float(np.float32(2**exponent))),
    offset=st.integers(0, 255),
)
def test_the_default_output_covers_all_results(
    name: str, dtype: str, scale: float, offset: int
) -> None:
    lowest = np.iinfo(dtype).min
    table, y = results(name, dtype, Quantization(scale, lowest + offset))
    np.testing.assert_array_equal(table[lowest + offset], y.zero_point)
    # Both ends are in reach, and no result is cut off by more than rounding moves it.
    span = int(table.max()) - int(table.min())
    assert span >= 254 or span == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, r"int8 needs x_quantization=\(scale, zero_point\)"),
        ({"x_quantization": 0.1}, TypeError, r"must be a pair \(scale, zero_point\), not 0.1"),
        ({"x_quantization": (0.1,)}, TypeError, r"must be a pair"),
        ({"x_quantization": ("a", 0)}, TypeError, r"scale of x_quantization must be a number"),
        ({"x_quantization": (0, 0)}, ValueError, r"must be a positive float32, got 0"),
        ({"x_quantization": (-1, 0)}, ValueError, r"must be a positive float32, got -1"),
        ({"x_quantization": (1e-60, 0)}, ValueError, r"must be a positive float32, got 1e-60"),
        ({"x_quantization": (1e60, 0)}, ValueError, r"must be a positive float32, got 1e\+60"),
        ({"x_quantization": (float("nan"), 0)}, ValueError, r"positive float32, got nan"),
        ({"x_quantization": (1, 128)}, ValueError, r"must be from -128 to 127, got 128"),
        ({"x_quantization": (1, 0.5)}, TypeError, r"zero point of x_quantization must be an int"),
        (
            {"x_quantization": (1, 0), "y_quantization": (1, -129)},
            ValueError,
            r"zero point of y_quantization must be from -128 to 127, got -129",
        ),
        ({"form": "erf", "x_quantization": (1, 0)}, ValueError, r"form='erf' is not one of int8"),
        ({"opset": 6, "x_quantization": (1, 0)}, ValueError, r"opset must be from 7"),
    ],
)
def test_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        activation("gelu", dtype="int8", **options)
