"""onnxruntime's own format: the file runs, its operators are listed, failures leave nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from fastact.export import activation, cnn
from fastact.export.ort_format import save_ort


def result(model: Path | onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


@pytest.mark.parametrize(
    ("model", "operators"),
    [
        (activation("gelu", opset=13, shape=(1, 1, 8, 8)), "com.microsoft;1;Gelu\n"),
        (
            cnn("digits", "relu"),
            "ai.onnx;1;GlobalAveragePool\nai.onnx;13;Gemm\nai.onnx;14;Reshape\n"
            "com.microsoft;1;FusedConv\n",
        ),
    ],
)
def test_the_file_runs_and_its_operators_are_listed(
    tmp_path: Path, model: onnx.ModelProto, operators: str
) -> None:
    path = tmp_path / "m.ort"
    config = tmp_path / "m.required_operators.config"
    assert save_ort(model, str(path)) == (path, config)
    assert sorted(tmp_path.iterdir()) == [path, config]
    assert path.read_bytes()[4:8] == b"ORTM"
    assert config.read_text() == operators
    x = np.linspace(-3, 3, 64, dtype=np.float32).reshape(1, 1, 8, 8)
    np.testing.assert_allclose(result(path, x), result(model, x), rtol=1e-5, atol=1e-5)


def test_for_a_provider_the_operators_stay_those_of_onnx(tmp_path: Path) -> None:
    # NNAPI takes Conv, and not what onnxruntime fuses it to for its own CPU provider.
    model = cnn("digits", "relu", target="nnapi")
    path, config = save_ort(model, tmp_path / "m.ort", delegated=True)
    assert "Conv" in config.read_text().replace("FusedConv", "")
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)
    np.testing.assert_allclose(result(path, x), result(model, x), rtol=1e-5, atol=1e-5)


def test_a_quantised_model_stays_in_8_bits(tmp_path: Path) -> None:
    _, config = save_ort(cnn("digits", "gelu", form="table", dtype="int8"), tmp_path / "m.ort")
    assert "QLinearConv" in config.read_text()
    assert "Gather" in config.read_text()
    assert "Conv," not in config.read_text().replace("QLinearConv,", "")


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.ort, got 'm\.onnx'"):
        save_ort(activation("relu"), tmp_path / "m.onnx")
    unknown = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["own": 1]> g (float[1] x) => (float[1] y) {y = own.F (x)}'
    )
    with pytest.raises(ValueError, match=r"onnxruntime cannot convert the model: .*own"):
        save_ort(unknown, tmp_path / "m.ort")
    with pytest.raises(FileNotFoundError):
        save_ort(activation("relu"), tmp_path / "missing" / "m.ort")
    assert list(tmp_path.iterdir()) == []
