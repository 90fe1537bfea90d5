"""What cannot be written leaves everything as it was: full disks, read-only ones, two writers."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import fastact
from fastact.export import cnn, save
from fastact.export.files import write_bytes
from fastact.export.ort_format import save_ort
from fastact.export.storing import store

SIZE = 40_000  # bytes of each file here, about


def stored(output: Path, value: float = 1) -> None:
    """Write a model that keeps a weight in another file, which goes with it."""
    folder = output.parent.parent / f"source of {output.name}"
    model = onnx.ModelProto(doc_string="d" * SIZE)
    weight = model.graph.initializer.add(name="w", data_type=1, dims=[SIZE // 4])
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="weights.bin")
    if not folder.exists():  # for two writers, it is the same
        folder.mkdir()
        (folder / "weights.bin").write_bytes(np.full(SIZE // 4, value, np.float32).tobytes())
    store(model, output, folder)


WRITERS: dict[str, Callable[[Path], object]] = {
    "model": lambda path: write_bytes(path, b"new" * (SIZE // 3)),
    "model.onnx": lambda path: save(cnn("digits", "relu"), path),
    "model.ort": lambda path: save_ort(cnn("digits", "relu"), path),
    "stored.onnx": stored,
}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_a_disk(disk: Path) -> None:
    """Write where there is ever more room, then where nothing may be written: its own process."""
    for name, write in WRITERS.items():
        path, filler = disk / name, disk / "filler"
        path.write_bytes(b"old")
        refused = 0
        for room in range(0, 200_000, 16_384):
            fill(filler, room)
            before = contents(disk)
            try:
                write(path)
            except OSError as error:
                refuses(error, errno.ENOSPC, disk)
                assert contents(disk) == before, (name, room)
                refused += 1
            else:
                break
        assert refused * 16_384 > SIZE / 2, (name, refused)
        filler.unlink()
        before = contents(disk)
        assert len(before[name]) > SIZE / 2
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        try:
            write(path)
        except OSError as error:
            refuses(error, errno.EROFS, disk)
        else:
            raise AssertionError(f"{name} was written")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        assert contents(disk) == before
        for path in disk.iterdir():
            path.unlink()
    print("refused until there was room")


def fill(filler: Path, room: int) -> None:
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            file.truncate(max(file.tell() - room, 0))


def refuses(error: OSError, number: int, disk: Path) -> None:
    assert error.errno == number
    assert str(error.filename).startswith(str(disk))
    assert ".tmp" not in str(error)


IN_NAMESPACE = ["unshare", "--map-root-user", "--mount"]


def may_mount() -> bool:
    try:
        return not subprocess.run(
            [*IN_NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"]
        ).returncode
    except FileNotFoundError:
        return False


def process(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, __file__, *arguments]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(fastact.__file__).parents[1])}


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system of Linux")
def test_a_full_and_a_read_only_disk(tmp_path: Path) -> None:
    if not may_mount():
        pytest.skip("this user may not mount anything")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = 'mount -t tmpfs -o size=256k none "$0" && exec "$@"'
    done = subprocess.run(
        [*IN_NAMESPACE, "sh", "-c", mount, disk, *process("disk", disk)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("refused until there was room\n", "")


def write_often(path: Path, number: int) -> None:
    for _ in range(100):
        write_bytes(path, bytes([number]) * SIZE)
        stored(path.with_name("stored.onnx"))


def test_two_processes_that_write_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    path = folder / "model"
    write_bytes(path, b"\1" * SIZE)
    stored(folder / "stored.onnx")
    for written in ("stored.onnx", "weights.bin"):
        (folder / written).unlink()
    writers = [
        subprocess.Popen(process("write", path, str(number)), env=ENVIRONMENT) for number in (1, 2)
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(path.read_bytes())
        stored_one = folder / "stored.onnx"
        if stored_one.exists():
            assert stored_one.stat().st_size > SIZE
            assert (folder / "weights.bin").stat().st_size == SIZE
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {b"\1" * SIZE, b"\2" * SIZE}
    assert sorted(contents(folder)) == ["model", "stored.onnx", "weights.bin"]


def test_the_data_of_another_model_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    stored(folder / "first.onnx", 1)
    before = contents(folder)
    with pytest.raises(FileExistsError, match=r"other data.*weights\.bin"):
        stored(folder / "second.onnx", 2)
    assert contents(folder) == before


if __name__ == "__main__":
    if sys.argv[1] == "disk":
        in_a_disk(Path(sys.argv[2]))
    else:
        write_often(Path(sys.argv[2]), int(sys.argv[3]))
