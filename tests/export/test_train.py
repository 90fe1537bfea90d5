"""The digit images, and that the trainer's gradients and weights are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.datasets import load_digits

from fastact.export import ARCHITECTURES, FORMS, digits, train, weights

Array = npt.NDArray[Any]


def test_the_split() -> None:
    data = load_digits()
    images, labels = digits.load("test")
    assert (images.shape, images.dtype, labels.dtype) == ((360, 1, 8, 8), np.float32, np.int64)
    np.testing.assert_array_equal(images[:, 0] * 16, data.images[::5])
    np.testing.assert_array_equal(labels, data.target[::5])

    images, labels = digits.load("train")
    rest = np.arange(1797) % 5 != 0
    np.testing.assert_array_equal(images[:, 0] * 16, data.images[rest])
    np.testing.assert_array_equal(labels, data.target[rest])
    assert len(labels) == 1437
    assert (images.min(), images.max()) == (0, 1)


def test_unknown_split() -> None:
    with pytest.raises(ValueError, match="unknown split 'valid'; accepted: 'train', 'test'"):
        digits.load("valid")


@pytest.mark.parametrize("name", FORMS)
def test_slope_is_the_derivative(name: str) -> None:
    function, slope = getattr(train.fastact, name), train.SLOPES[name]
    # Without 0 itself, where relu has no derivative.
    x = np.concatenate([np.linspace(-6, 6, 1000), [-2.7, 2.7, -1e-3, 1e-3]])
    h = 1e-5
    numerical = (function(x + h) - function(x - h)) / (2 * h)
    assert np.abs(slope(x, function(x)) - numerical).max() < 1e-9


def test_slope_at_zero() -> None:
    zero = np.zeros(1)
    assert [float(train.SLOPES[name](zero, zero)[0]) for name in FORMS] == [0, 0.5, 0.5]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_gradients(arch: str, name: str) -> None:
    shape, classes, network = ARCHITECTURES[arch]
    random = np.random.default_rng(5)
    images = train.Value(random.random((3, *shape)))
    labels = random.integers(classes, size=3)
    parameters: dict[str, train.Value] = {}

    def loss() -> tuple[float, train.Tape]:
        tape = train.Tape(name, parameters, random, np.float64)
        logits = network(tape, images)
        value, logits.grad = train.cross_entropy(logits.data, labels)
        return value, tape

    loss()
    for value in parameters.values():  # biases start at 0: not a point to check at
        value.data += random.normal(0, 0.05, value.data.shape)
    loss()[1].backward()
    h = 1e-6
    for value in (images, *parameters.values()):
        for _ in range(5):
            index = tuple(random.integers(value.data.shape))
            saved = value.data[index]
            value.data[index] = saved + h
            above = loss()[0]
            value.data[index] = saved - h
            below = loss()[0]
            value.data[index] = saved
            assert abs((above - below) / (2 * h) - value.grad[index]) < 1e-8
    assert all(np.abs(value.grad).max() > 1e-4 for value in parameters.values())


@pytest.mark.parametrize("name", FORMS)
def test_shipped_weights(name: str) -> None:
    trained = weights.load("digits")[name]
    assert train.accuracy("digits", name, trained, *digits.load("test")) > 0.97
    drawn = train.train("digits", name, *(a[:1] for a in digits.load("train")), epochs=1)
    assert {n: w.shape for n, w in trained.items()} == {n: w.shape for n, w in drawn.items()}


def test_the_script(tmp_path: Path) -> None:
    written = []
    for run in range(2):
        path = tmp_path / f"{run}.npz"
        command = [sys.executable, "-m", "fastact.export.train", "--epochs=1", f"--output={path}"]
        # One thread, as the script's first lines advise: more make it several times slower.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        assert result.stderr == ""
        written.append(path.read_bytes())
        # One epoch is far from the end, and far above guessing.
        for line, name in zip(result.stdout.splitlines(), FORMS, strict=True):
            fields = line.split()
            assert (fields[0], fields[3]) == (name, "test")
            assert float(fields[4]) > 0.4
    assert written[0] == written[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.npz", "1.npz"]
    with np.load(tmp_path / "0.npz") as new, np.load(weights.path("digits")) as shipped:
        assert new.files == shipped.files
