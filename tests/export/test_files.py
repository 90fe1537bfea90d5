"""A saved file is whole or not there, self-contained, and as private as the umask says."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import pytest

from fastact.export import activation, cnn, save

MODEL = activation("gelu")
BYTES = MODEL.SerializeToString(deterministic=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", [str, Path])
def test_save(tmp_path: Path, kind: type) -> None:
    path = tmp_path / "gelu.onnx"
    assert save(MODEL, kind(path)) == path
    assert contents(tmp_path) == {"gelu.onnx": BYTES}
    onnx.checker.check_model(str(path), full_check=True)
    assert onnx.load(path) == MODEL


def test_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old" * 100_000)
    save(MODEL, path)
    assert contents(tmp_path) == {"model.onnx": BYTES}


def test_keeps_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.onnx"
    link.symlink_to(tmp_path / "real" / "model.onnx")
    save(MODEL, link)
    assert link.is_symlink()
    assert contents(tmp_path / "real") == {"model.onnx": BYTES}


def test_longest_name(tmp_path: Path) -> None:
    save(MODEL, tmp_path / ("n" * 250 + ".onnx"))


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_permissions_follow_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        path = save(MODEL, tmp_path / "model.onnx")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@contextmanager
def fails_with(error: type[OSError], path: Path) -> Iterator[None]:
    with pytest.raises(error) as caught:
        yield
    assert caught.value.filename == str(path)
    assert str(path) in str(caught.value)


def test_folder_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "model.onnx"
    with fails_with(FileNotFoundError, path):
        save(MODEL, path)
    assert contents(tmp_path) == {}


def test_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    path = tmp_path / "file" / "model.onnx"
    with fails_with(NotADirectoryError, path):
        save(MODEL, path)
    assert contents(tmp_path) == {"file": b"kept"}


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_only_a_regular_file_is_replaced(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "model.onnx"
    make(path)
    kind = stat.S_IFMT(path.stat().st_mode)
    with fails_with(OSError, path):
        save(MODEL, path)
    assert stat.S_IFMT(path.stat().st_mode) == kind
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_failure_while_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, old: bytes | None
) -> None:
    path = tmp_path / "model.onnx"
    if old:
        path.write_bytes(old)
    before = contents(tmp_path)

    def replace(source: Path, target: Path) -> None:
        assert Path(source).read_bytes() == BYTES
        raise failure

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(type(failure)) as caught:
        save(MODEL, path)
    if isinstance(caught.value, OSError):
        assert (caught.value.errno, caught.value.filename) == (5, str(path))
    assert contents(tmp_path) == before


def test_failure_while_writing(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    model = cnn("digits", "relu")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with fails_with(OSError, path):
            save(model, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert contents(tmp_path) == {"model.onnx": b"old"}


def external(name: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, data_type=onnx.TensorProto.FLOAT, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="elsewhere.bin")
    return tensor


def in_initializer(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(external("far"))


def in_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("value", external("far")))


def in_subgraph(model: onnx.ModelProto) -> None:
    inner = onnx.helper.make_graph([], "inner", [], [], [external("far")])
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("body", inner))


def in_function(model: onnx.ModelProto) -> None:
    node = onnx.helper.make_node("Constant", [], ["c"], value=external("far"))
    model.functions.add(name="f", domain="d").node.append(node)


@pytest.mark.parametrize("place", [in_initializer, in_attribute, in_subgraph, in_function])
def test_tensor_in_another_file_is_refused(tmp_path: Path, place: Any) -> None:
    model = activation("relu")
    place(model)
    with pytest.raises(ValueError, match="tensor 'far' is kept in another file"):
        save(model, tmp_path / "model.onnx")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("model", [None, BYTES, MODEL.graph])
def test_not_a_model(tmp_path: Path, model: Any) -> None:
    with pytest.raises(TypeError, match=r"model must be an onnx\.ModelProto, not"):
        save(model, tmp_path / "model.onnx")
    assert contents(tmp_path) == {}
