"""Files that cannot be read are refused in one line that names the file and the reason."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import numpy as np
import onnx
import pytest

from fastact.export import ModelError, cnn, inspect, reading, rewrite
from fastact.export.reading import embedded, external, read
from fastact.export.storing import store

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"


def model_bytes() -> bytes:
    return cnn("digits", "gelu").SerializeToString()


def with_external(folder: Path, location: str = "weights.bin", **more: str) -> Path:
    """Write a model whose one weight is in another file."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 4] x) => (float[1, 4] y) '
        "{ a = Add(x, w) s = Sigmoid(a) y = Mul(a, s) }"
    )
    weight = model.graph.initializer.add(name="w", data_type=1, dims=[4])
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": "16", **more}.items():
        weight.external_data.add(key=key, value=value)
    (folder / "weights.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def refused(path: Path) -> str:
    for function in (read, inspect, lambda path: rewrite(path, opset=18)):
        with pytest.raises(ModelError) as caught:
            function(path)
        text = str(caught.value)
        assert text.startswith(f"cannot read {path}: ")
        assert "\n" not in text
        assert len(text) < len(str(path)) + 400
    return text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b"hello world, this is text\n", "not an ONNX model"),
        (PNG, "not an ONNX model"),
        (b"{}", "not an ONNX model"),
        (b"\x1c\x00\x00\x00ORTM" + bytes(100), r"\.ort format"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
        (b"\x08\x08", "not an ONNX model"),
        (onnx.ModelProto(ir_version=8, graph=onnx.GraphProto()).SerializeToString(), "not valid"),
    ],
)
def test_what_is_no_model(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert reason.replace("\\", "") in refused(path)
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_random_bytes_are_never_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for seed in range(200):
        path.write_bytes(random.Random(seed).randbytes(seed + 1))
        with pytest.raises(ModelError, match="cannot read"):
            read(path)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data, path = model_bytes(), tmp_path / "model.onnx"
    for length in [*range(1, 60), *range(60, len(data), 997), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(ModelError, match="cannot read"):
            read(path)
    path.write_bytes(data[: len(data) // 2])
    assert "cut short or damaged" in refused(path)


def test_a_flipped_byte_never_ends_in_another_error(tmp_path: Path) -> None:
    data, path = model_bytes(), tmp_path / "model.onnx"
    choose = random.Random(1)
    for _ in range(100):
        broken = bytearray(data)
        # The end, where the structure is; most of the rest is weights.
        broken[-choose.randrange(1, 600)] = choose.randrange(256)
        path.write_bytes(broken)
        with contextlib.suppress(ModelError):
            inspect(path)


def test_missing_and_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.onnx"):
        read(tmp_path / "none.onnx")
    assert "it is a folder" in refused(tmp_path)


def test_an_undeclared_domain_is_refused(tmp_path: Path) -> None:
    model = cnn("digits", "relu")
    model.graph.node[0].domain = "example.com"
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert "example.com" in refused(path)


def test_over_the_limit_of_protobuf(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(2**31)  # sparse: it takes no space
    assert "2147483648 bytes; protobuf holds 2 GB" in refused(path)


@pytest.mark.parametrize(
    "location",
    ["../weights.bin", "/etc/passwd", "a/../../weights.bin", "..\\weights.bin", "C:\\w.bin", ""],
)
def test_external_data_outside_of_the_folder(tmp_path: Path, location: str) -> None:
    assert "not inside the model's own folder" in refused(with_external(tmp_path, location))


def test_external_data_missing_or_cut(tmp_path: Path) -> None:
    path = with_external(tmp_path, "other.bin")
    assert "'w' is kept in 'other.bin', and there is no such file" in refused(path)
    path = with_external(tmp_path, offset="8")
    assert "at byte 8 to 24, but the file has 16" in refused(path)
    path = with_external(tmp_path, offset="many")
    assert "'many'" in refused(path)


def test_external_data_is_left_outside_or_taken_in(tmp_path: Path) -> None:
    path = with_external(tmp_path)
    model = read(path)
    assert [(where.tensor, where.location) for where in external(model)] == [("w", "weights.bin")]
    whole = embedded(model, tmp_path)
    assert not [*external(whole)]
    assert onnx.numpy_helper.to_array(whole.graph.initializer[0]).tolist() == [0, 1, 2, 3]
    assert [*external(model)]
    with pytest.raises(ModelError, match="'w' is kept in another file: give the model as a path"):
        inspect(model)


def test_too_much_external_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = read(with_external(tmp_path))
    monkeypatch.setattr(reading, "LIMIT", model.ByteSize() + 15)
    with pytest.raises(ModelError, match="protobuf holds 2 GB"):
        embedded(model, tmp_path)


def test_a_model_that_is_neither() -> None:
    with pytest.raises(TypeError, match=r"model must be an onnx\.ModelProto or a path, not int"):
        inspect(3)  # type: ignore[arg-type]


def test_storing_copies_the_data_once(tmp_path: Path) -> None:
    model = read(with_external(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    for _ in range(2):  # the second time the data is there already
        store(model, other / "new.onnx", tmp_path)
        assert sorted(os.listdir(other)) == ["new.onnx", "weights.bin"]
        assert read(other / "new.onnx") == model
    (other / "weights.bin").write_bytes(b"precious")
    (other / "new.onnx").unlink()
    with pytest.raises(FileExistsError, match=r"other data.*weights\.bin"):
        store(model, other / "new.onnx", tmp_path)
    assert (other / "weights.bin").read_bytes() == b"precious"
    assert os.listdir(other) == ["weights.bin"]


def test_storing_leaves_nothing_when_it_fails(tmp_path: Path) -> None:
    model = read(with_external(tmp_path))
    other = tmp_path / "other"
    (other / "new.onnx").mkdir(parents=True)
    with pytest.raises(OSError, match="not a regular file"):
        store(model, other / "new.onnx", tmp_path)
    assert os.listdir(other) == ["new.onnx"]
