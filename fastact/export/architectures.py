"""The small CNNs, each written once as a function of the layers it is made of.

ResNet-8, DS-CNN and MobileNetV1 0.25 are those of MLPerf Tiny, with batch norm folded into the
convolutions; LeNet-5 has max pooling, and the network's activation in place of tanh.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from . import digits as digit_images
from . import mnist

T = TypeVar("T")


class Images(Protocol):
    """A module that loads the images of a data set."""

    NAME: str

    def load(self, split: str, /) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Give the images and labels of "train" or "test"."""


class Layers(Protocol[T]):
    """The layers a network is made of, on values of whatever kind `T`.

    The exporter writes each layer as ONNX text, the trainer computes it on arrays.
    """

    def conv(
        self,
        name: str,
        x: T,
        channels: int,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        pad: bool = True,
    ) -> T:
        """Convolution with bias, by default padded so that stride 1 keeps the size."""

    def depthwise(self, name: str, x: T, kernel: tuple[int, int] = (3, 3), stride: int = 1) -> T:
        """Convolution of each channel by itself, with bias, padded likewise."""

    def activation(self, x: T) -> T:
        """Apply the network's activation, the same at every site."""

    def add(self, name: str, x: T, y: T) -> T:
        """Add two values of the same shape."""

    def max_pool(self, name: str, x: T) -> T:
        """Largest of each 2x2 square."""

    def average(self, name: str, x: T) -> T:
        """Average over each channel: from [n, c, h, w] to [n, c]."""

    def flatten(self, name: str, x: T) -> T:
        """From [n, c, h, w] to [n, c h w]."""

    def dense(self, name: str, x: T, features: int) -> T:
        """Fully connected layer with bias."""


class Architecture(NamedTuple):
    """A network, the shapes at its two ends without the batch, and the images it is trained on."""

    image: tuple[int, int, int]
    classes: int
    network: Callable[[Layers[Any], Any], Any]
    data: Images | None = None  # None: its weights are random


def digits(net: Layers[T], x: T) -> T:
    """Classify 8x8 digits: three convolutions, 14,378 parameters."""
    x = net.activation(net.conv("conv1", x, 16))
    x = net.activation(net.conv("conv2", x, 32, stride=2))
    x = net.activation(net.conv("conv3", x, 32))
    return net.dense("logits", net.average("pool", x), 10)


def lenet5(net: Layers[T], x: T) -> T:
    """Classify handwritten digits of 28x28 pixels in a frame of 32x32."""
    x = net.activation(net.conv("conv1", x, 6, kernel=(5, 5), pad=False))
    x = net.max_pool("pool1", x)
    x = net.activation(net.conv("conv2", x, 16, kernel=(5, 5), pad=False))
    x = net.flatten("flat", net.max_pool("pool2", x))
    x = net.activation(net.dense("dense1", x, 120))
    x = net.activation(net.dense("dense2", x, 84))
    return net.dense("logits", x, 10)


def resnet8(net: Layers[T], x: T) -> T:
    """Classify photographs of 32x32 pixels: three residual blocks."""
    x = net.activation(net.conv("conv", x, 16))
    for block, channels, stride in (("block1", 16, 1), ("block2", 32, 2), ("block3", 64, 2)):
        y = net.activation(net.conv(f"{block}_conv1", x, channels, stride=stride))
        y = net.conv(f"{block}_conv2", y, channels)
        if stride > 1:
            x = net.conv(f"{block}_shortcut", x, channels, kernel=(1, 1), stride=stride)
        x = net.activation(net.add(f"{block}_sum", x, y))
    return net.dense("logits", net.average("pool", x), 10)


def ds_cnn(net: Layers[T], x: T) -> T:
    """Spot keywords in 49 spectra of 10 bands: depthwise separable convolutions."""
    x = net.activation(net.conv("conv", x, 64, kernel=(10, 4), stride=2))
    for block in ("block1", "block2", "block3", "block4"):
        x = net.activation(net.depthwise(f"{block}_depthwise", x))
        x = net.activation(net.conv(f"{block}_pointwise", x, 64, kernel=(1, 1)))
    return net.dense("logits", net.average("pool", x), 12)


def mobilenet(net: Layers[T], x: T) -> T:
    """Tell whether a person is in a photograph of 96x96 pixels: MobileNetV1, a quarter wide."""
    x = net.activation(net.conv("conv", x, 8, stride=2))
    channels = (16, 32, 32, 64, 64, 128, 128, 128, 128, 128, 128, 256, 256)
    halving = (2, 4, 6, 12)  # the blocks that halve the size
    for number, width in enumerate(channels, start=1):
        stride = 2 if number in halving else 1
        x = net.activation(net.depthwise(f"block{number}_depthwise", x, stride=stride))
        x = net.activation(net.conv(f"block{number}_pointwise", x, width, kernel=(1, 1)))
    return net.dense("logits", net.average("pool", x), 2)


ARCHITECTURES = {
    "digits": Architecture((1, 8, 8), 10, digits, digit_images),
    "lenet5": Architecture((1, 32, 32), 10, lenet5, mnist),
    "resnet8": Architecture((3, 32, 32), 10, resnet8),
    "ds_cnn": Architecture((1, 49, 10), 12, ds_cnn),
    "mobilenet": Architecture((3, 96, 96), 2, mobilenet),
}
