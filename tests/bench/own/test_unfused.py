"""The probe for folding: relu to the bit, in as many nodes as onnxruntime makes of a GELU."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from fastact.bench import optimized_operators
from fastact.bench.own.unfused import unfused_relu
from fastact.bench.session import session_options
from fastact.export import ARCHITECTURES, ModelError, cnn, quantize, sites

Array = Any


def parse(body: str, ports: str = "(float[2, 64] x) => (float[2, 64] y)") -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {ports} {body}')
    onnx.checker.check_model(model)
    return model


def operators(model: onnx.ModelProto, optimization: str = "all") -> dict[str, int]:
    return dict(optimized_operators(model.SerializeToString(), optimization))


def run(model: onnx.ModelProto, x: Array) -> Array:
    session = onnxruntime.InferenceSession(model.SerializeToString(), session_options())
    (source,) = session.get_inputs()
    return session.run(None, {source.name: x})[0]


def plain(counts: dict[str, int]) -> Counter[str]:
    """Count a convolution or product with an activation inside as one without."""
    found: Counter[str] = Counter()
    for kind, number in counts.items():
        found[kind.removeprefix("Fused")] += number
    return found


# Up to 1.24, onnxruntime brings the input of a Gelu out of the blocked layout and back.
REORDERS = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 25)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("given", ["relu", "gelu"])
@pytest.mark.parametrize("level", ["extended", "all"])
def test_relu_takes_the_place_that_gelu_has(arch: str, given: str, level: str) -> None:
    models = {name: cnn(arch, name, form="op", opset=20) for name in ("relu", "gelu")}
    probe = unfused_relu(models[given], optimization=level)
    count = len(sites.find(models[given]))
    # Behind an addition, a ReLU is folded at the highest level alone, and not for every CPU.
    assert operators(models["relu"], level).get("Relu", 0) < count

    found, expected = plain(operators(probe, level)), plain(operators(models["gelu"], level))
    assert found.pop("Relu") == expected.pop("Gelu") == count
    assert found == expected or (REORDERS and level == "all")


def test_its_outputs_are_those_of_relu_to_the_bit() -> None:
    relu = cnn("digits", "relu")
    images = np.random.default_rng(1).standard_normal((1, 1, 8, 8)).astype(np.float32)
    images[0, 0, 0, :4] = np.nan, np.inf, -np.inf, -0.0
    for x in (images, np.full_like(images, -0.0), np.nan_to_num(images, posinf=9, neginf=-9)):
        assert run(unfused_relu(relu), x).tobytes() == run(relu, x).tobytes()


def test_a_relu_that_is_not_folded_is_not_doubled() -> None:
    model = parse("{ a = Neg(x) b = Relu(a) y = Neg(b) }")
    assert [node.op_type for node in unfused_relu(model).graph.node] == ["Neg", "Relu", "Neg"]
    everywhere = unfused_relu(cnn("digits", "relu"), optimization="disabled")
    assert [node.op_type for node in everywhere.graph.node].count("Relu") == 3


@pytest.mark.parametrize("optimization", ["disabled", "basic", "extended", "all"])
def test_every_level(optimization: str) -> None:
    probe = unfused_relu(cnn("resnet8", "relu"), optimization=optimization)
    assert operators(probe, optimization)["Relu"] == 7


CONV = "Conv<kernel_shape = [1, 1]>"
IMAGES = "(float[1, 2, 8, 8] x) => (float[1, 2, 8, 8] y)"
WEIGHTS = "<float[2, 2, 1, 1] w = {1.0, -2.0, -0.5, 3.0}>"


def test_inside_of_a_subgraph() -> None:
    branches = [
        f"{name} () => (float[1, 2, 8, 8] {name}o) "
        f"{{ {name}a = {CONV}(x, w) {name}o = Relu({name}a) }}"
        for name in ("p", "q")
    ]
    body = (
        "{ s = ReduceSum<keepdims = 0>(x) c = Greater(s, zero) "
        f"y = If(c)<then_branch = {branches[0]}, else_branch = {branches[1]}> }}"
    )
    model = parse(f"{WEIGHTS[:-1]}, float zero = {{0.0}}> {body}", IMAGES)
    assert operators(unfused_relu(model))["Relu"] == 2


def test_inside_of_a_function() -> None:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "own": 1]> g {IMAGES} {WEIGHTS} '
        "{ t = own.layer(x, w) y = own.layer(t, w) } "
        '<domain: "own", opset_import: ["": 17]> '
        f"layer (v, k) => (r) {{ a = {CONV}(v, k) r = Relu(a) }}"
    )
    assert "Relu" not in operators(model)
    assert operators(unfused_relu(model))["Relu"] == 2


def test_what_is_given_stays_as_it_is() -> None:
    model = cnn("digits", "relu")
    before = model.SerializeToString(deterministic=True)
    unfused_relu(model)
    assert model.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize(
    ("body", "replace", "expected"),
    [
        ("{ a = Relu(x) b = Sigmoid(a) y = Mul(a, b) }", None, ["Relu", "Relu"]),
        ("{ a = Relu(x) b = Sigmoid(a) y = Mul(a, b) }", "relu", ["Relu", "Sigmoid", "Mul"]),
    ],
)
def test_only_what_is_named(body: str, replace: str | None, expected: list[str]) -> None:
    probe = unfused_relu(parse(body), replace=replace)
    assert [node.op_type for node in probe.graph.node] == expected


def test_between_quantised_values() -> None:
    # A ReLU whose result is quantised from 0 on is left to the quantisation.
    plain = cnn("digits", "relu")
    floats = [node.name for site in sites.find(plain) for node in site.nodes]
    images = np.random.default_rng(1).random((8, 1, 1, 8, 8), "f")
    model = quantize(plain, images, keep_float=floats)
    with pytest.raises(ModelError, match=r"no node of its own for 3 of 3 ReLUs"):
        unfused_relu(model)
    # Where a GELU was, the codes reach below 0.
    gelu = cnn("digits", "gelu", form="op", opset=20, dtype="uint8")
    assert operators(unfused_relu(gelu))["Relu"] == operators(gelu)["Gelu"] == 3


def test_half_precision() -> None:
    ports = "(float16[1, 2, 8, 8] x) => (float16[1, 2, 8, 8] y)"
    body = f"{{ k = Cast<to = 10>(w) a = {CONV}(x, k) y = Relu(a) }}"
    model = parse(f"{WEIGHTS} {body}", ports)
    assert operators(unfused_relu(model))["Relu"] == 1


def test_nothing_to_replace() -> None:
    with pytest.raises(ModelError, match="no activation to replace: looked for relu, "):
        unfused_relu(parse("{ y = Neg(x) }"))
    with pytest.raises(ModelError, match=r"looked for relu, however .*; found: gelu$"):
        unfused_relu(cnn("digits", "gelu"), replace="relu")
