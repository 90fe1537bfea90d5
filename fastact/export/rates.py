"""Chooses the learning rates by validation: ``python -m fastact.export.rates --arch lenet5``.

Every fifth training image is kept apart, the network is trained on the others at each rate of a
grid, and the rate that does best on those kept apart is the one to train with. The test images
have no say in it. One thread (OMP_NUM_THREADS=1) is the fastest.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .architectures import ARCHITECTURES
from .files import write_bytes
from .forms import FORMS
from .tape import Array
from .train import TRAINED, right, train

# Wide enough that neither end is the best.
GRID = {
    "digits": (1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3),
    "lenet5": (1e-3, 2e-3, 4e-3, 8e-3, 16e-3),
}

# LeNet-5 takes ten times as long as the digits CNN, so it is tried for fewer epochs, and once.
EPOCHS = {"digits": 30, "lenet5": 10}
SEEDS = {"digits": (1, 2, 3), "lenet5": (1,)}

# One rate serves every activation: the one that is best for these together.
JUDGES = ("relu", "gelu", "gelu_tanh")

# Training image i is kept apart when i is a multiple of this.
VALIDATION_EVERY = 5


class Validation(NamedTuple):
    """What each activation makes of each rate.

    Parameters
    ----------
    rates : tuple of float
        The grid.
    seeds : tuple of int
        The seeds that each rate was tried with.
    epochs : int
        How long each training was.
    images : int
        How many images were kept apart.
    correct : dict of str to ndarray of int, shape (rates, seeds)
        For each activation, how many of them are classified rightly.
    """

    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    epochs: int
    images: int
    correct: dict[str, Array]

    def accuracies(self, activations: Iterable[str]) -> list[float]:
        """Average the accuracy at each rate over seeds and activations.

        Parameters
        ----------
        activations : iterable of str
            Which ones.

        Returns
        -------
        list of float
            From 0 to 1, in the order of `rates`.
        """
        counts = np.hstack([self.correct[name] for name in activations])
        return [float(mean) for mean in counts.mean(axis=1) / self.images]

    def best(self, activations: Iterable[str] = JUDGES) -> float:
        """Tell which rate is the best, the lowest one of equals.

        Parameters
        ----------
        activations : iterable of str, optional
            For which ones together.

        Returns
        -------
        float
            One of `rates`.
        """
        return self.rates[int(np.argmax(self.accuracies(activations)))]


def split(images: Array, labels: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Keep every fifth training image apart.

    Parameters
    ----------
    images, labels : ndarray
        All training images.

    Returns
    -------
    learn, validate : tuple of (ndarray, ndarray)
        Images and labels of the two sides.

    Examples
    --------
    >>> learn, validate = split(np.arange(7), np.arange(7))
    >>> learn[0].tolist(), validate[0].tolist()
    ([1, 2, 3, 4, 6], [0, 5])
    """
    apart = np.arange(len(labels)) % VALIDATION_EVERY == 0
    return (images[~apart], labels[~apart]), (images[apart], labels[apart])


def validate(arch: str, rates: Sequence[float], seeds: Sequence[int], epochs: int) -> Validation:
    """Train a network with every activation at every rate, and print how well each does.

    Parameters
    ----------
    arch : str
        The network, one that is trained.
    rates : sequence of float
        The grid.
    seeds : sequence of int
        How often, and from which seeds.
    epochs : int
        How long.

    Returns
    -------
    Validation
        The counts.
    """
    data = ARCHITECTURES[arch].data
    assert data is not None
    learn, apart = split(*data.load("train"))
    correct: dict[str, Array] = {}
    for name in FORMS:
        correct[name] = np.zeros((len(rates), len(seeds)), np.int64)
        for (i, j), _ in np.ndenumerate(correct[name]):
            trained = train(arch, name, *learn, epochs=epochs, seed=seeds[j], rate=rates[i])
            correct[name][i, j] = right(arch, name, trained, *apart)
        means = correct[name].mean(axis=1) / len(apart[1])
        cells = (f"{rate:g}: {mean:.4f}" for rate, mean in zip(rates, means, strict=True))
        print(f"{name:10}", *cells, sep="  ", flush=True)
    return Validation(tuple(rates), tuple(seeds), epochs, len(apart[1]), correct)


def path(arch: str) -> Path:
    """Tell where the validation of an architecture is kept.

    Parameters
    ----------
    arch : str
        A key of `fastact.export.ARCHITECTURES`.

    Returns
    -------
    Path
        A file beside this module.
    """
    return Path(__file__).with_name(f"rates_{arch}.npz")


def load(arch: str) -> Validation:
    """Read what validation gave.

    Parameters
    ----------
    arch : str
        The network, one that is trained.

    Returns
    -------
    Validation
        The counts.

    Examples
    --------
    >>> load("digits").images
    288
    """
    with np.load(path(arch)) as archive:
        head, counts = json.loads(str(archive["head"])), archive["correct"]
    correct = dict(zip(head["activations"], counts, strict=True))
    rates, seeds = tuple(head["rates"]), tuple(head["seeds"])
    return Validation(rates, seeds, head["epochs"], head["images"], correct)


def store(file: Path, found: Validation) -> None:
    """Write what validation gave; the same counts give the same bytes.

    Parameters
    ----------
    file : Path
        Where to.
    found : Validation
        The counts.
    """
    head = {
        "activations": list(found.correct),
        "rates": found.rates,
        "seeds": found.seeds,
        "epochs": found.epochs,
        "images": found.images,
    }
    counts = np.array(list(found.correct.values()))
    buffer = io.BytesIO()
    np.savez(buffer, head=np.array(json.dumps(head)), correct=counts)
    write_bytes(file, buffer.getvalue())


def main() -> None:
    """Try a grid of learning rates with every activation and write what validation gives."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--arch", choices=TRAINED, default="digits")
    parser.add_argument("--output", type=Path, help="the file to write; default: the package's own")
    parser.add_argument("--rates", type=float, nargs="+", help="the grid")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--epochs", type=int)
    options = parser.parse_args()

    arch = options.arch
    rates, seeds = options.rates or GRID[arch], options.seeds or SEEDS[arch]
    found = validate(arch, rates, seeds, options.epochs or EPOCHS[arch])
    store(options.output or path(arch), found)
    print(f"best for {', '.join(JUDGES)} together: {found.best():g}")


if __name__ == "__main__":
    main()
