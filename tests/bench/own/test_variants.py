"""Variants of a user's model: each has one activation at every site, and says what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from fastact.bench.own.variants import AS_IT_IS, MIXED, Alternative, alternatives
from fastact.export import (
    ARCHITECTURES,
    FORMS,
    ModelError,
    activation,
    cnn,
    forms,
    inspect,
    quantize,
    sites,
)

STORED = sorted((Path(__file__).parents[2] / "export" / "models").glob("*.onnx"))
COMPARED = ("relu", "gelu", "gelu_tanh")

RETRAIN = "computes something else: it must be trained again"


def parse(body: str, ports: str = "(float[2, 64] x) => (float[2, 64] y)") -> onnx.ModelProto:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> g {ports} {body}'
    )
    onnx.checker.check_model(model)
    return model


def names(found: list[Alternative]) -> list[str]:
    return [alternative.name for alternative in found]


def written(model: onnx.ModelProto | None) -> list[tuple[str, str]]:
    assert model is not None
    return [(site.activation, site.form) for site in sites.find(model)]


def check(found: list[Alternative], activations: Any = COMPARED) -> None:
    """Check what holds for the variants of every model of which all can be made."""
    first, *others = found
    assert (first.name, first.same_function, first.relative) == (AS_IT_IS, True, 0.0)
    keys = [(name, form) for name in activations for form in FORMS[name]]
    own = (first.activation, first.form)
    assert [(other.activation, other.form) for other in others] == [k for k in keys if k != own]
    for other in others:
        key = (other.activation, other.form)
        assert other.name == "/".join(key)
        assert written(other.model) == [key] * first.sites
        assert other.same_function == (other.activation == first.activation)
        assert other.relative is not None
        if other.same_function:
            assert other.relative <= 1e-5
            assert other.note.startswith("computes the same")
        else:
            assert other.relative > 1e-6
            assert other.note.startswith(RETRAIN)
        onnx.checker.check_model(other.model, full_check=True)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_models_of_torch(path: Path) -> None:
    found = alternatives(path, COMPARED)
    check(found)
    shown = inspect(path).activations
    for own, every in (
        (found[0].activation, {entry.activation for entry in shown}),
        (found[0].form, {entry.form for entry in shown}),
    ):
        assert own == (every.pop() if len(every) == 1 else MIXED)
    assert found[0].model == onnx.load(path)


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_networks(arch: str, name: str) -> None:
    model = cnn(arch, name)
    found = alternatives(model, COMPARED)
    check(found)
    assert found[0].model == model
    assert found[0].note == f"{name} as {found[0].form}, opset 17"
    for other in found[1:]:
        needed = max(17, forms.lowest_opset(other.activation, other.form))
        assert other.opset == needed
        assert other.note.endswith(f"; opset 17 -> {needed}") == (needed != 17)


@pytest.mark.parametrize("name", FORMS)
def test_every_activation_into_every_other(name: str) -> None:
    check(alternatives(activation(name), FORMS), FORMS)


def test_half_precision() -> None:
    model = activation("silu", dtype="float16")
    found = alternatives(model, ["silu", "relu"])
    assert names(found) == [AS_IT_IS, "relu/op"]
    assert found[1].model is not None
    assert found[1].model.graph.output == model.graph.output


# A stem with ReLU, a Hardswish behind, and a gate, which is no activation.
MIX = parse("{ a = Relu(x) b = HardSwish(a) c = Neg(b) s = Sigmoid(c) y = Mul(b, s) }")


def test_several_activations_become_one() -> None:
    found = alternatives(MIX, ["relu", "gelu", "hard_swish"])
    first = found[0]
    assert (first.activation, first.form, first.sites) == (MIXED, "op", 2)
    assert first.note == "relu as op, hard_swish as op, opset 17"
    check(found, ["relu", "gelu", "hard_swish"])
    for other in found[1:]:
        assert other.model is not None
        assert [node.op_type for node in other.model.graph.node][-3:] == ["Neg", "Sigmoid", "Mul"]


def test_only_those_that_are_named() -> None:
    found = alternatives(MIX, ["relu", "hard_swish"], replace="hard_swish")
    assert names(found) == [AS_IT_IS, "relu/op", "hard_swish/hard_sigmoid", "hard_swish/clip"]
    assert [alternative.same_function for alternative in found] == [True, False, True, True]
    assert written(found[2].model) == [("relu", "op"), ("hard_swish", "hard_sigmoid")]


def test_a_spelling_that_is_no_form() -> None:
    scalars = "<float r = {0.70710677}, float one = {1.0}, float half = {0.5}>"
    gelu = "a = Mul(x, r) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)"
    found = alternatives(parse(f"{scalars} {{ {gelu} }}"), ["gelu"])
    assert (found[0].activation, found[0].form) == ("gelu", "mul")
    check(found, ["gelu"])
    assert names(found) == [AS_IT_IS, "gelu/op", "gelu/erf"]


def test_a_quantised_model_keeps_its_quantisation() -> None:
    plain = cnn("digits", "gelu")
    floats = [node.name for site in sites.find(plain) for node in site.nodes]
    images = np.random.default_rng(1).random((8, 1, 1, 8, 8), "f")
    model = quantize(plain, images, keep_float=floats)
    for found in alternatives(model, COMPARED):
        assert found.model is not None
        kinds, before = ([n.op_type for n in m.graph.node] for m in (found.model, model))
        assert kinds.count("QuantizeLinear") == before.count("QuantizeLinear")


def test_external_data_comes_inside(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = cnn("digits", "relu")
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=100)
    for found in alternatives(path, ["gelu"]):
        assert found.model is not None
        onnxruntime.InferenceSession(found.model.SerializeToString())


def test_a_variant_that_cannot_be_made_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = "(double[2, 64] x) => (double[2, 64] y)"
    first, *others = alternatives(parse("{ y = Relu(x) }", ports), COMPARED)
    assert first.model is not None
    failed = {other.name: other for other in others if other.model is None}
    assert {"gelu/op", "gelu/erf"} <= {*failed}
    for other in failed.values():
        assert (other.relative, other.opset) == (None, None)
        assert other.note.startswith("not rewritten: onnxruntime ")


def test_a_form_that_computes_something_else_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    spelled = {**forms.ACTIVATIONS["gelu"].forms}
    spelled["op"] = {20: '{y} = Gelu <approximate = "tanh"> ({x})'}
    wrong = forms.ACTIVATIONS["gelu"]._replace(forms=spelled)
    model = cnn("digits", "gelu", form="erf")
    monkeypatch.setitem(forms.ACTIVATIONS, "gelu", wrong)
    found = alternatives(model, ["gelu"])
    assert (found[1].name, found[1].model) == ("gelu/op", None)
    assert "more than the tolerance of 1e-05" in found[1].note


def test_inputs_and_tolerance_are_passed_on() -> None:
    zeros = {"image": np.zeros((1, 1, 8, 8), np.float32)}
    model = cnn("digits", "gelu", form="erf")
    on_zeros, on_random = (alternatives(model, ["relu"], inputs=x)[1] for x in (zeros, None))
    assert on_zeros.relative != on_random.relative
    strict = alternatives(model, ["gelu"], tolerance=0.0)[1]
    assert strict.model is None
    assert "tolerance of 0" in strict.note


def test_activations_are_taken_once_and_one_may_be_a_string() -> None:
    model = cnn("digits", "gelu")
    assert names(alternatives(model, "relu")) == [AS_IT_IS, "relu/op"]
    assert names(alternatives(model, ["relu", "relu"])) == [AS_IT_IS, "relu/op"]
    assert names(alternatives(model, [])) == [AS_IT_IS]


def test_no_activation() -> None:
    reason = r"looked for relu, gelu, .*, hard_swish, however they are written; found: "
    with pytest.raises(ModelError, match=reason + "no activation$"):
        alternatives(parse("{ y = Sigmoid(x) }"), COMPARED)
    fused = parse(
        "<float[2, 2, 1, 1] w = {1.0, 2.0, 3.0, 4.0}> "
        '{ y = com.microsoft.FusedConv<activation = "Relu", kernel_shape = [1, 1]>(x, w) }',
        "(float[1, 2, 8, 8] x) => (float[1, 2, 8, 8] y)",
    )
    with pytest.raises(ModelError, match=reason + "relu in com.microsoft.FusedConv$"):
        alternatives(fused, COMPARED)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["mish"],), ValueError, "unknown activation 'mish'; accepted: 'relu', "),
        (([1],), TypeError, "activation must be a str, not int"),
    ],
)
def test_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        alternatives(cnn("digits", "relu"), *arguments)
    with pytest.raises(ValueError, match="unknown activation to replace 'mish'"):
        alternatives(cnn("digits", "relu"), ["gelu"], replace="mish")


def test_a_model_that_does_not_run_is_an_error() -> None:
    model = cnn("digits", "relu")
    with pytest.raises(ModelError, match="does not run on the given inputs"):
        alternatives(model, ["gelu"], inputs={"x": np.zeros(3, np.float32)})
    ports = "(double[2, 64] x) => (double[2, 64] y)"
    with pytest.raises(ModelError, match="does not load the model"):
        alternatives(parse("{ a = Relu(x) y = Erf(a) }", ports), ["gelu"])
