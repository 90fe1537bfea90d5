"""What is in the file of an exported activation, and which requests are refused."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastact
from fastact.export import FORMS, activation
from fastact.export.forms import ACTIVATIONS
from fastact.export.graph import Port, build

NEWEST = onnx.defs.onnx_opset_version()

# The promise to users, by hand: a change of onnx's own defaults must not change our files.
IR = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9}
IR |= {20: 9, 21: 10, 22: 10, 23: 11, 24: 12, 25: 13, 26: 13, 27: 13, 28: 14}

LOWEST = {
    ("relu", "op"): 7,
    ("relu6", "clip"): 7,
    ("gelu", "op"): 20,
    ("gelu", "erf"): 9,
    ("gelu_tanh", "op"): 20,
    ("gelu_tanh", "tanh"): 7,
    ("gelu_quick", "quick"): 7,
    ("silu", "sigmoid"): 7,
    ("hard_swish", "op"): 14,
    ("hard_swish", "hard_sigmoid"): 7,
    ("hard_swish", "clip"): 11,
}

NODES = {
    ("relu", "op"): ["Relu"],
    ("relu6", "clip"): ["Clip"],
    ("gelu", "op"): ["Gelu"],
    ("gelu", "erf"): ["Div", "Erf", "Add", "Mul", "Mul"],
    ("gelu_tanh", "op"): ["Gelu"],
    ("gelu_tanh", "tanh"): ["Mul", "Mul", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"],
    ("gelu_quick", "quick"): ["Mul", "Sigmoid", "Mul"],
    ("silu", "sigmoid"): ["Sigmoid", "Mul"],
    ("hard_swish", "op"): ["HardSwish"],
    ("hard_swish", "hard_sigmoid"): ["HardSigmoid", "Mul"],
    ("hard_swish", "clip"): ["Add", "Clip", "Div", "Mul"],
}

ZERO, HALF, ONE, THREE, SIX = 0, 0x3F000000, 0x3F800000, 0x40400000, 0x40C00000
SQRT_2, SQRT_2_OVER_PI = 0x3FB504F3, 0x3F4C422A
CUBE_FACTOR, QUICK_FACTOR = 0x3D372713, 0x3FD9DB23
BITS = {
    ("relu", "op"): [],
    ("relu6", "clip"): [ZERO, SIX],
    ("gelu", "op"): [],
    ("gelu", "erf"): [SQRT_2, ONE, HALF],
    ("gelu_tanh", "op"): [],
    ("gelu_tanh", "tanh"): [CUBE_FACTOR, SQRT_2_OVER_PI, ONE, HALF],
    ("gelu_quick", "quick"): [QUICK_FACTOR],
    ("silu", "sigmoid"): [],
    ("hard_swish", "op"): [],
    ("hard_swish", "hard_sigmoid"): [],
    ("hard_swish", "clip"): [THREE, ZERO, SIX],
}
# Where Clip has its bounds in attributes.
BITS_BEFORE_11: dict[tuple[str, str], list[int]] = {("relu6", "clip"): []}

EVERY_OPSET = [
    (name, form, opset)
    for (name, form), lowest in LOWEST.items()
    for opset in range(lowest, NEWEST + 1)
]


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def dims(port: onnx.ValueInfoProto) -> list[int | str]:
    shape = port.type.tensor_type.shape
    return [d.dim_param if d.HasField("dim_param") else d.dim_value for d in shape.dim]


def test_every_form_is_covered() -> None:
    pairs = [(name, form) for name, forms in FORMS.items() for form in forms]
    assert pairs == list(LOWEST) == list(NODES) == list(BITS)


@pytest.mark.parametrize(("name", "form", "opset"), EVERY_OPSET)
def test_file(name: str, form: str, opset: int) -> None:
    model = activation(name, form=form, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)

    assert [(o.domain, o.version) for o in model.opset_import] == [("", opset)]
    assert model.ir_version == IR[opset]
    assert (model.producer_name, model.producer_version) == ("fastact", fastact.__version__)
    properties = {entry.key: entry.value for entry in model.metadata_props}
    assert properties == {"activation": name, "form": form, "opset": str(opset)}

    assert model.doc_string.startswith(f"{name} as {form!r}, opset {opset}, IR {IR[opset]}: ")

    graph = model.graph
    assert ops(model) == NODES[name, form]
    assert {node.domain for node in graph.node} == {""}
    names = [node.name for node in graph.node]
    assert all(names)
    assert len(set(names)) == len(names)

    constants = [onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer]
    old = BITS_BEFORE_11 if opset < 11 else {}
    bits = old.get((name, form), BITS[name, form])
    assert [int(c.view(np.uint32)) for c in constants] == bits
    assert {(c.dtype.name, c.shape) for c in constants} <= {("float32", ())}

    # IR 3 wants initializers among the inputs; from 4 on the graph has one input.
    declared = [tensor.name for tensor in graph.initializer] if model.ir_version < 4 else []
    assert [port.name for port in graph.input] == ["x", *declared]
    assert [port.name for port in graph.output] == ["y"]
    assert dims(graph.input[0]) == dims(graph.output[0]) == [1, 64]


@pytest.mark.parametrize("opset", range(7, NEWEST + 1))
def test_ir_is_the_lowest_for_every_opset(opset: int) -> None:
    model = activation("relu", opset=opset)
    assert (model.opset_import[0].version, model.ir_version) == (opset, IR[opset])


@pytest.mark.parametrize(("name", "form", "opset"), EVERY_OPSET)
def test_same_arguments_give_the_same_bytes(name: str, form: str, opset: int) -> None:
    first, second = (
        activation(name, form=form, opset=opset, shape=("batch", 3)).SerializeToString()
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(("name", "approximate"), [("gelu", b"none"), ("gelu_tanh", b"tanh")])
def test_approximate_is_in_the_file(name: str, approximate: bytes) -> None:
    data = activation(name, form="op").SerializeToString()
    (node,) = onnx.load_from_string(data).graph.node
    assert [(a.name, a.s) for a in node.attribute] == [("approximate", approximate)]


@pytest.mark.parametrize(
    ("name", "options", "form", "opset"),
    [
        ("relu", {}, "op", 17),
        ("gelu", {}, "erf", 17),
        ("gelu_tanh", {}, "tanh", 17),
        ("gelu", {"form": "op"}, "op", 20),
        ("gelu", {"opset": 19}, "erf", 19),
        ("gelu", {"opset": 20}, "op", 20),
        ("gelu_tanh", {"opset": np.int64(20)}, "op", 20),
        ("gelu", {"form": "erf", "opset": NEWEST}, "erf", NEWEST),
        ("gelu_quick", {"opset": 7}, "quick", 7),
        ("silu", {}, "sigmoid", 17),
        ("relu6", {"opset": 10}, "clip", 10),
        ("hard_swish", {}, "op", 17),
        ("hard_swish", {"opset": 13}, "hard_sigmoid", 13),
    ],
)
def test_defaults(name: str, options: dict[str, Any], form: str, opset: int) -> None:
    model = activation(name, **options)
    assert ops(model) == NODES[name, form]
    assert model.opset_import[0].version == opset


@pytest.mark.parametrize("name", FORMS)
def test_float16_is_computed_in_float32(name: str) -> None:
    model = activation(name, dtype=np.float16)
    nodes = model.graph.node
    form = next(form for form in FORMS[name] if LOWEST[name, form] <= 17)
    assert ops(model) == ["Cast", *NODES[name, form], "Cast"]
    assert [nodes[i].attribute[0].i for i in (0, -1)] == [
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.FLOAT16,
    ]
    ports = (model.graph.input[0], model.graph.output[0])
    assert {port.type.tensor_type.elem_type for port in ports} == {onnx.TensorProto.FLOAT16}


size = st.one_of(
    st.integers(1, 2**63 - 1), st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
)


@settings(max_examples=50, deadline=None)
@given(shape=st.lists(size, max_size=5), name=st.sampled_from(sorted(FORMS)))
def test_any_shape_is_written_as_asked(shape: list[int | str], name: str) -> None:
    graph = activation(name, shape=shape).graph
    assert dims(graph.input[0]) == dims(graph.output[0]) == shape
    assert graph.input[0].type.tensor_type.HasField("shape")


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        (
            "swish",
            {},
            ValueError,
            r"unknown activation 'swish'; accepted: 'relu', 'relu6', 'gelu', 'gelu_tanh', ",
        ),
        (None, {}, TypeError, r"activation must be a str, not NoneType"),
        (
            "gelu",
            {"form": "tanh"},
            ValueError,
            r"unknown form of gelu 'tanh'; accepted: 'op', 'erf'",
        ),
        ("gelu", {"form": 1}, TypeError, r"form of gelu must be a str, not int"),
        ("relu", {"opset": 6}, ValueError, rf"opset must be from 7 to {NEWEST}, .*; got 6"),
        ("relu", {"opset": NEWEST + 1}, ValueError, rf"to {NEWEST}, .*; got {NEWEST + 1}"),
        ("relu", {"opset": "17"}, TypeError, r"opset must be an int, not str"),
        ("relu", {"opset": True}, TypeError, r"opset must be an int, not bool"),
        ("relu", {"opset": 17.0}, TypeError, r"opset must be an int, not float"),
        (
            "gelu",
            {"form": "op", "opset": 17},
            ValueError,
            r"form='op' of gelu needs opset 20 or later, but opset 17 was asked for; "
            r"form='erf' needs 9",
        ),
        (
            "gelu_tanh",
            {"form": "op", "opset": 19},
            ValueError,
            r"needs opset 20 or later, but opset 19 was asked for; form='tanh' needs 7",
        ),
        (
            "gelu",
            {"opset": 8},
            ValueError,
            r"form='erf' of gelu needs opset 9 .* opset 8 was asked",
        ),
        (
            "gelu",
            {"dtype": "float64"},
            ValueError,
            r"gelu of float64: onnxruntime has no CPU kernel",
        ),
        (
            "gelu_tanh",
            {"dtype": np.float64},
            ValueError,
            r"gelu_tanh of float64: onnxruntime has no CPU kernel",
        ),
        (
            "gelu",
            {"dtype": "int32"},
            ValueError,
            r"no gelu of int32: .* accepted: 'float32', 'float16', 'int8', 'uint8'",
        ),
        (
            "relu",
            {"dtype": "int32"},
            ValueError,
            r"no relu of int32: .* accepted: 'float32', 'float16', 'float64'",
        ),
        ("silu", {"dtype": "float64"}, ValueError, r"silu of float64: its constants are float32"),
        ("gelu", {"form": "table"}, ValueError, r"'table' is that of 8-bit types"),
        ("relu", {"x_quantization": (1, 0)}, ValueError, r"float32 has no quantization"),
        ("relu", {"dtype": None}, TypeError, r"dtype must be"),
        ("relu", {"dtype": object()}, TypeError, r"data type"),
        ("relu", {"shape": (0, 64)}, ValueError, r"got 0; .* needs a name"),
        ("relu", {"shape": (-1,)}, ValueError, r"got -1"),
        ("relu", {"shape": (2**63,)}, ValueError, r"got 9223372036854775808"),
        ("relu", {"shape": ("",)}, ValueError, r"identifier, got ''"),
        ("relu", {"shape": ("batch size",)}, ValueError, r"identifier, got 'batch size'"),
        ("relu", {"shape": ("größe",)}, ValueError, r"identifier"),
        ("relu", {"shape": "batch"}, TypeError, r"shape must be a sequence of dimensions"),
        ("relu", {"shape": 64}, TypeError, r"shape must be a sequence of dimensions"),
        ("relu", {"shape": (1.5,)}, TypeError, r"must be an int, not float"),
        ("relu", {"shape": (True,)}, TypeError, r"must be an int, not bool"),
    ],
)
def test_refused(name: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        activation(name, **options)


def test_public_forms_are_those_of_the_table() -> None:
    assert {name: tuple(entry.forms) for name, entry in ACTIVATIONS.items()} == FORMS


def test_a_graph_that_contradicts_its_ports_is_refused() -> None:
    source, result = Port("x", "float32", (2, 3)), Port("y", "float32", (3, 2))
    with pytest.raises(onnx.shape_inference.InferenceError, match="differ"):
        build("wrong", source, result, ["y = Relu (x)"], {}, 17, {})


def test_a_huge_shape_costs_nothing() -> None:
    # Shape inference with data propagation would ask for gigabytes here.
    start = time.perf_counter()
    assert dims(activation("gelu_tanh", shape=(2**62,)).graph.output[0]) == [2**62]
    assert time.perf_counter() - start < 1
