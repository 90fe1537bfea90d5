"""The two kinds of model that can be exported: one activation, and a small CNN."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from . import forms, quantization, table, weights
from .architectures import ARCHITECTURES
from .checks import one_of
from .choice import choose
from .graph import Port, build, dimension
from .table import TABLE, Quantization
from .writer import CONSTANTS, Value, Writer

CALIBRATION = 128  # images, spread over the training images where there are any


def activation(
    name: str,
    *,
    form: str | None = None,
    opset: int | None = None,
    target: str | None = None,
    dtype: npt.DTypeLike = "float32",
    shape: Iterable[int | str] = (1, 64),
    x_quantization: tuple[float, int] | None = None,
    y_quantization: tuple[float, int] | None = None,
) -> onnx.ModelProto:
    """Make the ONNX model of one activation, from input ``x`` to output ``y``.

    Parameters
    ----------
    name : str
        One of `fastact.activations`, which are the keys of `FORMS`.
    form : str, optional
        One of ``FORMS[name]``: ``"op"``, ONNX's own operator, or a written-out form. The
        default is the best one that the opset has. 8-bit types have one form, ``"table"``.
    opset : int, optional
        The opset of the file. The default is 17, or a later one if `form` needs it.
    target : str, optional
        A runtime, one of `TARGETS`, for which to choose form and opset. The model's doc string
        tells what was chosen and why; so does `choose`.
    dtype : dtype-like, optional
        ``"float32"``, or ``"float16"``, which is computed in float32 between two casts;
        for ``"relu"`` also ``"float64"``. ``"int8"`` and ``"uint8"`` look up the exact result.
    shape : iterable of int or str, optional
        Sizes, and names of dynamic dimensions, of input and output.
    x_quantization, y_quantization : tuple of (float, int), optional
        For 8-bit types, scale and zero point of the input, which are needed, and of the output,
        which by default cover all results; the metadata of the model tell them.

    Returns
    -------
    onnx.ModelProto
        A checked model of the lowest IR version that `opset` allows.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is unknown, `opset` cannot hold the form, `target` cannot run it, `dtype` has
        no kernel in onnxruntime, or a dimension or a quantization is out of range.

    Examples
    --------
    >>> model = activation("gelu", shape=("batch", 64))
    >>> [node.op_type for node in model.graph.node]
    ['Div', 'Erf', 'Add', 'Mul', 'Mul']
    >>> model = activation("gelu", form="op")
    >>> [node.op_type for node in model.graph.node], model.opset_import[0].version
    (['Gelu'], 20)
    >>> model = activation("gelu", dtype="int8", x_quantization=(0.05, 0))
    >>> [node.op_type for node in model.graph.node]
    ['Cast', 'Gather']
    """
    dtype = _dtype(name, dtype)
    quantised = dtype in table.DTYPES
    if quantised and form is None:
        form = TABLE
    if quantised != (form == TABLE):
        raise ValueError(f"form={form!r} is not one of {dtype}; {TABLE!r} is that of 8-bit types")
    choice = choose(name, target, form=form, opset=opset)
    dims = _shape(shape)
    tensors: dict[str, npt.NDArray[Any]] = dict(CONSTANTS)
    metadata = {"activation": name, "form": choice.form, "opset": str(choice.opset)}
    if target is not None:
        metadata["target"] = target
    if not quantised and (x_quantization, y_quantization) != (None, None):
        raise ValueError(f"{dtype} has no quantization; dtype='int8' and 'uint8' have")
    if quantised:
        if x_quantization is None:
            raise ValueError(f"{dtype} needs x_quantization=(scale, zero_point)")
        x = Quantization.check("x_quantization", x_quantization, dtype)
        y = y_quantization and Quantization.check("y_quantization", y_quantization, dtype)
        codes, y = table.results(name, dtype, x, y)
        tensors |= table.tensors("y", codes, dtype, choice.opset)
        nodes = [table.nodes("x", "y", dtype, choice.opset)]
        for port, (scale, zero_point) in {"x": x, "y": y}.items():
            metadata |= {f"{port}_scale": repr(scale), f"{port}_zero_point": str(zero_point)}
    elif dtype == "float16":
        to_float32 = f"x_float32 = Cast <to = {onnx.TensorProto.FLOAT}> (x)"
        to_float16 = f"y = Cast <to = {onnx.TensorProto.FLOAT16}> (y_float32)"
        inside = forms.nodes(name, choice.form, choice.opset, "x_float32", "y_float32")
        nodes = [to_float32, inside, to_float16]
    else:
        nodes = [forms.nodes(name, choice.form, choice.opset, "x", "y")]
    model = build(
        f"{name}_{choice.form}",
        Port("x", dtype, dims),
        Port("y", dtype, dims),
        nodes,
        tensors,
        choice.opset,
        metadata,
    )
    model.doc_string = choice.reason
    return model


def cnn(
    arch: str,
    activation: str,
    *,
    form: str | None = None,
    opset: int | None = None,
    target: str | None = None,
    dtype: str = "float32",
    batch: int | str = 1,
    trained: weights.Trained | None = None,
) -> onnx.ModelProto:
    """Make the ONNX model of a small CNN, from ``image`` to ``logits``.

    Parameters
    ----------
    arch : str
        A key of `ARCHITECTURES`. ``"digits"`` and ``"lenet5"`` are trained, with each
        activation, and the metadata of the model tell how many test images it gets right; the
        others have random weights, for measuring what they cost.
    activation : str
        One of `fastact.activations`.
    form, opset, target : optional
        As for `activation`; the form changes how the activation is written, not its weights.
    dtype : {"float32", "int8", "uint8"}, optional
        The 8-bit types are quantised (see `quantize`): calibrated on the training images, or
        on seeded random ones where there are none. An activation other than a clamp is then
        computed in float32 between its neighbours, which onnxruntime does fastest by the
        operator of opset 20; or looked up with ``form="table"``, for what must not leave the
        8 bits, though onnxruntime is slower at it.
    batch : int or str, optional
        Images per run, or the name of a dynamic dimension.
    trained : Trained, optional
        The result of another training, to take in place of the weights that come with fastact.

    Returns
    -------
    onnx.ModelProto
        A checked model of the lowest IR version that `opset` allows.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a name is unknown, `opset` cannot hold the form, `target` cannot run it, `batch`
        is not positive, or `trained` lacks a tensor or has one of another shape.
    ImportError
        If a type of 8 bits is asked for and onnxruntime or the images are not installed.

    Examples
    --------
    >>> model = cnn("digits", "relu", batch="n")
    >>> [node.op_type for node in model.graph.node][:2]
    ['Conv', 'Relu']
    >>> cnn("digits", "gelu", target="onnxruntime>=1.18").graph.node[1].op_type
    'Gelu'
    """
    architecture = ARCHITECTURES[one_of("architecture", arch, ARCHITECTURES)]
    quantised = one_of("dtype of a CNN", dtype, ("float32", *table.DTYPES)) in table.DTYPES
    batch = dimension(batch)
    if form == TABLE and not quantised:
        raise ValueError(f"form={TABLE!r} is one of int8 and uint8, not of {dtype}")
    besides = quantization.OPERATORS if quantised else ()
    choice = choose(activation, target, form=form, opset=opset, besides=besides)
    metadata = {"arch": arch, "activation": activation, "form": choice.form}
    metadata |= {"opset": str(choice.opset)} | ({} if target is None else {"target": target})

    source = weights.random_source()
    if trained is None and architecture.data is not None:
        trained = weights.load(arch)[activation]
    if trained is not None:
        source = weights.trained_source(trained.tensors)
        metadata["accuracy"] = weights.score(trained.correct, trained.images)
    # A table replaces what the quantised model computes in float32, in whatever form.
    written = forms.select(activation, None, choice.opset)[0] if form == TABLE else choice.form
    writer = Writer(activation, written, choice.opset, source)
    architecture.network(writer, Value("image", architecture.image))
    model = build(
        f"{arch}_{activation}_{choice.form}",
        Port("image", "float32", (batch, *architecture.image)),
        Port("logits", "float32", (batch, architecture.classes)),
        writer.nodes,
        writer.tensors,
        choice.opset,
        metadata,
    )
    if quantised:
        model = _quantised(model, arch, activation, writer, dtype, as_table=form == TABLE)
    model.doc_string = choice.reason
    return model


def _quantised(
    model: onnx.ModelProto, arch: str, activation: str, writer: Writer, dtype: str, as_table: bool
) -> onnx.ModelProto:
    """Quantise a CNN, and record how and what that makes of its accuracy."""
    image, _, _, data = ARCHITECTURES[arch]
    if data is None:
        calibration = f"{CALIBRATION} random images"
        bits = np.random.PCG64(weights.SEED)
        images = weights.uniform(bits, (CALIBRATION, *image)).astype(np.float32)
    else:
        calibration = f"{CALIBRATION} training images"
        images = data.load("train")[0]
        images = images[:: len(images) // CALIBRATION][:CALIBRATION]

    keep = [
        node.name
        for node in model.graph.node
        for _, y in writer.sites
        # A clamp needs no node of its own: the codes of its result end where it does.
        if (node.name == y and (as_table or node.op_type not in quantization.CLAMPS))
        or node.name.startswith(f"{y}_")
    ]
    size = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value or 1
    inputs = quantization.batches(images, size)
    quantised = quantization.quantize(model, inputs, dtype=dtype, keep_float=keep)
    if as_table:
        quantised = quantization.look_up(quantised, activation, writer.sites, dtype)

    facts = {entry.key: entry.value for entry in model.metadata_props}
    facts |= {"dtype": dtype, "calibration": calibration}
    if data is not None:
        images, labels = data.load("test")
        facts["accuracy"] = weights.score(
            quantization.right(quantised, images, labels), len(images)
        )
    onnx.helper.set_model_props(quantised, facts)
    return quantised


def _dtype(activation: str, dtype: npt.DTypeLike) -> str:
    if dtype is None:  # which NumPy would take for float64
        raise TypeError("dtype must be a dtype or the name of one, not None")
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    entry = forms.ACTIVATIONS[one_of("activation", activation, forms.ACTIVATIONS)]
    if name not in (*entry.dtypes, *table.DTYPES):
        accepted = ", ".join(map(repr, (*entry.dtypes, *table.DTYPES)))
        raise ValueError(f"no {activation} of {name}: {entry.reason}; accepted: {accepted}")
    return name


def _shape(shape: Iterable[int | str]) -> tuple[int | str, ...]:
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise TypeError(f"shape must be a sequence of dimensions, not {shape!r}")
    return tuple(map(dimension, shape))
