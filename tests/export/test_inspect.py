"""What inspect tells of a model, and the two commands as people run them."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from fastact.cli import main
from fastact.export import TARGETS, activation, cnn, cost, inspect, save
from fastact.export.graph import lowest_ir
from fastact.export.inspection import oldest_onnxruntime

MODELS = Path(__file__).parent / "models"

# What is in the stored models, by hand.
STORED = {
    "convnext_none_script_13": ["gelu erf"],
    "convnext_tanh_script_13": ["gelu_tanh other"],
    "convnext_none_dynamo_18": ["gelu other"],
    "convnext_tanh_dynamo_20": ["gelu_tanh op"],
    "vit_none_script_17": ["gelu erf"],
    "vit_tanh_script_20": ["gelu_tanh op"],
    "vit_none_dynamo_20": ["gelu op"],
    "vit_tanh_dynamo_18": ["gelu_tanh pow"],
    "quick_script_14": ["gelu_quick quick", "silu sigmoid", "hard_swish op", "relu6 clip"],
    "quick_dynamo_18": ["gelu_quick quick", "silu sigmoid", "hard_swish op", "relu6 clip"],
    "handwritten_script_13": ["gelu other", "gelu_tanh pow"],
    "handwritten_dynamo_18": ["gelu other", "gelu_tanh pow"],
}


def told(path: Path) -> list[str]:
    return [f"{found.activation} {found.form}" for found in inspect(path).activations]


def test_every_stored_model_is_in_the_list() -> None:
    assert sorted(path.stem for path in MODELS.glob("*.onnx")) == sorted(STORED)
    assert all(path.stat().st_size < 30_000 for path in MODELS.glob("*.onnx"))


@pytest.mark.parametrize("name", STORED)
def test_models_of_torch(name: str) -> None:
    report = inspect(MODELS / f"{name}.onnx")
    assert told(MODELS / f"{name}.onnx") == STORED[name]
    assert report.producer.startswith("pytorch 2.13.0")
    assert report.opsets == {"": int(name.rsplit("_", 1)[1])}
    assert report.inputs[0].shape == ("batch", 4, 4, 4)
    if name.startswith("vit") and "script" in name:
        # The older exporter computes shapes in the graph, further than shape inference follows.
        assert (report.activations[0].elements, report.macs) == (None, None)
    else:
        # Batch 1, 4x4 pixels; ConvNeXt expands to 8 channels, the others keep 4.
        expected = {"vit": 4 * 16, "convnext": 8 * 16}.get(name.split("_")[0], 4 * 16)
        assert {found.elements for found in report.activations} == {expected}
        assert report.macs is not None
        assert report.macs > 0
    assert report.oldest_onnxruntime == oldest_onnxruntime(report.opsets[""], report.ir)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.filterwarnings("default")
def test_torch_makes_the_stored_models(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make", MODELS / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert {path.stem: told(path) for path in make.make(tmp_path)} == STORED


def test_a_model_of_ours() -> None:
    model = cnn("digits", "gelu", opset=17, batch="n")
    report = inspect(model)
    assert (report.opsets, report.ir) == ({"": 17}, 8)
    assert [asdict(port) for port in (*report.inputs, *report.outputs)] == [
        {"name": "image", "type": "float", "shape": ("n", 1, 8, 8)},
        {"name": "logits", "type": "float", "shape": ("n", 10)},
    ]
    assert (report.parameters, report.macs) == (14378, 230720)
    assert report.nodes == len(model.graph.node)
    for found in report.activations:
        assert found.elements == cost.elements(model, found.y)
    assert [found.elements for found in report.activations] == [1024, 512, 512]
    assert list(report.targets) == list(TARGETS)


def test_data_is_plain_and_complete() -> None:
    report = inspect(MODELS / "quick_dynamo_18.onnx")
    data = json.loads(json.dumps(report.to_dict()))
    assert data["schema"] == 1
    assert data["activations"][0]["operators"] == ["Mul", "Sigmoid", "Mul"]
    assert len(data["targets"]) == len(TARGETS)


@pytest.mark.parametrize(
    ("opset", "ir", "oldest"),
    [
        (7, 3, "1.15"),
        (19, 9, "1.15"),
        (13, 10, "1.18"),
        (20, 9, "1.17"),
        (20, 10, "1.18"),
        (22, 10, "1.21"),
        (23, 11, "1.23"),
        (25, 13, "1.24"),
        (26, 13, "1.25"),
        (28, 14, "1.32"),
        (29, 14, None),
        (17, 99, None),
    ],
)
def test_oldest_onnxruntime(opset: int, ir: int, oldest: str | None) -> None:
    assert oldest_onnxruntime(opset, ir) == oldest


def test_what_stands_in_the_way() -> None:
    op = inspect(activation("gelu", form="op", opset=20)).targets
    assert op["onnxruntime>=1.15"] == ("reads opsets up to 19, the model has 20",)
    assert op["onnxruntime>=1.17"] == ()
    assert op["nnapi"] == ("has no Gelu (y)",)
    assert "4.7e-4" in op["mnn"][0]
    erf = inspect(activation("gelu", form="erf")).targets
    assert erf["qnn"] == ("has no Erf (y_erf)",)
    assert "4.7e-4" in erf["mnn"][0]
    power = inspect(MODELS / "vit_tanh_dynamo_18.onnx").targets
    assert power["ncnn"] == ("turns a tanh GELU spelled with Pow into the exact one (gelu)",)
    assert inspect(MODELS / "convnext_tanh_script_13.onnx").targets["ncnn"] == ()
    model = activation("gelu", form="erf", opset=17)
    model.ir_version = lowest_ir(21)
    assert inspect(model).targets["onnxruntime>=1.17"] == (
        "reads IR versions up to 9, the model has 10",
    )


def test_operators_of_other_domains_stand_in_the_way() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "own": 1, "com.microsoft": 1]> '
        "g (float[2] x) => (float[2] y) { t = own.Mystery(x) y = com.microsoft.Gelu(t) }"
    )
    targets = inspect(model).targets
    assert targets["onnxruntime>=1.15"] == ("has no own.Mystery (t)",)
    assert targets["tract"] == ("has no own.Mystery (t)", "has no com.microsoft.Gelu (y)")


def test_shapes_that_are_not_known() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> '
        "g (float[n, m] x, float[m, k] w) => (float[n, k] y) { t = MatMul(x, w) y = Relu(t) }"
    )
    report = inspect(model)
    assert report.macs is None
    assert report.activations[0].elements is None


# ------------------------------------------------------------------------- the commands


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_inspect_prints(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "inspect", MODELS / "handwritten_dynamo_18.onnx")
    assert (code, err) == (0, "")
    for word in ("opset 18, IR 10", "pytorch", "[batch, 4, 4, 4]", "onnxruntime 1.18 and later"):
        assert word in out
    assert "pow" in out
    assert "Tanh" in out
    assert out.isascii()
    assert all(f"\n  {name} " in out for name in TARGETS)


def test_inspect_prints_data(capsys: pytest.CaptureFixture[str]) -> None:
    path = MODELS / "vit_none_script_17.onnx"
    code, out, _ = run(capsys, "inspect", path, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(inspect(path).to_dict()))


def test_rewrite_writes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save(cnn("digits", "gelu", form="op"), tmp_path / "in.onnx")
    out_path = tmp_path / "out.onnx"
    code, out, err = run(capsys, "rewrite", path, out_path, "--form", "erf", "--opset", 13)
    assert (code, err) == (0, "")
    assert "3 of 3 activations rewritten, opset 20 -> 13, IR 9 -> 7" in out
    assert "(Gelu) -> gelu as erf" in out
    assert "tolerance 1e-05" in out
    assert told(out_path) == ["gelu erf"] * 3
    x = np.random.default_rng(1).random((1, 1, 8, 8), "f")
    first, second = (
        onnxruntime.InferenceSession(p).run(None, {"image": x})[0] for p in (path, out_path)
    )
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-5)


def test_rewrite_in_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save(cnn("digits", "gelu", form="op"), tmp_path / "m.onnx")
    assert run(capsys, "rewrite", path, path, "--target", "ncnn")[0] == 0
    assert told(path) == ["gelu erf"] * 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.onnx"]


def test_rewrite_with_another_activation_says_to_train_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = save(cnn("digits", "gelu"), tmp_path / "in.onnx")
    np.savez(tmp_path / "x.npz", image=np.ones((1, 1, 8, 8), "f"))
    words: list[Any] = ["rewrite", path, tmp_path / "out.onnx", "--activation", "relu"]
    code, out, _ = run(capsys, *words, "--data", tmp_path / "x.npz")
    assert code == 0
    assert "Largest change of an output on the given inputs: " in out
    assert "train it again" in out
    assert told(tmp_path / "out.onnx") == ["relu op"] * 3
    assert "random inputs" in run(capsys, *words)[1]


def test_rewrite_replaces_what_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save(cnn("digits", "relu"), tmp_path / "in.onnx")
    words: list[Any] = ["rewrite", path, tmp_path / "out.onnx", "--activation", "gelu"]
    code, out, err = run(capsys, *words, "--replace", "relu6", "--replace", "relu")
    assert (code, err) == (0, "")
    assert "3 of 3 activations rewritten" in out
    assert "relu (Relu) -> gelu as erf" in out
    assert "train it again" in out
    assert told(tmp_path / "out.onnx") == ["gelu erf"] * 3


def test_rewrite_takes_external_data_along(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    model = cnn("digits", "gelu", form="op")
    onnx.save(model, tmp_path / "a/m.onnx", save_as_external_data=True, location="w.bin")
    words = ["rewrite", tmp_path / "a/m.onnx", tmp_path / "b/m.onnx", "--form", "erf"]
    assert run(capsys, *words)[0] == 0
    assert (tmp_path / "b/w.bin").read_bytes() == (tmp_path / "a/w.bin").read_bytes()
    assert told(tmp_path / "b/m.onnx") == ["gelu erf"] * 3
    onnxruntime.InferenceSession(tmp_path / "b/m.onnx")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["none.onnx", "o.onnx", "--form", "erf"], 1, "none.onnx"),
        (["text.onnx", "o.onnx", "--form", "erf"], 1, "not an ONNX model"),
        (["m.onnx", "no/o.onnx", "--form", "erf"], 1, "no folder"),
        (["m.onnx", "o.onnx", "--form", "tanh"], 1, "gelu has op, erf"),
        (["m.onnx", "o.onnx", "--form", "erf", "--data", "text.onnx"], 1, "not an .npz"),
        (["m.onnx", "o.onnx", "--form", "erf", "--data", "none.npz"], 1, "none.npz"),
        (["m.onnx", "o.onnx", "--form", "op", "--tolerance", "0"], 1, "tolerance"),
        (["m.onnx", "o.onnx"], 2, "nothing to do"),
        (["m.onnx", "o.onnx", "--form", "poly"], 2, "'poly'"),
        (["m.onnx", "o.onnx", "--form", "op", "--opset", "13"], 2, "20"),
        (["m.onnx", "o.onnx", "--target", "toaster"], 2, "toaster"),
        (["m.onnx", "o.onnx", "--activation", "gelu", "--replace", "relu"], 1, "no relu; found"),
        (["m.onnx", "o.onnx", "--activation", "gelu", "--replace", "mish"], 2, "'mish'"),
        (["m.onnx", "o.onnx", "--form", "op", "--replace", "gelu"], 2, "activation, too"),
        (["m.onnx"], 2, "OUT"),
    ],
)
def test_rewrite_refuses_in_one_line_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    save(cnn("digits", "gelu"), "m.onnx")
    Path("text.onnx").write_text("text")
    found, out, err = run(capsys, "rewrite", *words)
    assert (found, out) == (code, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert reason in err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["m.onnx", "text.onnx"]


@pytest.mark.parametrize("name", ["none.onnx", "text.onnx", "."])
def test_inspect_refuses_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "text.onnx").write_text("text")
    code, out, err = run(capsys, "inspect", tmp_path / name)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert str(tmp_path / name) in err
