"""Trains the small CNNs: ``python -m fastact.export.train --arch lenet5``.

NumPy alone. One thread (OMP_NUM_THREADS=1) is the fastest.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np

from . import weights
from .architectures import ARCHITECTURES
from .forms import FORMS
from .tape import Array, Tape, Value

TRAINED = [arch for arch, entry in ARCHITECTURES.items() if entry.data is not None]

SEED = 1
EPOCHS = 30
BATCH = 32
# Adam's, at the start, as `rates` has chosen them; it falls to 0 along half a cosine.
LEARNING_RATES = {"digits": 16e-3, "lenet5": 8e-3}


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


def train(
    arch: str,
    activation: str,
    images: Array,
    labels: Array,
    *,
    epochs: int = EPOCHS,
    seed: int = SEED,
    rate: float | None = None,
) -> weights.Weights:
    """Train a network from scratch.

    Parameters
    ----------
    arch, activation : str
        The network and the activation at every site.
    images, labels : ndarray
        What to learn.
    epochs : int, optional
        How often to go over it.
    seed : int, optional
        What the first weights and the order of the images are drawn from: the same ones for
        every activation.
    rate : float, optional
        The learning rate at the start; by default the one of `LEARNING_RATES`.

    Returns
    -------
    dict of str to ndarray
        The weights by name, rounded to float16, which takes half the space.
    """
    network = ARCHITECTURES[arch].network
    rate = LEARNING_RATES[arch] if rate is None else rate
    random = np.random.default_rng(seed)
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
            optimiser.step(rate * (1 + math.cos(math.pi * progress)) / 2)
    return {n: value.data.astype(np.float16).astype(np.float32) for n, value in parameters.items()}


def right(
    arch: str, activation: str, trained: weights.Weights, images: Array, labels: Array
) -> int:
    """Count the images that a trained network classifies rightly.

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
    int
        The count.
    """
    parameters = {name: Value(data) for name, data in trained.items()}
    tape = Tape(activation, parameters, np.random.default_rng(SEED))
    logits = ARCHITECTURES[arch].network(tape, Value(images)).data
    return int((logits.argmax(axis=1) == labels).sum())


def main() -> None:
    """Train a network with every activation and write the weights."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--arch", choices=TRAINED, default="digits")
    parser.add_argument("--output", type=Path, help="the file to write; default: the package's own")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args()

    data = ARCHITECTURES[options.arch].data
    assert data is not None  # as of all that --arch accepts
    learn, test = data.load("train"), data.load("test")
    trained = {}
    for activation in FORMS:
        start = time.perf_counter()
        found = train(options.arch, activation, *learn, epochs=options.epochs)
        scores = [right(options.arch, activation, found, *split) for split in (learn, test)]
        trained[activation] = weights.Trained(found, scores[1], len(test[1]))
        print(
            f"{activation:10} train {scores[0] / len(learn[1]):.4f}  "
            f"test {scores[1] / len(test[1]):.4f}  {time.perf_counter() - start:.0f} s",
            flush=True,
        )
    weights.store(options.output or weights.path(options.arch), trained)


if __name__ == "__main__":
    main()
