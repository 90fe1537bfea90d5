"""Inputs and labels for a user's own model: from a file's arrays, or random ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from ...export import ModelError
from .shapes import Array, Port, Shape, listed, ports_of, resolve, written

#: The key of the data under which the labels are.
LABELS = "labels"


@dataclass(frozen=True)
class Batches:
    """What to run a model on.

    Parameters
    ----------
    inputs : tuple of dict
        For each run the inputs by name.
    labels : ndarray of int64 or None
        For each run the classes of its samples; None if they are not known.
    size : int
        Samples in one run.
    notes : tuple of str
        Sentences on what was not taken as it was given.
    """

    inputs: tuple[dict[str, Array], ...]
    labels: npt.NDArray[np.int64] | None
    size: int
    notes: tuple[str, ...]


def inputs_for(
    model: onnx.ModelProto,
    shapes: Mapping[str, Sequence[int]] | None = None,
    data: Mapping[str, Array] | None = None,
    *,
    seed: int = 1,
    count: int = 16,
) -> Batches:
    """Prepare the inputs of a model, one sample for each run if the model allows it.

    An open first dimension is the batch, and is 1. Any other one needs a size, from `shapes`,
    from the data, or from another input that names the same dimension.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    shapes : mapping of str to sequence of int, optional
        The whole shape of inputs with open dimensions, the batch first.
    data : mapping of str to ndarray, optional
        For each input an array with its samples along the first axis, whatever number; where
        the model takes N of them at a time, they are split into groups of N. An input
        without dimensions is the same in all runs. ``labels``, unless the model has an
        input of that name, holds the class of each sample.
    seed : int, optional
        Where random values start.
    count : int, optional
        How many random inputs to make if there is no data.

    Returns
    -------
    Batches
        The inputs; random ones are normal, and zeros and ones for integers.

    Raises
    ------
    ValueError
        If shapes are missing, or do not fit the model.
    ModelError
        If the data does not fit the model, or the model has inputs that are no tensors of
        numbers.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> images = np.zeros((100, 1, 8, 8), np.float32)
    >>> batches = inputs_for(cnn("digits", "relu"), data={"image": images})
    >>> len(batches.inputs), batches.inputs[0]["image"].shape
    (100, (1, 1, 8, 8))
    """
    ports = ports_of(model)
    if data is None:
        sizes = resolve(ports, shapes or {}, {})
        random = np.random.default_rng(seed)
        inputs = [
            {port.name: _draw(random, sizes[port.name], port.dtype) for port in ports}
            for _ in range(count)
        ]
        return Batches(tuple(inputs), None, _batch(sizes), ())

    arrays = dict(data)
    labels = None if any(port.name == LABELS for port in ports) else arrays.pop(LABELS, None)
    _check_names(ports, arrays)
    for port in ports:
        _check_array(port, port.dims, arrays[port.name])
    sizes = resolve(ports, shapes or {}, arrays)
    for port in ports:
        _check_array(port, sizes[port.name], arrays[port.name])
    runs, size = _runs(sizes, arrays), _batch(sizes)
    inputs = [
        {name: _part(array, sizes[name], run) for name, array in arrays.items()}
        for run in range(runs)
    ]
    samples = next((len(arrays[name]) for name, shape in sizes.items() if shape), 1)
    if labels is not None:
        labels = _labels(labels, samples)[: runs * size].reshape(runs, size)
    left = samples - runs * size
    note = f"{left} of {samples} samples are left out: the model takes {size} at a time."
    return Batches(tuple(inputs), labels, size, (note,) if left else ())


def correct(outputs: Sequence[Array], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell which samples a model classifies rightly.

    Parameters
    ----------
    outputs : sequence of ndarray
        For each run the first output: a score for each class along the last axis.
    labels : ndarray of int64
        For each run the classes, as in `Batches.labels`.

    Returns
    -------
    ndarray of bool
        One for each sample.

    Raises
    ------
    ModelError
        If the output is not one row of scores for each sample, or a label is no class of it.

    Examples
    --------
    >>> correct([np.array([[0.1, 0.9]]), np.array([[0.2, 0.8]])], np.array([[1], [0]])).tolist()
    [True, False]
    """
    shape = outputs[0].shape
    if not shape or math.prod(shape[:-1]) != labels.shape[1]:
        raise ModelError(
            f"there is no accuracy: for {labels.shape[1]} samples the first output is "
            f"{written(shape)}, not a row of scores for each"
        )
    if labels.max() >= shape[-1]:
        raise ModelError(
            f"label {labels.max()} is none of the {shape[-1]} classes of the first output, "
            f"{written(shape)}; they count from 0"
        )
    taken = np.array([output.argmax(axis=-1).ravel() for output in outputs])
    return np.asarray(taken == labels).ravel()


def _draw(random: np.random.Generator, shape: Shape, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def _batch(sizes: Mapping[str, Shape]) -> int:
    """Count the samples of one run: the first dimension of the first input that has any."""
    return next((shape[0] for shape in sizes.values() if shape), 1)


def _check_names(ports: Sequence[Port], arrays: Mapping[str, Array]) -> None:
    names = [port.name for port in ports]
    for name in names:
        if name not in arrays:
            raise ModelError(f"the data has no {name!r}; the model takes {listed(ports)}")
    for name in arrays:
        if name not in names:
            raise ModelError(
                f"the data has {name!r}, but the model takes {listed(ports)}; "
                f"the classes are {LABELS!r}"
            )


def _check_array(port: Port, dims: Sequence[int | str] | None, array: Array) -> None:
    """Check an array against the dimensions of an input as far as these are known."""
    fits = dims is None or (
        array.ndim == len(dims)
        and all(
            isinstance(d, str) or d == n for d, n in zip(dims[1:], array.shape[1:], strict=True)
        )
    )
    if array.dtype != port.dtype or not fits:
        shape = "" if dims is None else f" {written(['samples', *dims[1:]] if dims else [])}"
        raise ModelError(
            f"the data for {port.name!r} is {array.dtype} {written(array.shape)}; "
            f"the model takes {port.dtype}{shape}"
        )


def _runs(sizes: Mapping[str, Shape], arrays: Mapping[str, Array]) -> int:
    runs = {name: len(arrays[name]) // shape[0] for name, shape in sizes.items() if shape}
    counts = ", ".join(f"{len(arrays[name])} of {name} by {sizes[name][0]}" for name in runs)
    if len({*runs.values()}) > 1:
        raise ModelError(f"the data holds unlike numbers of samples: {counts}")
    if 0 in runs.values():
        raise ModelError(f"the data holds too few samples for one run: {counts}")
    return next(iter(runs.values()), 1)


def _part(array: Array, shape: Shape, run: int) -> Array:
    return array[run * shape[0] : (run + 1) * shape[0]] if shape else array


def _labels(labels: Array, samples: int) -> npt.NDArray[np.int64]:
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != samples:
        raise ModelError(
            f"{LABELS!r} must be integers of shape [{samples}], one class for each sample, "
            f"not {labels.dtype} {written(labels.shape)}"
        )
    if labels.min() < 0:
        raise ModelError(f"{LABELS!r} must be classes, which count from 0, not {labels.min()}")
    return labels.astype(np.int64)
