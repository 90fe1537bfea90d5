"""What a comparison runs: the models, the inputs, and what is known of their accuracy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from ..export import ARCHITECTURES, FORMS, ModelError, cnn, weights
from ..export.checks import one_of
from ..export.reading import embedded
from ..export.rewriting import load
from . import seeds
from .own.inputs import Batches, inputs_for
from .own.unfused import unfused_relu
from .own.variants import alternatives
from .results import Gain, Seeds

#: The first opset with a Gelu operator, so that every form can be compared.
OPSET = 20

#: The type of the codes that an int8 network has between its operators. onnxruntime computes
#: parts of a network with int8 ones in float32 on x86; weights are int8 in either case.
CODES = "uint8"

#: Random images, where a network has no data.
RANDOM_IMAGES = 16


@dataclass(frozen=True)
class Model:
    """A model to be measured.

    Parameters
    ----------
    activation, form : str
        The activation and the form it is written in.
    content : bytes
        The serialised model.
    name : str
        What it is called, by default activation and form.
    seeds : Seeds or None
        Its accuracy over several trainings.
    gain : Gain or None
        Its accuracy relative to that of the baseline.
    output_change : float or None
        How far its outputs are from those of the user's own model, relative to the largest.
    retrain : bool
        True if it computes another function than it was trained with.
    """

    activation: str
    form: str
    content: bytes
    name: str = ""
    seeds: Seeds | None = None
    gain: Gain | None = None
    output_change: float | None = None
    retrain: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"{self.activation}/{self.form}")


@dataclass(frozen=True)
class Workload:
    """What a comparison runs.

    Parameters
    ----------
    network : str
        The architecture, or the file of a user's own model.
    weights : str
        ``"trained"``, ``"random"`` or ``"given"``.
    data : str
        What the inputs are, for people.
    models : tuple of Model
        The first is the baseline.
    probe : bytes or None
        The network with a ReLU that onnxruntime does not fold into the operator before it.
    inputs : dict of str to ndarray
        For each input of the models, the values of all samples.
    labels : ndarray or None
        For each run of a model the classes of its samples.
    notes : tuple of str
        What to keep in mind.
    """

    network: str
    weights: str
    data: str
    models: tuple[Model, ...]
    probe: bytes | None
    inputs: dict[str, npt.NDArray[Any]]
    labels: npt.NDArray[np.int64] | None
    notes: tuple[str, ...] = ()


def of_architecture(
    arch: str,
    activations: Sequence[str],
    precision: str,
    report: Callable[[int, int], object],
) -> Workload:
    """Make a network of `fastact.export` with each activation, in every form.

    Parameters
    ----------
    arch : str
        A key of `fastact.export.ARCHITECTURES`.
    activations : sequence of str
        The first is the baseline.
    precision : {"float32", "int8"}
        What it computes in.
    report : callable
        Called with (models made, models in all).

    Returns
    -------
    Workload
        With test images and labels where the network is trained, and random images where not.

    Raises
    ------
    ValueError
        If `arch` is unknown.
    ImportError
        If the images are not installed.
    """
    entry = ARCHITECTURES[one_of("architecture", arch, ARCHITECTURES)]
    if entry.data is not None:
        images, labels = entry.data.load("test")
        data = f"{len(images)} test images of {entry.data.NAME}"
    else:
        bits = np.random.PCG64(weights.SEED)
        images = weights.uniform(bits, (RANDOM_IMAGES, *entry.image)).astype(np.float32)
        labels, data = None, f"{RANDOM_IMAGES} random images"
    study = seeds.load(arch) if entry.data is not None else None

    spellings = [(name, form) for name in activations for form in FORMS[name]]
    dtype = CODES if precision == "int8" else precision
    models: list[Model] = []
    for activation, form in spellings:
        report(len(models), len(spellings))
        content = cnn(arch, activation, form=form, opset=OPSET, dtype=dtype).SerializeToString()
        model = Model(activation, form, content)
        if study is not None:
            model = _with_study(model, study, activations[0], precision)
        models.append(model)
    return Workload(
        network=arch,
        weights="random" if labels is None else "trained",
        data=data,
        models=tuple(models),
        probe=_probe(cnn(arch, "relu", opset=OPSET)) if precision == "float32" else None,
        inputs={"image": images[:, np.newaxis]},  # each sample is a batch of one
        labels=None if labels is None else labels[:, np.newaxis],
        notes=_notes(study, precision),
    )


def _with_study(model: Model, study: seeds.Study, baseline: str, precision: str) -> Model:
    found = study.accuracy(model.activation, precision)
    kept = Seeds(found.counts, found.images, found.mean, (found.low, found.high))
    if model.activation == baseline:
        return replace(model, seeds=kept)
    apart = study.difference(model.activation, baseline, precision)
    source = f"{len(found.counts)} trainings of each and {found.images} test images"
    gain = Gain(apart.mean, apart.error, (apart.low, apart.high), source)
    return replace(model, seeds=kept, gain=gain)


def _probe(model: onnx.ModelProto) -> bytes | None:
    """Make a network with a ReLU that is never folded, to tell what folding is worth."""
    try:
        return bytes(unfused_relu(model).SerializeToString())
    except ModelError:
        return None


def _notes(study: seeds.Study | None, precision: str) -> tuple[str, ...]:
    notes = []
    if study is None:
        notes.append("The weights are random: this network has a latency, but no accuracy.")
    else:
        first = study.seeds[0]
        notes.append(
            f"The models that are timed are those of seed {first}; the accuracy is the mean over "
            f"{len(study.seeds)} seeds, recorded when they were trained (docs/seeds.md)."
        )
    if precision == "int8":
        notes.append(
            "int8: weights of 8 bits and uint8 codes between operators; a GELU is computed in "
            "float32 between two conversions. What of its cost is lost fusion is not told apart."
        )
    return tuple(notes)


def of_model(
    model: onnx.ModelProto | str | os.PathLike[str],
    activations: Sequence[str],
    data: Mapping[str, npt.NDArray[Any]] | None,
    shapes: Mapping[str, Sequence[int]],
    precision: str,
) -> Workload:
    """Take a user's own model, and make variants of it with each activation, in every form.

    Parameters
    ----------
    model : onnx.ModelProto or path-like
        The model. It is the baseline as it is.
    activations : sequence of str
        What to put in the place of its activations.
    data : mapping of str to ndarray or None
        Inputs by name, one sample in each row, and perhaps ``labels``.
    shapes : mapping of str to sequence of int
        Shapes of inputs that leave a dimension open.
    precision : {"float32", "int8"}
        What networks are made in; a user's model is what it is.

    Returns
    -------
    Workload
        With the given data, or random inputs.

    Raises
    ------
    ValueError
        If data or shapes do not fit, or 8 bits are asked for.
    ModelError
        If the model cannot be worked with, or has no activation.
    """
    if precision != "float32":
        raise ValueError(
            f"precision {precision!r} is for the networks of fastact; "
            "of a model of your own, give one that is quantised"
        )
    source, folder = load(model)
    source = embedded(source, folder)
    batches = inputs_for(source, shapes, data)
    made = alternatives(source, activations, inputs=batches.inputs[0])
    probe = _probe(source)
    notes = [*batches.notes, *(f"{m.name} is left out: {m.note}." for m in made if not m.model)]
    if any(not m.same_function for m in made):
        notes.append(
            "A variant with another activation has the latency that a model trained with it would "
            "have, but not its accuracy: it must be trained again."
        )
    if probe is None:
        notes.append("What of the cost is lost fusion could not be told apart for this model.")
    return Workload(
        network="model" if isinstance(model, onnx.ModelProto) else os.fspath(model),
        weights="given",
        data=inputs_text(batches, data is not None),
        models=tuple(
            Model(
                activation=m.activation,
                form=m.form,
                content=m.model.SerializeToString(),
                name=m.name,
                output_change=m.relative,
                retrain=not m.same_function,
            )
            for m in made
            if m.model is not None
        ),
        probe=probe,
        inputs=stacked(batches),
        labels=batches.labels,
        notes=tuple(notes),
    )


def stacked(batches: Batches) -> dict[str, npt.NDArray[Any]]:
    """Put the inputs of all runs together.

    Parameters
    ----------
    batches : Batches
        The inputs.

    Returns
    -------
    dict of str to ndarray
        For each input of the model, the values of all runs along the first axis.
    """
    names = batches.inputs[0]
    return {name: np.stack([run[name] for run in batches.inputs]) for name in names}


def inputs_text(batches: Batches, given: bool) -> str:
    """Say what a model is run on, for people.

    Parameters
    ----------
    batches : Batches
        The inputs.
    given : bool
        Whether they are the user's.

    Returns
    -------
    str
        How many, of what kind, and their shapes.
    """
    shapes = ", ".join(f"{name} {list(a.shape)}" for name, a in batches.inputs[0].items())
    labelled = ", labelled" if batches.labels is not None else ""
    return f"{len(batches.inputs)} {'given' if given else 'random'} inputs{labelled} ({shapes})"
