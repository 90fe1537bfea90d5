"""Sessions: constrained, bound to buffers, and what the runtime makes of a model."""

import numpy as np
import onnx.parser
import pytest

from fastact import export
from fastact.bench import Session, optimized_operators
from fastact.bench.profiles import OPTIMIZATIONS
from fastact.bench.session import session_options
from fastact.export import digits

TWICE = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> twice (float[n, 2] x) => (float[n, 2] y) '
    "{ y = Add (x, x) }"
).SerializeToString()


def cnn(activation, form):
    return export.cnn("digits", activation, form=form, opset=20).SerializeToString()


def test_options_are_those_of_a_small_device():
    options = session_options(threads=2)
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    assert options.execution_mode.name == "ORT_SEQUENTIAL"
    assert options.graph_optimization_level.name == "ORT_ENABLE_ALL"
    for pool in ("intra_op", "inter_op"):
        assert options.get_session_config_entry(f"session.{pool}.allow_spinning") == "0"
    assert session_options().intra_op_num_threads == 1


def test_every_constraint_can_be_changed():
    options = session_options(threads=1, spinning=True)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "1"
    levels = {
        "disabled": "ORT_DISABLE_ALL",
        "basic": "ORT_ENABLE_BASIC",
        "extended": "ORT_ENABLE_EXTENDED",
        "all": "ORT_ENABLE_ALL",
    }
    assert tuple(levels) == OPTIMIZATIONS
    for level, name in levels.items():
        assert session_options(optimization=level).graph_optimization_level.name == name


def test_several_inputs_are_given_by_name():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> add (float[2] a, int64[2] b) => '
        "(float[2] y, int64[2] z) { c = Cast <to = 1> (b) y = Add (a, c) z = Identity (b) }"
    ).SerializeToString()
    inputs = {"a": np.float32([1, 2]), "b": np.int64([3, 4])}
    session = Session(model, inputs)
    assert session(inputs).tolist() == [4, 6]
    with pytest.raises(ValueError, match="the model has inputs a, b; give each by name"):
        Session(model, inputs["a"])


def test_outputs_that_are_no_numbers_are_left_to_the_runtime():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> two (float[2] x) => (seq(float[2]) s, float[2] y)'
        " { s = SequenceConstruct (x) y = Add (x, x) }"
    ).SerializeToString()
    assert Session(model, np.float32([1, 2]))(np.float32([3, 4])).tolist() == [6, 8]


def test_session_runs_on_what_its_input_buffer_holds():
    session = Session(TWICE, np.zeros((3, 2), np.float32))
    session.inputs["x"][:] = [[1, 2], [3, 4], [5, 6]]
    session.run()
    assert session.output.tolist() == [[2, 4], [6, 8], [10, 12]]
    assert session.inputs["x"].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_call_returns_a_copy_and_leaves_the_argument():
    session = Session(TWICE, np.zeros((1, 2), np.float32))
    x = np.array([[1, 2]], np.float32)
    first = session(x)
    session(x + 1)
    assert first.tolist() == [[2, 4]]
    assert x.tolist() == [[1, 2]]


def test_session_keeps_its_own_copy_of_the_sample():
    sample = np.zeros((1, 2), np.float32)
    session = Session(TWICE, sample)
    session.load(np.ones((1, 2), np.float32))
    assert sample.tolist() == [[0, 0]]


def test_non_contiguous_samples_are_laid_out():
    sample = np.arange(8, dtype=np.float32).reshape(2, 4)[:, ::2]
    session = Session(TWICE, sample)
    session.run()
    assert session.output.tolist() == [[0, 4], [8, 12]]


def test_inputs_of_another_type_are_refused():
    session = Session(TWICE, np.zeros((1, 2), np.float32))
    with pytest.raises(TypeError, match="Cannot cast"):
        session.load(np.zeros((1, 2)))


def test_creation_and_first_run_are_timed_apart():
    session = Session(TWICE, np.zeros((1, 2), np.float32))
    assert session.create_ms > 0
    assert session.first_run_ms > 0


def test_relu_and_not_gelu_is_folded_into_the_convolutions():
    relu = optimized_operators(cnn("relu", "op"))
    assert relu["Conv"] + relu["FusedConv"] == 3
    assert relu["Relu"] == 0
    gelu = optimized_operators(cnn("gelu", "op"))
    assert gelu["Gelu"] == 3
    # Older runtimes also change the layout of the data around each Gelu.
    assert gelu.total() >= relu.total() + 3


def test_erf_form_becomes_the_gelu_operator():
    assert optimized_operators(cnn("gelu", "erf")) == optimized_operators(cnn("gelu", "op"))


def test_written_out_tanh_form_is_not_fused():
    tanh = optimized_operators(cnn("gelu_tanh", "tanh"))
    assert (tanh["Tanh"], tanh["Gelu"]) == (3, 0)


def test_operators_of_subgraphs_are_counted():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> '
        "choose (bool c, float[2] x) => (float[2] y) { y = If (c) "
        "<then_branch = yes () => (float[2] a) { a = Abs (x) }, "
        "else_branch = no () => (float[2] b) { b = Exp (x) }> }"
    )
    assert optimized_operators(model.SerializeToString()) == {"If": 1, "Abs": 1, "Exp": 1}


def test_without_optimisation_nothing_is_folded():
    plain = optimized_operators(cnn("relu", "op"), "disabled")
    assert (plain["Conv"], plain["Relu"]) == (3, 3)


def test_measuring_leaves_a_saved_model_as_it_was(tmp_path):
    path = export.save(export.cnn("digits", "relu", opset=20), tmp_path / "relu.onnx")
    before = path.read_bytes()
    image = digits.load("test")[0][:1]
    Session(path.read_bytes(), image)(image)
    optimized_operators(path.read_bytes())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
