"""The learning rates: chosen by validation, on training images alone, and the ones in use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fastact.export import ARCHITECTURES, FORMS, rates, train


def test_the_split() -> None:
    images, labels = np.arange(12) * 10, np.arange(12)
    (learn, learn_labels), (apart, apart_labels) = rates.split(images, labels)
    assert apart_labels.tolist() == [0, 5, 10]
    assert learn_labels.tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 11]
    assert (learn.tolist(), apart.tolist()) == ((learn_labels * 10).tolist(), [0, 50, 100])


@pytest.mark.parametrize("arch", train.TRAINED)
def test_no_test_image_has_a_say(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ARCHITECTURES[arch].data
    assert data is not None
    seen: list[set[bytes]] = [set(), set()]
    loaded = data.load

    def load(split: str) -> object:
        assert split == "train"
        return loaded(split)

    def record(index: int, images: np.ndarray) -> None:  # type: ignore[type-arg]
        seen[index] |= {image.tobytes() for image in images}

    monkeypatch.setattr(data, "load", load)
    monkeypatch.setattr(rates, "train", lambda arch, name, images, *_, **__: record(0, images))
    monkeypatch.setattr(rates, "right", lambda arch, name, _, images, __: record(1, images) or 7)
    found = rates.validate(arch, [1e-3], [1], epochs=1)
    assert all(counts.tolist() == [[7]] for counts in found.correct.values())
    images = loaded("train")[0]
    assert found.images == len(images[::5])
    assert seen[0] == {image.tobytes() for i, image in enumerate(images) if i % 5}
    assert seen[1] == {image.tobytes() for image in images[::5]}


def test_the_best_rate() -> None:
    correct = {
        "relu": np.array([[10, 12], [14, 14], [9, 9]]),
        "gelu": np.array([[18, 20], [16, 16], [9, 9]]),
        "silu": np.array([[0, 0], [0, 0], [20, 20]]),
    }
    found = rates.Validation((0.1, 0.2, 0.3), (1, 2), 3, 20, correct)
    assert found.accuracies(["relu"]) == [0.55, 0.7, 0.45]
    assert found.accuracies(["relu", "gelu"]) == [0.75, 0.75, 0.45]
    assert found.best(["relu"]) == 0.2
    assert found.best(["gelu"]) == 0.1
    assert found.best(["relu", "gelu"]) == 0.1  # the lower one of equals
    assert found.best(["relu", "gelu", "silu"]) == 0.3


@pytest.mark.parametrize("arch", train.TRAINED)
def test_the_record(arch: str) -> None:
    found, data = rates.load(arch), ARCHITECTURES[arch].data
    assert data is not None
    assert list(found.correct) == list(FORMS)
    assert (found.rates, found.seeds) == (rates.GRID[arch], rates.SEEDS[arch])
    assert found.epochs == rates.EPOCHS[arch]
    assert found.images == len(data.load("train")[1][::5])
    for counts in found.correct.values():
        assert counts.shape == (len(found.rates), len(found.seeds))
        assert counts.max() <= found.images
    # The rate in use is the one that was chosen, and was not the end of what was tried.
    assert train.LEARNING_RATES[arch] == found.best()
    assert min(found.rates) < found.best() < max(found.rates)


def test_the_record_is_what_training_gives() -> None:
    # One cell of it, on the machine at hand: float32 sums differ from BLAS to BLAS.
    data = ARCHITECTURES["digits"].data
    assert data is not None
    learn, apart = rates.split(*data.load("train"))
    found = rates.load("digits")
    rate, seed = found.rates[2], found.seeds[1]
    trained = train.train("digits", "relu", *learn, epochs=found.epochs, seed=seed, rate=rate)
    count = train.right("digits", "relu", trained, *apart)
    assert abs(count - found.correct["relu"][2, 1]) <= 0.01 * found.images


def test_the_script(tmp_path: Path) -> None:
    written = []
    for run in range(2):
        path = tmp_path / f"{run}.npz"
        tiny = ["--arch=digits", "--epochs=1", "--seeds", "1", "2", "--rates", "1e-3", "8e-3"]
        command = [sys.executable, "-m", "fastact.export.rates", *tiny, f"--output={path}"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        assert result.stderr == ""
        *lines, last = result.stdout.splitlines()
        assert [line.split()[0] for line in lines] == list(FORMS)
        assert last == "best for relu, gelu, gelu_tanh together: 0.008"
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.npz", "1.npz"]


def test_a_record_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rates.Validation((0.1, 0.2), (4,), 3, 20, {"relu": np.array([[3], [5]])})
    monkeypatch.setattr(rates, "path", lambda arch: tmp_path / arch)
    rates.store(rates.path("some"), found)
    again = rates.load("some")
    assert again[:4] == found[:4]
    assert {name: counts.tolist() for name, counts in again.correct.items()} == {"relu": [[3], [5]]}
