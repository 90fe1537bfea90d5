"""The inputs that a user's own model takes, and the sizes of their open dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from ...export import ModelError

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Dims = tuple[int | str, ...]  # sizes, and names of the open ones

# Types of numbers that NumPy has, as ONNX names them.
_NUMBERS = ("float16", "float", "double", "bool", "int8", "int16", "int32", "int64", "uint8",
            "uint16", "uint32", "uint64")  # fmt: skip

# The name of a dimension that has none.
_NAMELESS = "?"


@dataclass(frozen=True)
class Port:
    """An input of a model.

    Parameters
    ----------
    name : str
        Its name.
    dtype : numpy.dtype
        The type of its elements.
    dims : tuple of int or str, or None
        Its dimensions; None if even their number is open.
    """

    name: str
    dtype: np.dtype[Any]
    dims: Dims | None

    def __str__(self) -> str:
        dims = "of unknown shape" if self.dims is None else written(self.dims)
        return f"{self.name}: {self.dtype} {dims}"


def ports_of(model: onnx.ModelProto) -> list[Port]:
    """List the inputs of a model that have to be given.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Returns
    -------
    list of Port
        At least one.

    Raises
    ------
    ModelError
        If there is none, or one is no tensor of numbers.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    ports = [_port(port) for port in model.graph.input if port.name not in constants]
    if not ports:
        raise ModelError("the model has no input")
    return ports


def resolve(
    ports: Sequence[Port],
    shapes: Mapping[str, Sequence[int]],
    arrays: Mapping[str, Array],
) -> dict[str, Shape]:
    """Settle the shape of each input for one run.

    An open first dimension is the batch, and is 1. Any other one needs a size, from `shapes`,
    from the data, or from another input that names the same dimension.

    Parameters
    ----------
    ports : sequence of Port
        The inputs.
    shapes : mapping of str to sequence of int
        Whole shapes, the batch first, of any of them.
    arrays : mapping of str to ndarray
        Data for any of them, of the right number of dimensions.

    Returns
    -------
    dict of str to tuple of int
        The shape of each.

    Raises
    ------
    ValueError
        If a size is missing, or does not fit.
    """
    unknown = [name for name in shapes if name not in {port.name for port in ports}]
    if unknown:
        raise ValueError(f"the model has no input {unknown[0]!r}; it takes {listed(ports)}")
    given: dict[str, Dims] = {}
    named: dict[str, int] = {}
    for port in ports:
        given[port.name] = _given(port, shapes.get(port.name), arrays.get(port.name))
        for name, size in zip(port.dims or (), given[port.name], strict=False):
            if name != _NAMELESS and isinstance(name, str) and isinstance(size, int):
                if named.setdefault(name, size) == size:
                    continue
                raise ValueError(f"dimension {name!r} is both {named[name]} and {size}")

    sizes, missing = {}, []
    for port in ports:
        dims = [named.get(dim, dim) if isinstance(dim, str) else dim for dim in given[port.name]]
        if dims and isinstance(dims[0], str):
            dims[0] = 1
        sizes[port.name] = tuple(dim for dim in dims if isinstance(dim, int))
        if len(sizes[port.name]) < len(dims) or (port.dims is None and not dims):
            missing.append(port)
    if missing:
        advice = " ".join(f"--shape {port.name}={_example(port)}" for port in missing)
        raise ValueError(f"sizes are open in {listed(missing)}; give them, as in {advice}")
    return sizes


def parse_shapes(texts: Iterable[str]) -> dict[str, Shape]:
    """Read shapes as they are given on the command line.

    Parameters
    ----------
    texts : iterable of str
        Such as ``"image=1,3,224,224"``.

    Returns
    -------
    dict of str to tuple of int
        The shapes by name.

    Raises
    ------
    ValueError
        If a text is not of that kind, or a name comes twice.

    Examples
    --------
    >>> parse_shapes(["image=1,3,224,224"])
    {'image': (1, 3, 224, 224)}
    """
    shapes: dict[str, Shape] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")  # a name may have an = of its own
        try:
            shape = tuple(int(size) for size in sizes.split(","))
        except ValueError:
            shape = ()
        if not name or not shape or min(shape) < 1:
            raise ValueError(f"{text!r} is not NAME=SIZES, as in image=1,3,224,224")
        if name in shapes:
            raise ValueError(f"the shape of {name!r} is given twice")
        shapes[name] = shape
    return shapes


def listed(ports: Iterable[Port]) -> str:
    """Write inputs for a message.

    Parameters
    ----------
    ports : iterable of Port
        The inputs.

    Returns
    -------
    str
        Such as ``"image: float32 [batch, 3, 32, 32]"``.
    """
    return "; ".join(map(str, ports))


def written(dims: Iterable[int | str]) -> str:
    """Write a shape for a message.

    Parameters
    ----------
    dims : iterable of int or str
        Its dimensions.

    Returns
    -------
    str
        Such as ``"[batch, 3]"``.
    """
    return f"[{', '.join(map(str, dims))}]"


def _port(port: onnx.ValueInfoProto) -> Port:
    kind = port.type.WhichOneof("value")
    if kind != "tensor_type":
        raise ModelError(f"input {port.name!r} is no tensor but a {kind.removesuffix('_type')}")
    tensor = port.type.tensor_type
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    if kind not in _NUMBERS:
        raise ModelError(f"input {port.name!r} is {kind}; it must be one of {', '.join(_NUMBERS)}")
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if not tensor.HasField("shape"):
        return Port(port.name, dtype, None)
    # Some exporters write 0 or -1 for a size that is open.
    dims = (d.dim_value if d.dim_value > 0 else d.dim_param or _NAMELESS for d in tensor.shape.dim)
    return Port(port.name, dtype, tuple(dims))


def _given(port: Port, shape: Sequence[int] | None, array: Array | None) -> Dims:
    """Fill in what is given for the open dimensions of an input."""
    if shape is not None:
        fits = port.dims is None or (
            len(shape) == len(port.dims)
            and all(isinstance(d, str) or d == s for d, s in zip(port.dims, shape, strict=True))
        )
        if not fits:
            raise ValueError(f"shape {written(shape)} does not fit the input {port}")
        return tuple(shape)
    if array is None:
        return port.dims or ()
    dims = port.dims or (_NAMELESS,) * array.ndim
    found = zip(dims[1:], array.shape[1:], strict=True)
    return (*dims[:1], *(size if isinstance(dim, str) else dim for dim, size in found))


def _example(port: Port) -> str:
    dims = port.dims or (_NAMELESS, 3, _NAMELESS, _NAMELESS)
    size = 224 if len(dims) == 4 else 16
    first, *others = (dim if isinstance(dim, int) else None for dim in dims)
    return ",".join(map(str, [first or 1, *(dim or size for dim in others)]))
