"""Trains the digits CNN with each activation: ``python -m fastact.export.train``.

NumPy alone: every layer computes its result and remembers how to turn the gradient of its
result into gradients of its inputs. One thread (OMP_NUM_THREADS=1) is the fastest.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fastact

from . import digits, weights
from .architectures import ARCHITECTURES
from .forms import FORMS

Array = npt.NDArray[Any]

SEED = 1
EPOCHS = 30
BATCH = 32
LEARNING_RATE = 8e-3  # Adam's, at the start; it falls to 0 along half a cosine


def relu_slope(x: Array, y: Array) -> Array:
    """Differentiate ``y = relu(x)``."""
    return np.asarray(x > 0, x.dtype)


def gelu_slope(x: Array, y: Array) -> Array:
    """Differentiate ``y = gelu(x)``: P(x) + x p(x), where P(x) = y / x."""
    cdf = np.divide(y, x, out=np.full_like(x, 0.5), where=x != 0)
    pdf = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return np.asarray(cdf + x * pdf)


def gelu_tanh_slope(x: Array, y: Array) -> Array:
    """Differentiate ``y = gelu_tanh(x)``."""
    scale = math.sqrt(2 / math.pi)
    t = np.tanh(scale * (x + 0.044715 * x**3))
    inner = scale * (1 + 3 * 0.044715 * x * x)
    return np.asarray(0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)


SLOPES: dict[str, Callable[[Array, Array], Array]] = {
    "relu": relu_slope,
    "gelu": gelu_slope,
    "gelu_tanh": gelu_tanh_slope,
}


class Value:
    """An array and the gradient of the loss with respect to it."""

    def __init__(self, data: Array) -> None:
        self.data = data
        self.grad = np.zeros_like(data)


class Tape:
    """The layers of a network, computed on arrays (see `architectures.Layers`).

    Parameters
    ----------
    activation : str
        The activation at every site.
    parameters : dict of str to Value
        Weights by name. One that is missing is drawn when a layer first asks for it.
    random : numpy.random.Generator
        Where new weights are drawn from.
    dtype : dtype-like, optional
        The type of new weights.
    """

    def __init__(
        self,
        activation: str,
        parameters: dict[str, Value],
        random: np.random.Generator,
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        self._function = getattr(fastact, activation)
        self._slope = SLOPES[activation]
        self._parameters = parameters
        self._random = random
        self._dtype = dtype
        self._steps: list[Callable[[], None]] = []

    def backward(self) -> None:
        """Carry the gradient of the last value back to everything it came from."""
        for step in reversed(self._steps):
            step()

    def conv(self, name: str, x: Value, channels: int, stride: int = 1) -> Value:
        """3x3 convolution as one matrix product over all windows."""
        weight = self._weight(f"{name}_weight", (channels, x.data.shape[1], 3, 3))
        bias = self._bias(f"{name}_bias", channels)
        padded = np.pad(x.data, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        windows = windows[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
        n, height, width = windows.shape[:3]
        columns = windows.reshape(n * height * width, -1)
        matrix = weight.data.reshape(channels, -1)
        product = columns @ matrix.T + bias.data
        y = Value(np.ascontiguousarray(product.reshape(n, height, width, -1).transpose(0, 3, 1, 2)))

        def step() -> None:
            grad = y.grad.transpose(0, 2, 3, 1).reshape(-1, channels)
            weight.grad += (grad.T @ columns).reshape(weight.data.shape)
            bias.grad += grad.sum(axis=0)
            back = (grad @ matrix).reshape(windows.shape).transpose(0, 3, 1, 2, 4, 5)
            spread = np.zeros_like(padded)
            for i in range(3):
                for j in range(3):
                    rows = slice(i, i + stride * height, stride)
                    cols = slice(j, j + stride * width, stride)
                    spread[:, :, rows, cols] += back[..., i, j]
            x.grad += spread[:, :, 1:-1, 1:-1]

        self._steps.append(step)
        return y

    def activation(self, x: Value) -> Value:
        """Apply fastact's own ufunc."""
        y = Value(self._function(x.data))

        def step() -> None:
            x.grad += y.grad * self._slope(x.data, y.data)

        self._steps.append(step)
        return y

    def average(self, name: str, x: Value) -> Value:
        """Average over height and width."""
        y = Value(x.data.mean(axis=(2, 3)))

        def step() -> None:
            area = x.data.shape[2] * x.data.shape[3]
            x.grad += y.grad[:, :, np.newaxis, np.newaxis] / area

        self._steps.append(step)
        return y

    def dense(self, name: str, x: Value, features: int) -> Value:
        """Matrix product plus bias."""
        weight = self._weight(f"{name}_weight", (features, x.data.shape[1]))
        bias = self._bias(f"{name}_bias", features)
        y = Value(x.data @ weight.data.T + bias.data)

        def step() -> None:
            weight.grad += y.grad.T @ x.data
            bias.grad += y.grad.sum(axis=0)
            x.grad += y.grad @ weight.data

        self._steps.append(step)
        return y

    def _weight(self, name: str, shape: tuple[int, ...]) -> Value:
        if name not in self._parameters:
            # He's initialisation keeps the variance from layer to layer.
            scale = math.sqrt(2 / math.prod(shape[1:]))
            drawn = self._random.standard_normal(shape) * scale
            self._parameters[name] = Value(drawn.astype(self._dtype))
        return self._parameters[name]

    def _bias(self, name: str, size: int) -> Value:
        return self._parameters.setdefault(name, Value(np.zeros(size, self._dtype)))


