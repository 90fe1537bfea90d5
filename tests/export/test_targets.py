"""The table of runtimes, and what is chosen for each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import onnxruntime.tools.mobile_helpers as mobile
import pytest

from fastact.export import DEFAULT_OPSET, FORMS, TARGETS, activation, choose, cnn, graph
from fastact.export.choice import operators
from fastact.export.forms import lowest_opset
from fastact.export.graph import lowest_ir
from fastact.export.support import Support
from fastact.export.targets import DELEGATING, find

NEWEST = onnx.defs.onnx_opset_version()

# The newest opset and IR that each onnxruntime loads, as found by running it.
LOADS = {"1.15": (19, 9), "1.17": (20, 9), "1.18": (21, 10), "1.21": (22, 10), "1.23": (23, 11)}
LOADS |= {"1.24": (25, 13), "1.25": (26, 13), "1.32": (28, 14)}

CHOSEN = [
    ("onnxruntime", "relu", "op", 17),
    ("onnxruntime", "gelu", "erf", 17),
    ("onnxruntime", "gelu_tanh", "tanh", 17),
    ("onnxruntime>=1.16.3", "gelu", "erf", 17),
    ("onnxruntime>=1.17", "gelu", "erf", 17),  # has the operator and no kernel for it
    ("onnxruntime>=1.18", "gelu", "op", 20),
    ("onnxruntime>=1.17", "gelu_tanh", "op", 20),
    ("onnxruntime>=1.32", "gelu_quick", "quick", 17),
    ("nnapi", "gelu", "erf", 17),  # left to the CPU provider
    ("nnapi", "gelu_tanh", "tanh", 17),
    ("nnapi", "hard_swish", "clip", 17),
    ("coreml", "gelu", "erf", 17),  # so is this
    ("coreml", "gelu_tanh", "tanh", 17),
    ("xnnpack", "gelu_tanh", "tanh", 17),  # and this
    ("coreml-mlprogram", "gelu", "op", 20),
    ("coreml-mlprogram", "hard_swish", "hard_sigmoid", 17),
    ("qnn", "gelu", "op", 20),
    ("openvino", "gelu", "op", 20),
    ("openvino", "gelu_tanh", "op", 20),
    ("tract", "gelu", "op", 20),
    ("ncnn", "gelu", "erf", 17),
    ("ncnn", "gelu_tanh", "tanh", 17),
    ("mnn", "gelu_tanh", "tanh", 17),
    ("mnn", "hard_swish", "op", 17),
    ("tensorrt", "gelu", "erf", 17),
    ("rknn", "gelu", "erf", 17),
    ("tflite-micro", "gelu_tanh", "tanh", 17),
]


@pytest.mark.parametrize(("target", "name", "form", "opset"), CHOSEN)
def test_choice(target: str, name: str, form: str, opset: int) -> None:
    choice = choose(name, target)
    assert choice[:3] == (form, opset, lowest_ir(opset))
    assert choice.reason.startswith(f"{name} as {form!r}, opset {opset}, IR {choice.ir}: ")
    assert find(target).runtime in choice.reason
    assert find(target).source in choice.reason
    model = activation(name, target=target)
    asked = activation(name, form=form, opset=opset, target=target)
    assert (model.graph, model.metadata_props) == (asked.graph, asked.metadata_props)
    assert (model.opset_import[0].version, model.ir_version) == choice[1:3]
    assert model.doc_string == choice.reason
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert (facts["form"], facts["target"]) == (form, target)
    network = cnn("digits", name, target=target)
    assert network.doc_string == choice.reason
    assert network.opset_import[0].version == opset


@pytest.mark.parametrize("version", LOADS)
def test_what_each_onnxruntime_loads(version: str) -> None:
    target = find(f"onnxruntime>={version}")
    assert target.opset is not None
    assert (target.opset, lowest_ir(target.opset)) == LOADS[version]


def test_later_ir_versions_are_those_of_onnx() -> None:
    for opset, ir in graph._LATER_IR.items():
        if opset <= NEWEST:
            opset_id = onnx.helper.make_opsetid("", opset)
            assert onnx.helper.find_min_ir_version_for([opset_id]) == ir


def test_targets_of_onnxruntime() -> None:
    assert [t for t in TARGETS if t.startswith("onnxruntime")] == [
        f"onnxruntime>={version}" for version in LOADS
    ]
    assert find("onnxruntime") == find("onnxruntime>=1.15") == find("onnxruntime>=1.16.3")
    assert find("onnxruntime>=1.20.1") == find("onnxruntime>=1.18")
    assert find("onnxruntime>=2.0") == find("onnxruntime>=1.32")


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_complete(target: str) -> None:
    entry = TARGETS[target]
    assert entry.runtime
    assert entry.source
    assert entry.has is None or not entry.lacks
    assert {(n, f) for n, f in entry.notes if f not in (*FORMS[n], "table")} == set()
    # ReLU works everywhere, and nothing that is noted is contradicted by a missing operator.
    assert choose("relu", target).form == "op"
    for name, form in entry.notes:
        if form == "table" or (entry.opset or NEWEST) >= lowest_opset(name, form):
            assert entry.support(name, form, operators(name, form)) == entry.notes[name, form]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMS)
def test_what_is_chosen_can_be_written_or_the_reason_is_told(target: str, name: str) -> None:
    try:
        choice = choose(name, target)
    except ValueError as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert name not in ("relu", "relu6")
        assert all(f"not {form!r}: " in told for form in FORMS[name])
        instead = re.search(r"; use (\w+), trained anew, which runs as '(\w+)'$", told)
        assert instead is not None
        assert choose(instead[1], target).form == instead[2]
        return
    entry = TARGETS[target]
    used = operators(name, choice.form, choice.opset)
    if entry.missing(used):  # a provider leaves it to the CPU provider
        assert target in DELEGATING
        assert "leaves it to the CPU provider" in choice.reason
        assert all(f"not {form!r}: " in choice.reason for form in FORMS[name])
        assert choice[:3] == choose(name, "onnxruntime")[:3]
        return
    assert entry.support(name, choice.form, used)[0] > Support.WRONG
    assert choice.opset == max(DEFAULT_OPSET, lowest_opset(name, choice.form))
    assert choice.opset <= (entry.opset or NEWEST)


@pytest.mark.skipif(
    not onnxruntime.__version__.startswith("1.32."), reason="the table is of onnxruntime 1.32"
)
@pytest.mark.parametrize(
    ("target", "list_of_operators"),
    [
        ("nnapi", "nnapi_supported_ops.md"),
        ("coreml", "coreml_supported_neuralnetwork_ops.md"),
        ("coreml-mlprogram", "coreml_supported_mlprogram_ops.md"),
    ],
)
def test_mobile_operators_are_those_of_the_checker(target: str, list_of_operators: str) -> None:
    text = Path(mobile.__file__).with_name(list_of_operators).read_text()
    known = set(re.findall(r"\|ai\.onnx[:.](\w+)\|", text))
    known = {"ArgMax" if name == "Argmax" else name for name in known}
    assert TARGETS[target].has == known


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("gelu", "ethos-u"), {"form": "erf"}, ValueError, r"not 'erf': has no Erf; .*tanh"),
        (("gelu", "tflite-micro"), {}, ValueError, r"has no Gelu; not 'erf': has no Erf; .*tanh"),
        (("gelu", "mnn"), {}, ValueError, r"4.7e-4 off; not 'erf': .* 4.7e-4 off.*use gelu_tanh"),
        (("gelu", "mnn"), {"form": "op"}, ValueError, r"an approximation that is 4.7e-4 off"),
        (("gelu", "rknn"), {"opset": 20}, ValueError, r"up to 19, but opset 20 was asked for"),
        (("gelu", "onnxruntime"), {"form": "op"}, ValueError, r"needs opset 20 .* up to 19"),
        (("gelu", "openvino"), {"form": "op", "opset": 13}, ValueError, r"needs opset 20 or later"),
        (("gelu", "openvino"), {"opset": 99}, ValueError, r"opset must be from 7"),
        (("gelu", "openvino"), {"form": "tanh"}, ValueError, r"unknown form of gelu 'tanh'"),
        (("swish", "openvino"), {}, ValueError, r"unknown activation 'swish'"),
        (("gelu", "onnxruntime>=1.14"), {}, ValueError, r"the oldest .* is 1\.15"),
        (("gelu", "onnxruntime>=new"), {}, ValueError, r"unknown target .*; accepted: 'onnxrunt"),
        (("gelu", "iphone"), {}, ValueError, r"unknown target 'iphone'; accepted: .*'nnapi'"),
        (("gelu", 3), {}, TypeError, r"target must be a str, not int"),
    ],
)
def test_refused(
    arguments: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        choose(*arguments, **options)


def test_tables_need_their_operators_too() -> None:
    quantization = (0.05, 0)
    model = activation("gelu", target="nnapi", dtype="int8", x_quantization=quantization)
    assert [node.op_type for node in model.graph.node] == ["Cast", "Gather"]
    with pytest.raises(ValueError, match="has no Gather"):
        activation("gelu", target="coreml-mlprogram", dtype="int8", x_quantization=quantization)
    with pytest.raises(ValueError, match="has no DequantizeLinear and no QuantizeLinear"):
        cnn("digits", "relu", target="coreml", dtype="int8")


def test_without_a_target_the_opset_decides() -> None:
    assert choose("gelu")[:3] == ("erf", 17, 8)
    assert choose("gelu", opset=20)[:3] == ("op", 20, 9)
    assert choose("gelu", form="table", opset=7)[:3] == ("table", 7, 3)
    assert choose("relu6", opset=9).reason.startswith("relu6 as 'clip', opset 9, IR 4: ")
