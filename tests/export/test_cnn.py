"""The digits CNN: its file, its accuracy on the test images, and what onnxruntime makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from fastact.export import ARCHITECTURES, FORMS, cnn, digits, train, weights
from fastact.export.forms import ACTIVATIONS

Array = npt.NDArray[Any]
Run = Callable[[onnx.ModelProto, Array], Array]

NEWEST = onnx.defs.onnx_opset_version()
FORM_CASES = [(name, form) for name, forms in FORMS.items() for form in forms]
CASES = [
    (name, form, opset)
    for name, entry in ACTIVATIONS.items()
    for form, (lowest, _) in entry.forms.items()
    for opset in sorted({lowest, 13, 17, 20, NEWEST})
    if lowest <= opset <= NEWEST
]


def numpy_logits(activation: str, images: Array) -> Array:
    """Compute the logits with the trainer's own layers: NumPy and fastact, no ONNX."""
    parameters = {n: train.Value(w) for n, w in weights.load("digits")[activation].items()}
    tape = train.Tape(activation, parameters, np.random.default_rng(0))
    return np.asarray(ARCHITECTURES["digits"].network(tape, train.Value(images)).data)


@pytest.mark.parametrize(("name", "form", "opset"), CASES)
def test_file(name: str, form: str, opset: int) -> None:
    model = cnn("digits", name, form=form, opset=opset, batch="batch")
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    opset_id = onnx.helper.make_opsetid("", opset)
    assert list(model.opset_import) == [opset_id]
    assert model.ir_version == onnx.helper.find_min_ir_version_for([opset_id])
    assert model.producer_name == "fastact"
    assert {entry.key: entry.value for entry in model.metadata_props} == {
        "arch": "digits",
        "activation": name,
        "form": form,
        "opset": str(opset),
    }
    nodes = model.graph.node
    names = [node.name for node in nodes]
    assert all(names)
    assert len(set(names)) == len(names)
    assert {node.domain for node in nodes} == {""}
    assert "Flatten" not in {node.op_type for node in nodes}
    again = cnn("digits", name, form=form, opset=opset, batch="batch")
    assert model.SerializeToString() == again.SerializeToString()


@pytest.mark.parametrize("batch", [1, 32, "n"])
def test_ports(batch: int | str) -> None:
    graph = cnn("digits", "relu", batch=batch).graph
    text = onnx.printer.to_text(graph).split("\n")[0]
    assert f"(float[{batch},1,8,8] image) => (float[{batch},10] logits)" in text


@pytest.mark.parametrize("name", FORMS)
def test_parameters(name: str) -> None:
    trained = weights.load("digits")[name]
    assert sum(w.size for w in trained.values()) == 14_378
    assert {w.dtype.name for w in trained.values()} == {"float32"}
    written = {t.name: onnx.numpy_helper.to_array(t) for t in cnn("digits", name).graph.initializer}
    for tensor, expected in trained.items():
        np.testing.assert_array_equal(written[tensor], expected, strict=True)


@pytest.mark.parametrize(("name", "form"), FORM_CASES)
def test_accuracy_on_the_test_images(run: Run, name: str, form: str) -> None:
    images, labels = digits.load("test")
    logits = run(cnn("digits", name, form=form, batch="batch"), images)
    assert logits.shape == (360, 10)
    assert (logits.argmax(axis=1) == labels).mean() > 0.97
    # Logits reach 40; float32 sums of 288 products differ in their order.
    assert np.abs(logits - numpy_logits(name, images)).max() < 1e-4


@pytest.mark.parametrize("form", FORMS["gelu"])
def test_swapping_exact_and_tanh_would_be_seen(run: Run, form: str) -> None:
    # The weights of one with the nodes of the other: more than the tolerance used above.
    images, _ = digits.load("test")
    model = cnn("digits", "gelu", form=form, batch="batch")
    for tensor in model.graph.initializer:
        if tensor.name in weights.load("digits")["gelu_tanh"]:
            other = weights.load("digits")["gelu_tanh"][tensor.name]
            tensor.CopyFrom(onnx.numpy_helper.from_array(other, tensor.name))
    assert np.abs(run(model, images) - numpy_logits("gelu_tanh", images)).max() > 1e-3


@pytest.mark.parametrize(("name", "form"), FORM_CASES)
def test_batches(run: Run, name: str, form: str) -> None:
    images, _ = digits.load("test")
    expected = numpy_logits(name, images[:7])
    dynamic = cnn("digits", name, form=form, batch="batch")
    for batch in (0, 1, 2, 7):
        logits = run(dynamic, images[:batch])
        assert logits.shape == (batch, 10)
        assert np.abs(logits - expected[:batch]).max(initial=0) < 1e-4
    fixed = run(cnn("digits", name, form=form, batch=2), images[:2])
    assert np.abs(fixed - expected[:2]).max() < 1e-4


@pytest.mark.parametrize(("name", "form", "opset"), CASES)
def test_optimised_graph(
    optimised: Callable[[onnx.ModelProto], list[str]], name: str, form: str, opset: int
) -> None:
    site = {
        "relu": ["com.microsoft:FusedConv"],
        "op": ["Conv", "Gelu"],
        "erf": ["Conv", "Gelu" if opset >= 20 else "com.microsoft:Gelu"],
        "tanh": ["Conv", "Mul", "Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"],
    }["relu" if name == "relu" else form]
    expected = [*site * 3, "GlobalAveragePool", "Reshape", "Gemm"]
    # The tanh form has branches, whose order is onnxruntime's own affair.
    assert sorted(optimised(cnn("digits", name, form=form, opset=opset))) == sorted(expected)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("lenet", "relu"), {}, ValueError, r"unknown architecture 'lenet'; accepted: 'digits'"),
        (("digits", "silu"), {}, ValueError, r"unknown activation 'silu'; accepted: 'relu'"),
        (("digits", 3), {}, TypeError, r"activation must be a str, not int"),
        (("digits", "gelu"), {"form": "tanh"}, ValueError, r"unknown form of gelu 'tanh'"),
        (("digits", "gelu"), {"form": "op", "opset": 13}, ValueError, r"opset 20 .* opset 13"),
        (("digits", "relu"), {"batch": 0}, ValueError, r"got 0; .* needs a name"),
        (("digits", "relu"), {"batch": None}, TypeError, r"must be an int, not NoneType"),
    ],
)
def test_refused(
    arguments: tuple[Any, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        cnn(*arguments, **options)


def test_weights_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = {"relu": {**weights.load("digits")["relu"], "conv2_bias": np.zeros(31, np.float32)}}
    monkeypatch.setattr(weights, "load", lambda arch: stale)
    with pytest.raises(ValueError, match=r"conv2_bias has shape \(31,\), not \(32,\)"):
        cnn("digits", "relu")
