"""Trains from several seeds: ``python -m fastact.bench.seeds.study --arch lenet5``.

For every activation, it records which test images each training gets right, in float32 and in
8 bits. The first seed is that of the weights that come with fastact, which are taken as they are.
One thread (OMP_NUM_THREADS=1) is the fastest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..._extras import require
from ..environment import Environment
from ..session import Session
from . import record as seeds
from .page import page

if TYPE_CHECKING:
    from onnx import ModelProto

    from ...export.weights import Trained

SEEDS = (1, 2, 3, 4, 5)

# What `cnn` calls the precisions of a study. onnxruntime on x86 computes parts of a model with
# int8 codes in float32, but none of one with uint8 codes.
DTYPES = {"float32": "float32", "int8": "uint8"}


def study(arch: str, numbers: Sequence[int] = SEEDS, epochs: int | None = None) -> seeds.Study:
    """Train a network with every activation from every seed, and classify the test images.

    Parameters
    ----------
    arch : str
        A network that is trained.
    numbers : sequence of int, optional
        The seeds; that of the weights that come with fastact is not trained again.
    epochs : int, optional
        How long; by default as long as those weights.

    Returns
    -------
    Study
        The record.
    """
    from ...export import ARCHITECTURES, FORMS, cnn
    from ...export.train import EPOCHS, LEARNING_RATES

    data = ARCHITECTURES[arch].data
    assert data is not None
    epochs = epochs or EPOCHS
    images, labels = data.load("test")
    shape = (len(numbers), len(labels))
    right = {(a, p): np.zeros(shape, bool) for a in FORMS for p in seeds.PRECISIONS}
    for activation in FORMS:
        for i, seed in enumerate(numbers):
            trained = _trained(arch, activation, seed, epochs)
            for precision, dtype in DTYPES.items():
                model = cnn(arch, activation, dtype=dtype, trained=trained)
                right[activation, precision][i] = classify(model, images) == labels
        counts = (right[activation, p].sum(axis=1).tolist() for p in seeds.PRECISIONS)
        print(f"{activation:10} of {len(labels)} right", *counts, sep="  ", flush=True)
    about = {"epochs": epochs, "rate": LEARNING_RATES[arch], **Environment.here().to_dict()}
    return seeds.Study(arch, tuple(numbers), right, about)


def classify(model: ModelProto, images: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Classify images one by one in onnxruntime, on one thread, as `compare` does.

    Parameters
    ----------
    model : onnx.ModelProto
        A classifier of batch 1.
    images : ndarray
        The images.

    Returns
    -------
    ndarray of int
        The classes.
    """
    session = Session(model.SerializeToString(), images[:1])
    return np.array([session(images[i, None]).argmax() for i in range(len(images))])


def _trained(arch: str, activation: str, seed: int, epochs: int) -> Trained:
    from ...export import ARCHITECTURES, train, weights

    if seed == train.SEED:
        return weights.load(arch)[activation]
    data = ARCHITECTURES[arch].data
    assert data is not None
    tensors = train.train(arch, activation, *data.load("train"), epochs=epochs, seed=seed)
    test = data.load("test")
    return weights.Trained(tensors, train.right(arch, activation, tensors, *test), len(test[1]))


def main() -> None:
    """Train from several seeds and write the record, or write the page of the records."""
    try:
        for module in ("onnx", "onnxruntime", "sklearn"):
            require(module, "report")
    except ImportError as error:
        sys.exit(f"Error: {error}")
    from ...export.files import write_bytes
    from ...export.train import TRAINED

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--arch", choices=TRAINED, help="the network to train")
    parser.add_argument("--output", type=Path, help="the file to write; default: the package's own")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="two at least")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--markdown", type=Path, help="write the page of the package's records")
    options = parser.parse_args()
    if not (options.arch or options.markdown):
        parser.error("nothing to do: give --arch, --markdown or both")
    if len(options.seeds) < 2:
        parser.error("--seeds: an interval takes two at least")

    if options.arch:
        found = study(options.arch, options.seeds, options.epochs)
        seeds.store(options.output or seeds.path(options.arch), found)
    if options.markdown:
        write_bytes(options.markdown, page().encode())


if __name__ == "__main__":
    main()
