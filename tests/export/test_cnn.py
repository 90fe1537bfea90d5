"""The small CNNs: their files, cost and accuracy, and what onnxruntime makes of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

from fastact.export import ARCHITECTURES, FORMS, cnn, digits, tape, weights
from fastact.export.cost import cost
from fastact.export.forms import lowest_opset

Array = npt.NDArray[Any]
Run = Callable[[onnx.ModelProto, Array], Array]

NEWEST = onnx.defs.onnx_opset_version()
FORM_CASES = [(name, form) for name, forms in FORMS.items() for form in forms]
CASES = [
    (name, form, opset)
    for name, form in FORM_CASES
    for opset in sorted({lowest_opset(name, form), 13, 17, 20, NEWEST})
    if lowest_opset(name, form) <= opset <= NEWEST
]
TRAINED = {"digits": 360, "lenet5": 1000}  # and how many test images there are
RANDOM = sorted(set(ARCHITECTURES) - set(TRAINED))

# Parameters, multiply-accumulates, elements through activations; and the number of sites.
COSTS = {
    "digits": (14_378, 230_720, 2_048, 3),
    "lenet5": (61_706, 416_520, 6_508, 4),
    "resnet8": (77_706, 12_501_632, 73_728, 7),
    "ds_cnn": (22_604, 2_656_768, 72_000, 9),
    "mobilenet": (210_850, 7_489_664, 231_552, 27),
}

# Operators beside the activations.
LAYERS = {
    "digits": {"Conv": 3, "GlobalAveragePool": 1, "Reshape": 1, "Gemm": 1},
    "lenet5": {"Conv": 2, "MaxPool": 2, "Reshape": 1, "Gemm": 3},
    "resnet8": {"Conv": 9, "Add": 3, "GlobalAveragePool": 1, "Reshape": 1, "Gemm": 1},
    "ds_cnn": {"Conv": 9, "GlobalAveragePool": 1, "Reshape": 1, "Gemm": 1},
    "mobilenet": {"Conv": 27, "GlobalAveragePool": 1, "Reshape": 1, "Gemm": 1},
}

# Into how many of each onnxruntime folds the clamp that follows; into a sum it cannot.
FOLDED = {
    "digits": {"Conv": 3},
    "lenet5": {"Conv": 2, "Gemm": 2},
    "resnet8": {"Conv": 4},
    "ds_cnn": {"Conv": 9},
    "mobilenet": {"Conv": 27},
}


def numpy_logits(arch: str, activation: str, tensors: dict[str, Array], images: Array) -> Array:
    """Compute the logits with the trainer's own layers: NumPy and fastact, no ONNX."""
    parameters = {name: tape.Value(value) for name, value in tensors.items()}
    net = tape.Tape(activation, parameters, np.random.default_rng(0))
    logits = ARCHITECTURES[arch].network(net, tape.Value(images)).data
    assert set(parameters) == set(tensors)  # none was missing, and drawn
    return np.asarray(logits)


def tensors(model: onnx.ModelProto) -> dict[str, Array]:
    """Give the weights that a model holds."""
    held = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    return {name: value for name, value in held.items() if name.endswith(("_weight", "_bias"))}


