"""Runs a transformer encoder in NumPy, and tells what share of its time GELU takes, by whose GELU.

The encoder is of the kind of BERT and ViT: 4 layers of width 256, feed-forward 1024, 4 heads, with
random weights, on 4 sequences of 128 tokens. It needs the extra `report`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import erf
from threadpoolctl import threadpool_limits

import fastact
from fastact.bench import Candidate, interleave

Array = npt.NDArray[np.float32]
Function = Callable[[Array], Array]

LAYERS, WIDTH, HIDDEN, HEADS = 4, 256, 1024, 4
SEQUENCES, TOKENS, INPUTS = 4, 128, 4


def scipy_gelu(x: Array) -> Array:
    """Compute the exact GELU by its textbook formula."""
    return np.asarray(0.5 * x * (1 + erf(x / np.float32(math.sqrt(2)))))


def numpy_gelu_tanh(x: Array) -> Array:
    """Compute the tanh form of GELU by its formula."""
    u = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(0.5 * x * (1 + np.tanh(u)))


# fastact's overwrite the hidden layer, which nobody else needs: no new array.
GELUS: dict[str, Function] = {
    "SciPy's erf": scipy_gelu,
    "fastact.gelu": lambda x: fastact.gelu(x, out=x),
    "np.tanh": numpy_gelu_tanh,
    "fastact.gelu_tanh": lambda x: fastact.gelu_tanh(x, out=x),
}


class Layer(NamedTuple):
    """The weights of one layer; biases and the gains of the normalisation are left out."""

    qkv: Array
    out: Array
    up: Array
    down: Array


def random_layer(random: np.random.Generator) -> Layer:
    """Draw weights that keep the size of what goes through."""

    def draw(rows: int, columns: int) -> Array:
        return random.standard_normal((rows, columns), np.float32) / np.float32(math.sqrt(rows))

    return Layer(
        draw(WIDTH, 3 * WIDTH), draw(WIDTH, WIDTH), draw(WIDTH, HIDDEN), draw(HIDDEN, WIDTH)
    )


def normalise(x: Array) -> Array:
    """Give each token mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-6))


def softmax(x: Array) -> Array:
    """Make weights of the scores in the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def attend(x: Array, layer: Layer) -> Array:
    """Let every token look at all tokens of its sequence, with each head."""
    n, tokens, _ = x.shape
    qkv = (x @ layer.qkv).reshape(n, tokens, 3, HEADS, WIDTH // HEADS)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    weights = softmax(q @ k.swapaxes(-1, -2) / np.float32(math.sqrt(WIDTH // HEADS)))
    return np.asarray((weights @ v).swapaxes(1, 2).reshape(x.shape) @ layer.out)


def encode(x: Array, layers: list[Layer], gelu: Function) -> Array:
    """Run the encoder, normalising before each part."""
    for layer in layers:
        x = x + attend(normalise(x), layer)
        x = x + gelu(normalise(x) @ layer.up) @ layer.down
    return normalise(x)


class Pass:
    """One pass through the encoder, as a candidate for timing; keeps what its GELUs took."""

    def __init__(self, inputs: list[Array], layers: list[Layer], gelu: Function) -> None:
        self.inputs, self.layers, self.gelu = inputs, layers, gelu
        self.gelu_ns: list[int] = []

    def prepare(self, round_number: int) -> None:
        """Lay out the input of a round."""
        self.x = self.inputs[round_number % len(self.inputs)]
        self.gelu_ns.append(0)

    def timed_gelu(self, x: Array) -> Array:
        """Compute GELU, and add what it took."""
        start = time.perf_counter_ns()
        y = self.gelu(x)
        self.gelu_ns[-1] += time.perf_counter_ns() - start
        return y

    def run(self) -> Any:
        """Encode the input."""
        return encode(self.x, self.layers, self.timed_gelu)


def main(runs: int = 10, warmup: int = 1) -> None:
    """Compare the outputs, then time all in turns on one thread."""
    random = np.random.default_rng(0)
    layers = [random_layer(random) for _ in range(LAYERS)]
    shape = (SEQUENCES, TOKENS, WIDTH)
    inputs = [random.standard_normal(shape, np.float32) for _ in range(INPUTS)]

    outputs = {name: encode(inputs[0], layers, gelu) for name, gelu in GELUS.items()}
    print("largest difference of the outputs, whose standard deviation is 1")
    for one, other in (
        ("SciPy's erf", "fastact.gelu"),
        ("np.tanh", "fastact.gelu_tanh"),
        ("fastact.gelu", "fastact.gelu_tanh"),
    ):
        print(f"  {one + ', ' + other:32}{np.abs(outputs[one] - outputs[other]).max():.1e}")

    passes = {name: Pass(inputs, layers, gelu) for name, gelu in GELUS.items()}
    candidates = {name: Candidate(each.prepare, each.run) for name, each in passes.items()}
    with threadpool_limits(1):
        samples = interleave(candidates, runs=runs, warmup=warmup)

    print(f"\none thread, medians of {runs} passes  pass, ms  GELU, ms   share")
    for name, each in passes.items():
        whole = np.median(samples[name]) / 1e6
        gelu = np.median(each.gelu_ns[warmup:]) / 1e6
        print(f"  {name:33}{whole:10.1f}{gelu:10.2f}{gelu / whole:8.1%}")


if __name__ == "__main__":
    main()
