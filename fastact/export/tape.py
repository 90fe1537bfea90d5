"""The layers of a network computed on arrays, with the gradients that training needs.

NumPy alone: every layer computes its result and remembers how to turn the gradient of its
result into gradients of its inputs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import fastact

Array = npt.NDArray[Any]


def sigmoid_slope(x: Array, factor: float) -> Array:
    """Differentiate x s with s = sigmoid(factor x): s + factor x s (1 - s)."""
    s = 0.5 + 0.5 * np.tanh(0.5 * factor * x)
    return np.asarray(s + factor * x * s * (1 - s))


def gelu_quick_slope(x: Array) -> Array:
    """Differentiate gelu_quick."""
    return sigmoid_slope(x, 1.702)


def silu_slope(x: Array) -> Array:
    """Differentiate silu."""
    return sigmoid_slope(x, 1.0)


def relu6_slope(x: Array) -> Array:
    """Differentiate relu6."""
    return np.asarray((x > 0) & (x < 6), x.dtype)


def hard_swish_slope(x: Array) -> Array:
    """Differentiate hard_swish."""
    return np.where(np.abs(x) < 3, x / 3 + 0.5, x > 0).astype(x.dtype)


SLOPES: dict[str, Callable[[Array], Array]] = {
    "relu": fastact.relu_grad,
    "relu6": relu6_slope,
    "gelu": fastact.gelu_grad,
    "gelu_tanh": fastact.gelu_tanh_grad,
    "gelu_quick": gelu_quick_slope,
    "silu": silu_slope,
    "hard_swish": hard_swish_slope,
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

    def conv(
        self,
        name: str,
        x: Value,
        channels: int,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        pad: bool = True,
    ) -> Value:
        """Convolution as one matrix product over all windows."""
        weight = self._weight(f"{name}_weight", (channels, x.data.shape[1], *kernel))
        bias = self._bias(f"{name}_bias", channels)
        windows, scatter = _windows(x, kernel, stride, pad)
        n, height, width = windows.shape[:3]
        columns = windows.reshape(n * height * width, -1)
        matrix = weight.data.reshape(channels, -1)
        product = columns @ matrix.T + bias.data
        y = Value(np.ascontiguousarray(product.reshape(n, height, width, -1).transpose(0, 3, 1, 2)))

        def step() -> None:
            grad = y.grad.transpose(0, 2, 3, 1).reshape(-1, channels)
            weight.grad += (grad.T @ columns).reshape(weight.data.shape)
            bias.grad += grad.sum(axis=0)
            scatter((grad @ matrix).reshape(windows.shape))

        self._steps.append(step)
        return y

    def depthwise(
        self, name: str, x: Value, kernel: tuple[int, int] = (3, 3), stride: int = 1
    ) -> Value:
        """Weighted sum of each window, channel by channel."""
        channels = x.data.shape[1]
        weight = self._weight(f"{name}_weight", (channels, 1, *kernel))
        bias = self._bias(f"{name}_bias", channels)
        windows, scatter = _windows(x, kernel, stride, pad=True)
        weighted = np.einsum("nhwcij,cij->nchw", windows, weight.data[:, 0])
        y = Value(weighted + bias.data[:, np.newaxis, np.newaxis])

        def step() -> None:
            weight.grad[:, 0] += np.einsum("nhwcij,nchw->cij", windows, y.grad)
            bias.grad += y.grad.sum(axis=(0, 2, 3))
            scatter(np.einsum("nchw,cij->nhwcij", y.grad, weight.data[:, 0]))

        self._steps.append(step)
        return y

    def activation(self, x: Value) -> Value:
        """Apply fastact's own ufunc."""
        y = Value(self._function(x.data))

        def step() -> None:
            x.grad += y.grad * self._slope(x.data)

        self._steps.append(step)
        return y

    def add(self, name: str, x: Value, y: Value) -> Value:
        """Sum of two values."""
        z = Value(x.data + y.data)

        def step() -> None:
            x.grad += z.grad
            y.grad += z.grad

        self._steps.append(step)
        return z

    def max_pool(self, name: str, x: Value) -> Value:
        """Largest of each 2x2 square; of equal ones, each gets its share of the gradient."""
        # Corner by corner: NumPy takes a hundred times as long to reduce axes of two elements.
        corners = [(..., slice(i, None, 2), slice(j, None, 2)) for i in (0, 1) for j in (0, 1)]
        y = Value(functools.reduce(np.maximum, (x.data[corner] for corner in corners)))

        def step() -> None:
            largest = [x.data[corner] == y.data for corner in corners]
            share = y.grad / np.add.reduce(largest, axis=0, dtype=np.int64)
            for corner, is_largest in zip(corners, largest, strict=True):
                x.grad[corner] += is_largest * share

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

    def flatten(self, name: str, x: Value) -> Value:
        """All channels of an image in one row."""
        y = Value(x.data.reshape(len(x.data), -1))

        def step() -> None:
            x.grad += y.grad.reshape(x.data.shape)

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


def _windows(
    x: Value, kernel: tuple[int, int], stride: int, pad: bool
) -> tuple[Array, Callable[[Array], None]]:
    """Cut images into the windows [n, h, w, c, i, j] that a kernel sees.

    The function beside them adds gradients of the windows to that of `x`.
    """
    before = [(size - 1) // 2 if pad else 0 for size in kernel]
    after = [size // 2 if pad else 0 for size in kernel]
    padded = np.pad(x.data, ((0, 0), (0, 0), *zip(before, after, strict=True)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
    height, width = windows.shape[1:3]

    def scatter(gradient: Array) -> None:
        back = gradient.transpose(0, 3, 1, 2, 4, 5)
        spread = np.zeros_like(padded)
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                rows = slice(i, i + stride * height, stride)
                cols = slice(j, j + stride * width, stride)
                spread[:, :, rows, cols] += back[..., i, j]
        top, left = before
        x.grad += spread[:, :, top : top + x.data.shape[2], left : left + x.data.shape[3]]

    return windows, scatter
