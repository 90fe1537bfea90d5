"""Parameters, multiply-accumulates and elements, counted by hand on small graphs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from fastact.export.cost import cost, elements, macs, parameters, shapes


def model(text: str, **tensors: object) -> onnx.ModelProto:
    parsed = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}')
    for name, value in tensors.items():
        parsed.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return parsed


def zeros(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(shape, dtype)


CONVOLUTION = "(float[N,4,9,9] x) => (float[N,6,a,b] y) { y = Conv <%s> (x, w, b) }"


@pytest.mark.parametrize(
    ("attributes", "weight", "expected"),
    [
        ("strides = [1, 1]", (6, 4, 3, 3), 6 * 7 * 7 * 4 * 9),
        ("pads = [1, 1, 1, 1], strides = [2, 2]", (6, 4, 3, 3), 6 * 5 * 5 * 4 * 9),
        ("group = 2", (6, 2, 3, 1), 6 * 7 * 9 * 2 * 3),
        ("dilations = [2, 2]", (6, 4, 3, 3), 6 * 5 * 5 * 4 * 9),
    ],
)
def test_convolutions(attributes: str, weight: tuple[int, ...], expected: int) -> None:
    found = cost(model(CONVOLUTION % attributes, w=zeros(*weight), b=zeros(6)))
    assert found.macs == expected
    assert found.parameters == np.prod(weight) + 6
    assert found.elements["x"] == 4 * 81


def test_transposed_convolution() -> None:
    text = "(float[1,4,5,5] x) => (float[a,b,c,d] y) { y = ConvTranspose (x, w) }"
    assert macs(model(text, w=zeros(4, 3, 2, 2))) == 4 * 25 * 3 * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(float[2,3,4] x, float[4,5] z) => (float[2,3,5] y) { y = MatMul (x, z) }", 2 * 3 * 5 * 4),
        ("(float[7,4] x, float[5,4] z) => (float[7,5] y) { y = Gemm <transB = 1> (x, z) }", 140),
        ("(float[4,7] x, float[4,5] z) => (float[7,5] y) { y = Gemm <transA = 1> (x, z) }", 140),
    ],
)
def test_products(text: str, expected: int) -> None:
    assert macs(model(text)) == expected


def test_scalars_scales_and_tables_are_no_parameters() -> None:
    text = """(float[1,8] x) => (float[1,3] y) {
        q = QuantizeLinear (x, scale, zero)
        index = Cast <to = 6> (q)
        looked = Gather (table, index)
        back = DequantizeLinear (looked, scale, zero)
        weight = DequantizeLinear <axis = 0> (w, scales, zeros)
        bias = DequantizeLinear (b, scales, none)
        halved = Mul (back, half)
        y = Gemm <transB = 1> (halved, weight, bias)
    }"""
    quantised = model(
        text,
        scale=np.float32(0.1),
        zero=np.int8(3),
        table=zeros(256, dtype="int8"),
        w=zeros(3, 8, dtype="int8"),
        scales=zeros(3),
        zeros=zeros(3, dtype="int8"),
        b=zeros(3, dtype="int32"),
        none=zeros(3, dtype="int32"),
        half=np.float32(0.5),
    )
    assert parameters(quantised) == 3 * 8 + 3
    assert macs(quantised) == 24


def test_constant_nodes_count_like_initializers() -> None:
    text = """(float[2] x) => (float[2] y) {
        w = Constant <value = float[2] {1.0, 2.0}> ()
        s = Constant <value = float {1.0}> ()
        z = Add (x, w)
        y = Mul (z, s)
    }"""
    assert parameters(model(text)) == 2


def test_branches_count() -> None:
    text = """(bool c, float[2,3] x) => (float[2,4] y) {
        y = If (c) <
          then_branch = one () => (float[2,4] a) { a = MatMul (x, w) },
          else_branch = two () => (float[2,4] b) { b = MatMul (x, v) }
        >
    }"""
    found = model(text, w=zeros(3, 4), v=zeros(3, 4))
    assert (macs(found), parameters(found)) == (2 * 24, 24)


def test_functions_are_looked_into() -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
        g (float[2,3] x, float[3,4] w) => (float[2,4] y) { y = own.product (x, w) }
        <domain: "own", opset_import: ["": 17]>
        product (a, b) => (c) { c = MatMul (a, b) }"""
    assert macs(onnx.parser.parse_model(text)) == 24


def test_computed_shapes_are_followed() -> None:
    text = """(float[N,2,3] x) => (float[N,5] y) {
        s = Shape (x)
        n = Gather (s, zero)
        shape = Concat <axis = 0> (n, six)
        flat = Reshape (x, shape)
        y = MatMul (flat, w)
    }"""
    found = model(text, zero=np.array([0]), six=np.array([6]), w=zeros(6, 5))
    assert macs(found) == 30
    assert shapes(found)["flat"] == (1, 6)
    assert elements(found, "flat") == 6


def test_the_model_is_not_changed() -> None:
    found = model(CONVOLUTION % "strides = [1, 1]", w=zeros(6, 4, 3, 3), b=zeros(6))
    before = found.SerializeToString(deterministic=True)
    cost(found)
    assert found.SerializeToString(deterministic=True) == before


def test_an_unknown_shape_is_named() -> None:
    text = "(float[N,4,H,W] x) => (float[N,6,a,b] y) { y = Conv (x, w) }"
    found = model(text, w=zeros(6, 4, 3, 3))
    with pytest.raises(ValueError, match="shape of 'y' is not known"):
        macs(found)
    with pytest.raises(ValueError, match="shape of 'z' is not known"):
        elements(found, "z")
    assert parameters(found) == 6 * 4 * 9


def test_a_huge_input_costs_nothing() -> None:
    text = "(float[4611686018427387904] x) => (float[n] y) { y = Relu (x) }"
    assert elements(model(text), "x") == 2**62
