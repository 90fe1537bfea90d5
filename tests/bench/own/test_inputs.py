"""Inputs for a user's model: what is open is asked for, and data that does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from fastact.bench.own.inputs import correct, inputs_for
from fastact.bench.own.shapes import parse_shapes
from fastact.export import ModelError, cnn


def model_of(*ports: str) -> onnx.ModelProto:
    """Write a model of these inputs, whose graph is of no matter here."""
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({", ".join(ports)}) => (float y) '
        "{ y = Constant<value = float {1.0}>() }"
    )


def unnamed(*sizes: int) -> onnx.ModelProto:
    """Write a model whose input x has these sizes, where 0 is open and has no name."""
    model = model_of("float x")
    shape = model.graph.input[0].type.tensor_type.shape
    for size in sizes:
        shape.dim.add(dim_value=size) if size else shape.dim.add()
    return model


def shape_of(model: onnx.ModelProto, shapes: Any = None, data: Any = None) -> Any:
    batches = inputs_for(model, shapes, data)
    found = [{name: array.shape for name, array in run.items()} for run in batches.inputs]
    assert all(shapes == found[0] for shapes in found)
    return found[0]


# ------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("port", "shape"),
    [
        ("float[1, 3, 8, 8] x", (1, 3, 8, 8)),
        ("float[batch, 3, 8, 8] x", (1, 3, 8, 8)),
        ("float[4, 3, 8, 8] x", (4, 3, 8, 8)),
        ("float[n] x", (1,)),
        ("float[7] x", (7,)),
        ("float x", ()),
    ],
)
def test_shapes_are_taken_from_the_model(port: str, shape: tuple[int, ...]) -> None:
    model = model_of(port)
    if port == "float x":
        model.graph.input[0].type.tensor_type.shape.SetInParent()
    assert shape_of(model) == {"x": shape}
    assert inputs_for(model).size == (shape[0] if shape else 1)


@pytest.mark.parametrize("size", [0, -1])
def test_sizes_that_are_no_sizes_are_open(size: int) -> None:
    model = model_of("float[7, 3] x")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = size
    assert shape_of(model) == {"x": (1, 3)}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            model_of("float[batch, 3, height, width] x"),
            r"^sizes are open in x: float32 \[batch, 3, height, width\]; "
            r"give them, as in --shape x=1,3,224,224$",
        ),
        (unnamed(0, 3, 0, 0), r"x: float32 \[\?, 3, \?, \?\]; .* --shape x=1,3,224,224$"),
        (unnamed(4, 0), r"x: float32 \[4, \?\]; give them, as in --shape x=4,16$"),
        (
            model_of("int64[b, seq] ids", "float[1, 8] x", "int64[b, seq] mask"),
            r"in ids: int64 \[b, seq\]; mask: int64 \[b, seq\]; .* "
            r"--shape ids=1,16 --shape mask=1,16$",
        ),
    ],
)
def test_open_sizes_are_asked_for(model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inputs_for(model)


def test_an_input_whose_rank_is_open() -> None:
    model = model_of("float x")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(ValueError, match=r"x: float32 of unknown shape; .*--shape x=1,3,224,224"):
        inputs_for(model)
    assert shape_of(model, {"x": (2, 5)}) == {"x": (2, 5)}
    assert shape_of(model, None, {"x": np.zeros((6, 5), "f")}) == {"x": (1, 5)}


def test_shapes_fill_what_is_open() -> None:
    model = model_of("int64[b, seq] ids", "int64[b, seq] mask", "float[b, 3] x")
    expected = {"ids": (1, 16), "mask": (1, 16), "x": (1, 3)}
    assert shape_of(model, {"ids": (1, 16)}) == expected  # mask names the same dimensions
    larger = inputs_for(model, {"ids": (4, 16)})
    assert (larger.size, larger.inputs[0]["x"].shape) == (4, (4, 3))
    named = inputs_for(model, None, {
        "ids": np.zeros((6, 9), np.int64), "mask": np.ones((6, 9), np.int64),
        "x": np.zeros((6, 3), "f"),
    })  # fmt: skip
    assert (len(named.inputs), named.inputs[5]["mask"].shape) == (6, (1, 9))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"z": (1, 3)}, r"no input 'z'; it takes x: float32 \[b, 3, n\]; w: float32 \[n\]$"),
        ({"x": (1, 3)}, r"shape \[1, 3\] does not fit the input x: float32 \[b, 3, n\]$"),
        ({"x": (1, 4, 8)}, r"shape \[1, 4, 8\] does not fit"),
        ({"x": (1, 3, 8), "w": (9,)}, r"dimension 'n' is both 8 and 9"),
    ],
)
def test_shapes_that_do_not_fit(shapes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        inputs_for(model_of("float[b, 3, n] x", "float[n] w"), shapes)
    assert not isinstance(caught.value, ModelError)  # it is the command that is wrong


def test_initializers_are_not_asked_for() -> None:
    model = model_of("float[1, 3] x", "float[3] w")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3, "f"), "w"))
    assert shape_of(model) == {"x": (1, 3)}


def test_inputs_that_are_no_tensors_of_numbers() -> None:
    with pytest.raises(ModelError, match="input 's' is string; it must be one of float16, float, "):
        inputs_for(model_of("string[1] s"))
    with pytest.raises(ModelError, match="input 'b' is bfloat16"):
        inputs_for(model_of("bfloat16[1] b"))
    with pytest.raises(ModelError, match="input 'q' is no tensor but a sequence"):
        inputs_for(model_of("seq(float[1]) q"))
    with pytest.raises(ModelError, match="the model has no input"):
        inputs_for(model_of())


# ------------------------------------------------------------------------ random inputs


def test_random_inputs() -> None:
    model = model_of("float[1, 64] x", "float16[1, 64] h", "int64[1, 64] ids", "bool[1, 64] mask")
    first, again, other = inputs_for(model), inputs_for(model), inputs_for(model, seed=2)
    assert (len(first.inputs), first.labels, first.notes) == (16, None, ())
    assert len(inputs_for(model, count=3).inputs) == 3
    for one, two, three in zip(first.inputs, again.inputs, other.inputs, strict=True):
        assert [array.dtype for array in one.values()] == ["f4", "f2", "i8", "?"]
        for name in one:
            np.testing.assert_array_equal(one[name], two[name])
            assert (one[name] != three[name]).any()
    assert (first.inputs[0]["x"] != first.inputs[1]["x"]).any()
    assert {*first.inputs[0]["ids"].ravel().tolist()} == {0, 1}


# ---------------------------------------------------------------------------------- data


def ramp(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("batch", ["1", "batch"])
def test_one_sample_for_each_run(batch: str) -> None:
    model = model_of(f"float[{batch}, 3] x")
    data = {"x": ramp(5, 3), "labels": np.array([4, 3, 2, 1, 0], np.uint8)}
    batches = inputs_for(model, data=data)
    assert (batches.size, batches.notes) == (1, ())
    np.testing.assert_array_equal([run["x"] for run in batches.inputs], ramp(5, 1, 3))
    assert batches.labels is not None
    assert batches.labels.dtype == np.int64
    assert batches.labels.tolist() == [[4], [3], [2], [1], [0]]
    assert {*data} == {"x", "labels"}


@pytest.mark.parametrize(("batch", "shapes"), [("4", None), ("b", {"x": (4, 3)})])
def test_a_model_that_takes_four_at_a_time(batch: str, shapes: Any) -> None:
    data = {"x": ramp(11, 3), "labels": np.arange(11)}
    batches = inputs_for(model_of(f"float[{batch}, 3] x"), shapes, data)
    assert batches.size == 4
    np.testing.assert_array_equal([run["x"] for run in batches.inputs], ramp(2, 4, 3))
    assert batches.labels is not None
    assert batches.labels.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert batches.notes == ("3 of 11 samples are left out: the model takes 4 at a time.",)


def test_several_inputs() -> None:
    model = model_of("float[1, 3] x", "int64[2, 5] pairs", "float threshold")
    model.graph.input[2].type.tensor_type.shape.SetInParent()
    pairs = np.arange(30).reshape(6, 5)
    data = {"pairs": pairs, "x": ramp(3, 3), "threshold": np.array(0.5, "f")}
    batches = inputs_for(model, data=data)
    assert len(batches.inputs) == 3
    np.testing.assert_array_equal(batches.inputs[1]["pairs"], pairs[2:4])
    assert [run["threshold"].item() for run in batches.inputs] == [0.5] * 3
    with pytest.raises(ModelError, match="unlike numbers of samples: 3 of x by 1, 4 of pairs by 2"):
        inputs_for(model, data={**data, "pairs": pairs[:4]})


def test_an_input_that_is_named_labels() -> None:
    batches = inputs_for(model_of("float[1, 3] labels"), data={"labels": ramp(2, 3)})
    assert batches.labels is None
    assert len(batches.inputs) == 2


X = ramp(5, 3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, r"the data has no 'x'; the model takes x: float32 \[b, 3\]$"),
        ({"labels": np.arange(5)}, r"the data has no 'x'"),
        ({"x": X, "z": X}, r"the data has 'z', but the model takes x: float32 \[b, 3\]; the cl"),
        ({"x": X.astype(float)}, r"'x' is float64 \[5, 3\]; the model takes float32 \[samples, 3"),
        ({"x": X[0]}, r"'x' is float32 \[3\]; the model takes float32 \[samples, 3\]$"),
        ({"x": X[None]}, r"'x' is float32 \[1, 5, 3\]; the model takes float32 \[samples, 3\]$"),
        ({"x": X.T}, r"'x' is float32 \[3, 5\]; the model takes float32 \[samples, 3\]$"),
        ({"x": X[:0]}, r"too few samples for one run: 0 of x by 1$"),
        ({"x": X, "labels": np.zeros(4, int)}, r"integers of shape \[5\], .*, not int64 \[4\]$"),
        ({"x": X, "labels": np.zeros((5, 1), int)}, r"shape \[5\], .*, not int64 \[5, 1\]$"),
        ({"x": X, "labels": np.zeros(5)}, r"integers of shape \[5\], .*, not float64 \[5\]$"),
        ({"x": X, "labels": -np.arange(5)}, r"classes, which count from 0, not -4$"),
    ],
)
def test_data_that_does_not_fit(data: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        inputs_for(model_of("float[b, 3] x"), data=data)


def test_fewer_samples_than_the_model_takes() -> None:
    with pytest.raises(ModelError, match="too few samples for one run: 3 of x by 4"):
        inputs_for(model_of("float[4, 3] x"), data={"x": ramp(3, 3)})


def test_data_of_open_sizes_is_held_against_the_shape() -> None:
    model = model_of("float[b, 3, h] x")
    data = {"x": ramp(2, 3, 8)}
    assert shape_of(model, None, data) == {"x": (1, 3, 8)}
    with pytest.raises(ModelError, match=r"is float32 \[2, 3, 8\]; .* float32 \[samples, 3, 9\]"):
        inputs_for(model, {"x": (1, 3, 9)}, data)


# ------------------------------------------------------------------------------ accuracy


def test_correct() -> None:
    scores = np.array([[0.1, 0.7, 0.2], [0.9, 0.0, 0.1], [0.0, 0.3, 0.7], [1.0, 0.0, 0.0]])
    one = correct([row[None] for row in scores], np.array([[1], [0], [1], [2]]))
    assert one.tolist() == [True, True, False, False]
    two = correct([scores[:2], scores[2:]], np.array([[1, 0], [1, 2]]))
    assert two.tolist() == [True, True, False, False]
    assert correct([scores[:2, None]], np.array([[1, 1]])).tolist() == [True, False]
    assert correct([scores[0]], np.array([[1]])).tolist() == [True]


@pytest.mark.parametrize(
    ("output", "labels", "message"),
    [
        (np.zeros(()), [[0]], r"for 1 samples the first output is \[\], not a row of scores"),
        (np.zeros((1, 7, 10)), [[0]], r"the first output is \[1, 7, 10\], not a row"),
        (np.zeros((2, 0)), [[0, 0]], r"label 0 is none of the 0 classes"),
        (np.zeros((2, 10)), [[0, 10]], r"label 10 is none of the 10 classes of the first output"),
        (np.zeros((1, 1)), [[1]], r"label 1 is none of the 1 classes"),
    ],
)
def test_outputs_without_an_accuracy(output: Any, labels: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        correct([output], np.array(labels))


def test_the_accuracy_of_a_network() -> None:
    pytest.importorskip("sklearn")
    import onnxruntime

    from fastact.export import digits

    images, labels = digits.load("test")
    model = cnn("digits", "relu")
    batches = inputs_for(model, data={"image": images, "labels": labels})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert batches.labels is not None
    right = correct([session.run(None, run)[0] for run in batches.inputs], batches.labels)
    whole = np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])
    np.testing.assert_array_equal(right, whole.argmax(axis=1) == labels)
    assert right.mean() > 0.95


# ------------------------------------------------------------------------------- parsing


def test_parse_shapes() -> None:
    assert parse_shapes([]) == {}
    assert parse_shapes(["x=1,3,224,224", "input.1= 1, 16", "a=b=7"]) == {
        "x": (1, 3, 224, 224),
        "input.1": (1, 16),
        "a=b": (7,),
    }


@pytest.mark.parametrize(
    "text", ["", "x", "x=", "=1,2", "x=1,,2", "x=1,n", "x=0", "x=1,-1", "x=1.5"]
)
def test_a_text_that_is_no_shape(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{text!r} is not NAME=SIZES, as in image=1,3,224,224$"):
        parse_shapes([text])


def test_a_shape_that_comes_twice() -> None:
    with pytest.raises(ValueError, match="the shape of 'x' is given twice"):
        parse_shapes(["x=1", "x=1"])
