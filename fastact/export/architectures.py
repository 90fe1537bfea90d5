"""The small CNNs, each written once as a function of the layers it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Layers(Protocol[T]):
    """The layers a network is made of, on values of whatever kind `T`.

    The exporter writes each layer as ONNX text, the trainer computes it on arrays.
    """

    def conv(self, name: str, x: T, channels: int, stride: int = 1) -> T:
        """3x3 convolution with bias, padded so that stride 1 keeps the size."""

    def activation(self, x: T) -> T:
        """Apply the network's activation, the same at every site."""

    def average(self, name: str, x: T) -> T:
        """Average over each channel: from [n, c, h, w] to [n, c]."""

    def dense(self, name: str, x: T, features: int) -> T:
        """Fully connected layer with bias."""


class Architecture(NamedTuple):
    """A network and the shapes at its two ends, without the batch."""

    image: tuple[int, int, int]
    classes: int
    network: Callable[[Layers[Any], Any], Any]


def digits(net: Layers[T], x: T) -> T:
    """Classify 8x8 digits: three convolutions, 14,378 parameters.

    Parameters
    ----------
    net : Layers
        What makes the layers.
    x : T
        The images.

    Returns
    -------
    T
        The logits.
    """
    x = net.activation(net.conv("conv1", x, 16))
    x = net.activation(net.conv("conv2", x, 32, stride=2))
    x = net.activation(net.conv("conv3", x, 32))
    return net.dense("logits", net.average("pool", x), 10)


ARCHITECTURES = {
    "digits": Architecture(image=(1, 8, 8), classes=10, network=digits),
}
