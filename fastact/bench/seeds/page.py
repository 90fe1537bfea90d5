"""The page of what the activations give in accuracy, made of the records alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..peers.tables import Table, markdown
from . import record as seeds

if TYPE_CHECKING:
    from ...export.rates import Validation

BASELINE = "relu"

HEAD = """\
# Accuracy over seeds

What an activation gives in accuracy beside ReLU, and how much of that is noise. Nothing but the
activation differs: the same images, epochs, learning rate, and for each seed the same first weights
and order of the images.

    export OMP_NUM_THREADS=1
    python -m fastact.export.rates --arch ARCH         # chooses the learning rate
    python -m fastact.export.train --arch ARCH         # the weights that come with fastact: seed 1
    python -m fastact.bench.seeds.study --arch ARCH     # the other seeds; records what is right
    python -m fastact.bench.seeds.study --markdown docs/seeds.md

The learning rate is chosen on training images kept apart, not on the test images, and is one for
all activations; the table of each network tells which one each would have taken by itself. LeNet-5
is tried with fewer epochs than it is trained with, and with one seed, since it takes ten times as
long; the best rate after few epochs may be a higher one than after many.

A mean has the 95 % interval of Student's t over the seeds: what other trainings would give on these
test images. A difference is paired by seed and by image; its standard errors over the seeds and
over the test images are added in squares, and its interval is for other trainings and other images.
It is more than noise if that interval leaves out 0; of twenty differences that are none, one at
most is expected to do so.

float32 and int8 are both what onnxruntime computes at batch 1. The int8 models are quantised
statically, with uint8 codes, int8 weights with a scale for each channel, and ranges calibrated on
128 training images. Activations other than ReLU and ReLU6 are computed in float32 there, between
two conversions."""


def page() -> str:
    """Write the page of the records that come with fastact.

    Returns
    -------
    str
        Markdown.
    """
    from ...export.train import TRAINED

    lines = HEAD.splitlines()
    for arch in TRAINED:
        lines += ["", *_section(seeds.load(arch))]
    return "\n".join(lines) + "\n"


def _section(study: seeds.Study) -> Iterator[str]:
    from ...export import ARCHITECTURES, rates

    data = ARCHITECTURES[study.arch].data
    assert data is not None
    validation, about = rates.load(study.arch), study.about
    images = study.accuracy(BASELINE).images
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items() if number)
    yield from [f"## {study.arch}", ""]
    yield f"* {data.NAME}, {images:,} test images"
    yield f"* {about['cpu']}, {about['system']}, fastact's variant {about['isa']}"
    yield from [f"* {versions}", ""]

    yield from ["### The learning rate, by validation", ""]
    first, second = sorted(validation.accuracies(rates.JUDGES))[:-3:-1]
    total = validation.images * len(validation.seeds) * len(rates.JUDGES)
    text = f"""Accuracy in % on {validation.images} training images kept apart, after
    {validation.epochs} epochs on the others (seeds: {", ".join(map(str, validation.seeds))}).
    Taken for all activations: the best rate of {", ".join(rates.JUDGES)} together. It is ahead of
    the next by {round((first - second) * total)} of {total:,} classifications."""
    yield textwrap.fill(" ".join(text.split()), 100)
    yield from ["", *markdown(rates_table(validation)), ""]

    yield from [f"### {len(study.seeds)} seeds of {about['epochs']} epochs", ""]
    yield from [f"Test images classified rightly, of {images:,}, by seed; mean accuracy in %.", ""]
    yield from [*markdown(accuracies_table(study), words=2), ""]

    yield from [f"### Differences to {BASELINE}", "", "In percentage points.", ""]
    yield from markdown(differences_table(study), words=2)


def rates_table(validation: Validation) -> Table:
    """Lay the validation out, a row for each activation, and one for those that decide.

    Parameters
    ----------
    validation : Validation
        The counts.

    Returns
    -------
    list of list of str
        The cells, the first list being the header.
    """
    from ...export.rates import JUDGES

    groups: dict[str, tuple[str, ...]] = {name: (name,) for name in validation.correct}
    groups[f"**{', '.join(JUDGES)}**"] = JUDGES
    table = [["activation", *(f"{rate:g}" for rate in validation.rates), "best"]]
    for title, names in groups.items():
        means = (f"{100 * mean:.2f}" for mean in validation.accuracies(names))
        table.append([title, *means, f"{validation.best(names):g}"])
    return table


def accuracies_table(study: seeds.Study) -> Table:
    """Lay counts and means out, a row for each activation and precision.

    Parameters
    ----------
    study : Study
        The record.

    Returns
    -------
    list of list of str
        The cells, the first list being the header.
    """
    table = [["activation", "", *(f"seed {n}" for n in study.seeds), "mean", "95 % interval"]]
    for activation in study.activations:
        for precision in seeds.PRECISIONS:
            found = study.accuracy(activation, precision)
            counts = (f"{count:,}" for count in found.counts)
            interval = f"{100 * found.low:.2f} to {100 * found.high:.2f}"
            table.append([activation, precision, *counts, f"{100 * found.mean:.2f}", interval])
    return table


def differences_table(study: seeds.Study) -> Table:
    """Lay the differences to ReLU out, a row for each activation and precision.

    Parameters
    ----------
    study : Study
        The record.

    Returns
    -------
    list of list of str
        The cells, the first list being the header.
    """
    errors = ["error, seeds", "error, images", "error, both"]
    table = [["activation", "", "difference", *errors, "95 % interval", "more than noise"]]
    for activation in study.activations:
        for precision in seeds.PRECISIONS if activation != BASELINE else ():
            found = study.difference(activation, BASELINE, precision)
            points = (100 * e for e in (found.seed_error, found.image_error, found.error))
            interval = f"{100 * found.low:+.2f} to {100 * found.high:+.2f}"
            verdict = "**yes**" if found.more_than_noise else "no"
            cells = [f"{100 * found.mean:+.2f}", *(f"{p:.2f}" for p in points), interval, verdict]
            table.append([activation, precision, *cells])
    return table