def cross_entropy(logits: Array, labels: Array) -> tuple[float, Array]:
    """Mean cross entropy of softmax(logits), and its gradient.

    Parameters
    ----------
    logits : ndarray, shape (n, classes)
        The network's output.
    labels : ndarray of int, shape (n,)
        The right classes.

    Returns
    -------
    loss : float
        The mean over the images.
    gradient : ndarray, shape (n, classes)
        With respect to `logits`.
    """
    rows = np.arange(len(labels))
    logs = logits - logits.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    gradient = np.exp(logs)
    gradient[rows, labels] -= 1
    return -float(logs[rows, labels].mean()), gradient / len(labels)


class Adam:
    """The Adam optimiser with its usual constants.

    Parameters
    ----------
    parameters : dict of str to Value
        What to change; each step also sets their gradients back to 0.
    """

    def __init__(self, parameters: dict[str, Value]) -> None:
        self._parameters = parameters
        self._means: dict[str, Array] = {}
        self._squares: dict[str, Array] = {}
        self._steps = 0

    def step(self, rate: float) -> None:
        """Move every parameter against its gradient."""
        self._steps += 1
        rate *= math.sqrt(1 - 0.999**self._steps) / (1 - 0.9**self._steps)
        for name, value in self._parameters.items():
            mean = self._means.setdefault(name, np.zeros_like(value.data))
            square = self._squares.setdefault(name, np.zeros_like(value.data))
            mean += 0.1 * (value.grad - mean)
            square += 0.001 * (value.grad**2 - square)
            value.data -= rate * mean / (np.sqrt(square) + 1e-8)
            value.grad[:] = 0


def train(arch: str, activation: str, images: Array, labels: Array, epochs: int) -> weights.Weights:
    """Train a network from scratch.

    Parameters
    ----------
    arch, activation : str
        The network and the activation at every site.
    images, labels : ndarray
        What to learn.
    epochs : int
        How often to go over it.

    Returns
    -------
    dict of str to ndarray
        The weights by name.
    """
    network = ARCHITECTURES[arch].network
    random = np.random.default_rng(SEED)
    parameters: dict[str, Value] = {}
    optimiser = Adam(parameters)
    batches = -(-len(images) // BATCH)
    for epoch in range(epochs):
        order = random.permutation(len(images))
        for i, batch in enumerate(np.array_split(order, batches)):
            tape = Tape(activation, parameters, random)
            logits = network(tape, Value(images[batch]))
            _, logits.grad = cross_entropy(logits.data, labels[batch])
            tape.backward()
            progress = (epoch + i / batches) / epochs
            optimiser.step(LEARNING_RATE * (1 + math.cos(math.pi * progress)) / 2)
    return {name: value.data for name, value in parameters.items()}


def accuracy(
    arch: str, activation: str, trained: weights.Weights, images: Array, labels: Array
) -> float:
    """Tell the share of images that a trained network classifies rightly.

    Parameters
    ----------
    arch, activation : str
        The network and the activation at every site.
    trained : dict of str to ndarray
        Its weights.
    images, labels : ndarray
        What to classify.

    Returns
    -------
    float
        From 0 to 1.
    """
    parameters = {name: Value(data) for name, data in trained.items()}
    tape = Tape(activation, parameters, np.random.default_rng(SEED))
    logits = ARCHITECTURES[arch].network(tape, Value(images)).data
    return float((logits.argmax(axis=1) == labels).mean())


def main() -> None:
    """Train every activation and write the weights."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, default=weights.path("digits"))
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args()

    trained = {}
    for activation in FORMS:
        start = time.perf_counter()
        found = train("digits", activation, *digits.load("train"), epochs=options.epochs)
        trained[activation] = found
        scores = {
            split: accuracy("digits", activation, found, *digits.load(split))
            for split in ("train", "test")
        }
        print(
            f"{activation:10} train {scores['train']:.4f}  test {scores['test']:.4f}  "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
    weights.store(options.output, trained)


if __name__ == "__main__":
    main()