def facts(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


@pytest.mark.parametrize(("name", "form", "opset"), CASES)
def test_file(name: str, form: str, opset: int) -> None:
    model = cnn("digits", name, form=form, opset=opset, batch="batch")
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    opset_id = onnx.helper.make_opsetid("", opset)
    assert list(model.opset_import) == [opset_id]
    assert model.ir_version == onnx.helper.find_min_ir_version_for([opset_id])
    assert model.producer_name == "fastact"
    _, correct, images = weights.load("digits")[name]
    assert facts(model) == {
        "arch": "digits",
        "activation": name,
        "form": form,
        "opset": str(opset),
        "accuracy": f"{correct / images:.4f} ({correct} of {images} test images)",
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


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_cost(arch: str, name: str) -> None:
    parameters, macs, elements, sites = COSTS[arch]
    found = cost(cnn(arch, name, batch="n"))
    assert (found.parameters, found.macs) == (parameters, macs)
    through = [n for value, n in found.elements.items() if value.endswith(f"_{name}")]
    assert (sum(through), len(through)) == (elements, sites)


@pytest.mark.parametrize("arch", TRAINED)
@pytest.mark.parametrize("name", FORMS)
def test_trained_weights_are_in_the_file(arch: str, name: str) -> None:
    trained = weights.load(arch)[name].tensors
    written = tensors(cnn(arch, name))
    assert list(written) == list(trained)
    for tensor, expected in trained.items():
        assert expected.dtype == np.float32
        np.testing.assert_array_equal(written[tensor], expected, strict=True)


@pytest.mark.parametrize("arch", TRAINED)
@pytest.mark.parametrize(("name", "form"), FORM_CASES)
def test_accuracy_on_the_test_images(run: Run, arch: str, name: str, form: str) -> None:
    data = ARCHITECTURES[arch].data
    assert data is not None
    images, labels = data.load("test")
    model = cnn(arch, name, form=form, batch="batch")
    logits = run(model, images)
    assert logits.shape == (TRAINED[arch], 10)
    right = int((logits.argmax(axis=1) == labels).sum())
    assert right / len(labels) > 0.965
    assert facts(model)["accuracy"] == (
        f"{right / len(labels):.4f} ({right} of {len(labels)} test images)"
    )
    # Logits reach 60; float32 sums of hundreds of products differ in their order.
    expected = numpy_logits(arch, name, weights.load(arch)[name].tensors, images[::10])
    assert np.abs(logits[::10] - expected).max() < 2e-4


@pytest.mark.parametrize("form", FORMS["gelu"])
def test_swapping_exact_and_tanh_would_be_seen(run: Run, form: str) -> None:
    # The weights of one with the nodes of the other: more than the tolerance used above.
    images, _ = digits.load("test")
    model = cnn("digits", "gelu", form=form, batch="batch")
    others = weights.load("digits")["gelu_tanh"].tensors
    for tensor in model.graph.initializer:
        if tensor.name in others:
            tensor.CopyFrom(onnx.numpy_helper.from_array(others[tensor.name], tensor.name))
    assert (
        np.abs(run(model, images) - numpy_logits("digits", "gelu_tanh", others, images)).max()
        > 1e-3
    )


@pytest.mark.parametrize("arch", RANDOM)
@pytest.mark.parametrize("name", ["relu", "gelu", "hard_swish"])
def test_random_networks_compute_what_numpy_does(run: Run, arch: str, name: str) -> None:
    image, classes, _, _ = ARCHITECTURES[arch]
    images = np.random.default_rng(3).random((2, *image), np.float32)
    model = cnn(arch, name, batch="n")
    logits = run(model, images)
    assert logits.shape == (2, classes)
    expected = numpy_logits(arch, name, tensors(model), images)
    assert np.abs(logits - expected).max() < 1e-5 * np.abs(expected).max()
    assert np.abs(expected).max() > 0.01  # the signal does not fade on the way
    assert "accuracy" not in facts(model)


def test_random_weights_are_the_same_bits_everywhere() -> None:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors(cnn("mobilenet", "relu")).items()):
        digest.update(name.encode() + tensor.tobytes())
    assert digest.hexdigest()[:16] == "24c6cc28618f5dcf"
    first = tensors(cnn("resnet8", "relu"))["conv_weight"]
    assert first.ravel()[:2].tolist() == [0.011145534925162792, 0.4247012436389923]
    # He's variance, 2 / fan-in, within what chance allows.
    assert abs(first.var() / (2 / 27) - 1) < 0.1


@pytest.mark.parametrize(("name", "form"), FORM_CASES)
def test_batches(run: Run, name: str, form: str) -> None:
    images, _ = digits.load("test")
    expected = numpy_logits("digits", name, weights.load("digits")[name].tensors, images[:7])
    dynamic = cnn("digits", name, form=form, batch="batch")
    for batch in (0, 1, 2, 7):
        logits = run(dynamic, images[:batch])
        assert logits.shape == (batch, 10)
        assert np.abs(logits - expected[:batch]).max(initial=0) < 1e-4
    fixed = run(cnn("digits", name, form=form, batch=2), images[:2])
    assert np.abs(fixed - expected[:2]).max() < 1e-4


SITES = {
    ("relu", "op"): ["Relu"],
    ("relu6", "clip"): ["Clip"],
    ("gelu", "op"): ["Gelu"],
    ("gelu", "erf"): ["com.microsoft:Gelu"],
    ("gelu_tanh", "op"): ["Gelu"],
    ("gelu_tanh", "tanh"): ["Mul", "Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"],
    ("gelu_quick", "quick"): ["com.microsoft:QuickGelu"],
    ("silu", "sigmoid"): ["com.microsoft:QuickGelu"],
    ("hard_swish", "op"): ["HardSigmoid", "Mul"],
    ("hard_swish", "hard_sigmoid"): ["HardSigmoid", "Mul"],
    ("hard_swish", "clip"): ["Add", "Clip", "Div", "Mul"],
}


@pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32),
    reason="the stored graphs are those of onnxruntime 1.32, and older ones fuse otherwise",
)
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("name", "form"), FORM_CASES)
def test_optimised_graph(
    optimised: Callable[[onnx.ModelProto], list[str]],
    newest_loadable: int,
    arch: str,
    name: str,
    form: str,
) -> None:
    for opset in (max(17, lowest_opset(name, form)), newest_loadable):
        site = ["Gelu"] if form == "erf" and opset >= 20 else SITES[name, form]
        expected = Counter(LAYERS[arch]) + Counter(site * COSTS[arch][3])
        if site in (["Relu"], ["Clip"]):
            for layer, count in FOLDED[arch].items():
                if (layer, site) == ("Gemm", ["Clip"]):
                    continue  # folded into convolutions alone
                expected -= Counter({layer: count, site[0]: count})
                expected[f"com.microsoft:Fused{layer}"] += count
        assert Counter(optimised(cnn(arch, name, form=form, opset=opset))) == expected


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("lenet", "relu"), {}, ValueError, r"unknown architecture 'lenet'; .* 'digits', 'lenet5'"),
        (("digits", "swish"), {}, ValueError, r"unknown activation 'swish'; accepted: 'relu'"),
        (("digits", "relu"), {"dtype": "float16"}, ValueError, r"unknown dtype of a CNN 'float16'"),
        (("digits", "relu"), {"dtype": np.int8}, TypeError, r"dtype of a CNN must be a str"),
        (("digits", "gelu"), {"form": "table"}, ValueError, r"'table' is one of int8 and uint8"),
        (
            ("digits", "gelu"),
            {"target": "tflite-micro"},
            ValueError,
            r"cannot run gelu .* use gelu_t",
        ),
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
    relu = weights.load("digits")["relu"]
    tensors = {**relu.tensors, "conv2_bias": np.zeros(31, np.float32)}
    stale = {"relu": relu._replace(tensors=tensors)}
    monkeypatch.setattr(weights, "load", lambda arch: stale)
    with pytest.raises(ValueError, match=r"conv2_bias has shape \(31,\), not \(32,\)"):
        cnn("digits", "relu")
