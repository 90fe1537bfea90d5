"""Sessions: constrained, bound to buffers, and what the runtime makes of a model."""

import numpy as np
import onnx.parser
import pytest

from fastact import export
from fastact.bench import Session, optimized_operators
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


def test_session_runs_on_what_its_input_buffer_holds():
    session = Session(TWICE, np.zeros((3, 2), np.float32))
    session.input[:] = [[1, 2], [3, 4], [5, 6]]
    session.run()
    assert session.output.tolist() == [[2, 4], [6, 8], [10, 12]]
    assert session.input.tolist() == [[1, 2], [3, 4], [5, 6]]


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


def test_measuring_leaves_a_saved_model_as_it_was(tmp_path):
    path = export.save(export.cnn("digits", "relu", opset=20), tmp_path / "relu.onnx")
    before = path.read_bytes()
    image = digits.load("test")[0][:1]
    Session(path.read_bytes(), image)(image)
    optimized_operators(path.read_bytes())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
