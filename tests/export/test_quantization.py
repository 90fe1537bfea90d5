"""Quantised CNNs: accuracy, what onnxruntime runs in int8, ReLU never lost, tables exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from fastact.export import ARCHITECTURES, FORMS, cnn, quantize
from fastact.export.cost import cost, parameters
from fastact.export.table import Quantization, results

Array = npt.NDArray[Any]
Run = Callable[[onnx.ModelProto, Array], Array]
Optimised = Callable[[onnx.ModelProto], list[str]]

TRAINED = ["digits", "lenet5"]
SITES = {"digits": 3, "lenet5": 4, "resnet8": 7, "ds_cnn": 9, "mobilenet": 27}

# What stays float32 between a DequantizeLinear and a QuantizeLinear, with its opset. Written
# out, GELU and SiLU are not fused there: each of their first nodes has a DequantizeLinear of its
# own.
ISLANDS = {
    ("gelu", 20): ["Gelu"],
    ("gelu", 17): ["Div", "Erf", "Mul", "Mul"],
    ("silu", 17): ["Sigmoid", "Mul"],
    ("hard_swish", 17): ["HardSigmoid", "Mul"],
}


def facts(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def images_of(arch: str, count: int) -> Array:
    image, _, _, data = ARCHITECTURES[arch]
    if data is None:
        return np.random.default_rng(2).random((count, *image), np.float32)
    return data.load("test")[0][:: 360 // count][:count]


def with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """Make values inside a model its outputs."""
    inferred = onnx.shape_inference.infer_shapes(model)
    ports = {port.name: port for port in inferred.graph.value_info}
    del inferred.graph.output[:]
    inferred.graph.output.extend(ports[name] for name in names)
    return inferred


def quantizers(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    return {n.input[0]: n for n in model.graph.node if n.op_type == "QuantizeLinear"}


def quantization(model: onnx.ModelProto, node: onnx.NodeProto) -> Quantization:
    tensors = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    return Quantization(float(tensors[node.input[1]]), int(tensors[node.input[2]]))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "form", "dtype"),
    [
        ("relu", None, "int8"),
        ("gelu", None, "int8"),
        ("gelu", "table", "int8"),
        ("gelu", "table", "uint8"),
    ],
)
def test_file(arch: str, name: str, form: str | None, dtype: str) -> None:
    model = cnn(arch, name, form=form, dtype=dtype)
    onnx.checker.check_model(model, full_check=True)
    assert model.producer_name == "fastact"
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 17)]
    assert model.ir_version == 8
    names = [node.name for node in model.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)
    told = facts(model)
    assert (told["arch"], told["activation"], told["dtype"]) == (arch, name, dtype)
    assert told["form"] == (form or ("op" if name == "relu" else "erf"))
    assert told["calibration"] == (
        "128 training images" if arch in TRAINED else "128 random images"
    )
    assert ("accuracy" in told) == (arch in TRAINED)
    # Nothing but the format of its numbers is another.
    original = cnn(arch, name)
    assert [p.name for p in model.graph.output] == [p.name for p in original.graph.output]
    assert parameters(model) == parameters(original)
    assert cost(model).macs == cost(original).macs


@pytest.mark.parametrize("arch", ["digits", "lenet5", "resnet8", "ds_cnn"])
@pytest.mark.parametrize("form", [None, "table"])
def test_same_arguments_give_the_same_bytes(arch: str, form: str | None) -> None:
    first, second = (cnn(arch, "gelu", form=form, dtype="int8") for _ in range(2))
    assert first.SerializeToString() == second.SerializeToString()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_weights_have_a_scale_for_each_channel(arch: str) -> None:
    model = cnn(arch, "relu", dtype="int8")
    tensors = {t.name: t for t in model.graph.initializer}
    for name, tensor in tensors.items():
        if name.endswith("_weight_quantized"):
            scales = tensors[name.replace("_quantized", "_scale")]
            assert tensor.data_type == onnx.TensorProto.INT8
            assert list(scales.dims) == [tensor.dims[0]]
    assert sum(name.endswith("_weight_quantized") for name in tensors) >= 4


@pytest.mark.parametrize("arch", TRAINED)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("form", [None, "table"])
def test_accuracy(run: Run, arch: str, name: str, form: str | None) -> None:
    data = ARCHITECTURES[arch].data
    assert data is not None
    images, labels = data.load("test")
    model = cnn(arch, name, form=form, dtype="int8", batch="n")
    right = int((run(model, images).argmax(axis=1) == labels).sum())
    assert facts(model)["accuracy"] == (
        f"{right / len(labels):.4f} ({right} of {len(labels)} test images)"
    )
    before = facts(cnn(arch, name))["accuracy"]
    assert right / len(labels) > float(before.split()[0]) - 0.015


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_relu_runs_in_8_bits_from_end_to_end(optimised: Optimised, arch: str, dtype: str) -> None:
    for name in ("relu", "relu6"):
        found = Counter(optimised(cnn(arch, name, dtype=dtype)))
        kinds = Counter(node.op_type for node in cnn(arch, name).graph.node)
        assert found["QuantizeLinear"] == found["DequantizeLinear"] == 1
        assert found["com.microsoft:QLinearConv"] + found["QLinearConv"] == kinds["Conv"]
        assert found["com.microsoft:QGemm"] == kinds["Gemm"]
        assert not {"Conv", "Gemm", "Relu", "Clip", "com.microsoft:FusedConv"} & set(found)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_tables_run_in_8_bits_from_end_to_end(optimised: Optimised, arch: str, dtype: str) -> None:
    found = Counter(optimised(cnn(arch, "gelu", form="table", dtype=dtype)))
    assert found["QuantizeLinear"] == found["DequantizeLinear"] == 1
    assert found["Cast"] == found["Gather"] == SITES[arch]


@pytest.mark.parametrize("arch", ["digits", "lenet5", "resnet8"])
@pytest.mark.parametrize(("name", "opset"), ISLANDS)
def test_islands(optimised: Optimised, arch: str, name: str, opset: int) -> None:
    found = Counter(optimised(cnn(arch, name, dtype="uint8", opset=opset)))
    assert found["QuantizeLinear"] == 1 + SITES[arch]
    assert not {"Conv", "Gemm", "com.microsoft:FusedConv"} & set(found)
    for kind, count in Counter(ISLANDS[name, opset]).items():
        assert found[kind] == count * SITES[arch]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_relu_is_never_lost(run: Run, arch: str, dtype: str) -> None:
    # Where the node is gone, the codes of its result must begin at 0.
    model = cnn(arch, "relu", dtype=dtype)
    after = {y: node for y, node in quantizers(model).items() if y.endswith("_relu")}
    assert len(after) == SITES[arch]
    assert not any(node.op_type == "Relu" for node in model.graph.node)
    for node in after.values():
        assert quantization(model, node).zero_point == np.iinfo(dtype).min
    images = images_of(arch, 20)
    for y in list(after)[:3]:
        values = np.concatenate(
            [run(with_outputs(model, [f"{y}_DequantizeLinear_Output"]), x[None]) for x in images]
        )
        assert values.min() == 0 < values.max()


def test_a_relu_that_is_0_in_calibration_is_not_lost(run: Run) -> None:
    # Its range has no width, and the scale and zero point that the tool takes let all pass.
    text = """<ir_version: 8, opset_import: ["": 17]>
        dead (float[1,1,4,4] x) => (float[1,1,4,4] y) {
            a = Conv <kernel_shape = [1, 1]> (x, w)
            y = Relu (a)
        }"""
    model = onnx.parser.parse_model(text)
    weight = onnx.numpy_helper.from_array(np.ones((1, 1, 1, 1), np.float32), "w")
    model.graph.initializer.append(weight)
    quantised = quantize(model, [np.full((1, 1, 4, 4), -3, np.float32)])
    assert run(quantised, np.full((1, 1, 4, 4), -3, np.float32)).tolist() == [[[[0.0] * 4] * 4]]


def test_a_clamp_inside_an_activation_stays(run: Run) -> None:
    model = cnn("digits", "hard_swish", form="clip", dtype="int8", batch="n")
    assert sum(node.op_type == "Clip" for node in model.graph.node) == SITES["digits"]
    images = images_of("digits", 20)
    by_operator = cnn("digits", "hard_swish", dtype="int8", batch="n")
    np.testing.assert_allclose(run(model, images), run(by_operator, images), atol=0.5)


@pytest.mark.parametrize("arch", ["digits", "ds_cnn"])
@pytest.mark.parametrize("name", FORMS)
def test_tables_hold_the_nearest_codes(arch: str, name: str) -> None:
    model = cnn(arch, name, form="table", dtype="int8")
    tensors = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    gathers = [node for node in model.graph.node if node.op_type == "Gather"]
    assert len(gathers) == SITES[arch]
    before = quantizers(model)
    after = {n.input[0]: n for n in model.graph.node if n.op_type == "DequantizeLinear"}
    for gather in gathers:
        source = next(n for n in model.graph.node if n.output[0] == gather.input[1]).input[0]
        x = quantization(model, next(n for n in before.values() if n.output[0] == source))
        y = quantization(model, after[gather.output[0]])
        np.testing.assert_array_equal(tensors[gather.input[0]], results(name, "int8", x, y)[0])


@pytest.mark.parametrize("arch", ["digits", "resnet8"])
def test_table_and_island_agree(run: Run, arch: str) -> None:
    # To the rounding of onnxruntime's float32 GELU, which moves a code now and then.
    images = images_of(arch, 20)
    table = cnn(arch, "gelu", form="table", dtype="int8")
    island = cnn(arch, "gelu", dtype="int8")
    original = cnn(arch, "gelu")
    step = quantization(table, quantizers(table)["logits_QuantizeLinear_Input"]).scale
    for image in images:
        logits = run(table, image[None])
        assert np.abs(logits - run(island, image[None])).max() <= 3 * step
        assert np.abs(logits - run(original, image[None])).max() <= 40 * step


def test_batches_change_nothing_but_the_shape() -> None:
    one, many = (cnn("digits", "gelu", dtype="int8", batch=batch) for batch in (1, 48))
    assert one.graph.initializer == many.graph.initializer
    assert facts(one)["accuracy"] == facts(many)["accuracy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opset": 12}, "a quantised model needs opset 13 or later, .* opset 12"),
        ({"form": "tanh"}, "unknown form of gelu 'tanh'"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cnn("digits", "gelu", dtype="int8", **options)


def test_quantize_refuses() -> None:
    model = cnn("digits", "relu")
    with pytest.raises(ValueError, match="calibration holds no inputs"):
        quantize(model, [])
    with pytest.raises(ValueError, match="unknown dtype of quantised values 'int16'"):
        quantize(model, [np.zeros((1, 1, 8, 8), np.float32)], dtype="int16")


def test_quantize_changes_nothing_of_the_model_it_is_given() -> None:
    model = cnn("digits", "relu")
    before = model.SerializeToString()
    quantize(model, [np.ones((1, 1, 8, 8), np.float32)])
    assert model.SerializeToString() == before
