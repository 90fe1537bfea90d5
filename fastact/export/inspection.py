"""Telling what is in a model: its size, its activations, and which runtimes run it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import onnx

from . import cost, sites
from .graph import lowest_ir
from .opsets import opset_of
from .rewriting import load
from .scopes import scopes
from .sites import Site
from .support import Support
from .targets import TARGETS

_ONNXRUNTIME = "onnxruntime>="
# What runtimes of `TARGETS` are known to make of a spelling that is no form of FORMS.
_MISREAD = {("ncnn", "pow"): "turns a tanh GELU spelled with Pow into the exact one"}
# Domains whose operators every build of onnxruntime has.
_BUILT_IN = ("com.microsoft", "ai.onnx.ml", "com.ms.")


@dataclass(frozen=True)
class Port:
    """An input or output: its name, element type, and sizes or names of its dimensions."""

    name: str
    type: str
    shape: tuple[int | str, ...] | None


@dataclass(frozen=True)
class Activation:
    """One activation that was found.

    Parameters
    ----------
    activation : str
        Which one.
    form : str
        A form of `FORMS`, or how else it is written: see `sites.Site`.
    operators : tuple of str
        Its operators in order.
    x, y : str
        The values it is between.
    node : str
        The name of the node that makes y.
    scope : str
        The subgraph or function it is in; "" is the main graph.
    elements : int or None
        Elements that go through it at batch 1; None if its shape is not known.
    between_quantised : bool
        Whether it computes in floats between two quantised values.
    """

    activation: str
    form: str
    operators: tuple[str, ...]
    x: str
    y: str
    node: str
    scope: str
    elements: int | None
    between_quantised: bool


@dataclass(frozen=True)
class Inspection:
    """What is in a model.

    Parameters
    ----------
    opsets : dict of str to int
        The version of each domain; "" is the default one.
    ir : int
        The IR version.
    producer : str
        What wrote the file.
    inputs, outputs : tuple of Port
        Its ends, initializers left out.
    nodes : int
        Those of the main graph, its subgraphs and the functions.
    functions : int
        Functions that the file defines itself.
    parameters : int
        Trained numbers.
    macs : int or None
        Multiply-accumulates at batch 1; None if a shape is not known.
    activations : tuple of Activation
        In the order of the graph.
    oldest_onnxruntime : str or None
        The oldest version that loads it, by opset and IR; None if the newest known does not.
    targets : dict of str to tuple of str
        For each runtime of `TARGETS` what stands in the way; nothing is known to if it is empty.
    """

    opsets: dict[str, int]
    ir: int
    producer: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: int
    functions: int
    parameters: int
    macs: int | None
    activations: tuple[Activation, ...]
    oldest_onnxruntime: str | None
    targets: dict[str, tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data.

        Returns
        -------
        dict
            For JSON, with the version of its layout under ``"schema"``.
        """
        return {"schema": 1, **asdict(self)}


def inspect(model: onnx.ModelProto | str | os.PathLike[str]) -> Inspection:
    """Tell what is in a model.

    Parameters
    ----------
    model : onnx.ModelProto or path-like
        The model, or its file.

    Returns
    -------
    Inspection
        Its facts.

    Raises
    ------
    TypeError
        If `model` is neither.
    ModelError
        If it is not valid.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> report = inspect(cnn("digits", "gelu", opset=17))
    >>> report.parameters, report.oldest_onnxruntime, report.targets["nnapi"]
    (14378, '1.15', ('has no Erf (conv1_gelu_erf and 2 more)',))
    >>> [(a.activation, a.form, a.elements) for a in report.activations][0]
    ('gelu', 'erf', 1024)
    """
    source, _ = load(model)
    found = sites.find(source)
    shapes = cost.shapes(source)
    try:
        macs = cost.macs(source)
    except ValueError:
        macs = None
    graph = source.graph
    constants = {tensor.name for tensor in graph.initializer}
    return Inspection(
        opsets={"" if e.domain == "ai.onnx" else e.domain: e.version for e in source.opset_import},
        ir=source.ir_version,
        producer=f"{source.producer_name} {source.producer_version}".strip(),
        inputs=tuple(_port(port) for port in graph.input if port.name not in constants),
        outputs=tuple(map(_port, graph.output)),
        nodes=sum(len(scope.body.node) for scope in scopes(source)),
        functions=len(source.functions),
        parameters=cost.parameters(source),
        macs=macs,
        activations=tuple(_activation(site, shapes) for site in found),
        oldest_onnxruntime=oldest_onnxruntime(opset_of(source), source.ir_version),
        targets={name: obstacles(source, found, name) for name in TARGETS},
    )


def oldest_onnxruntime(opset: int, ir: int) -> str | None:
    """Tell the oldest onnxruntime that loads a file, going by the versions that were run.

    Parameters
    ----------
    opset, ir : int
        The versions of the file.

    Returns
    -------
    str or None
        Such as "1.17"; "1.15" is the oldest known. None if the newest known does not.

    Examples
    --------
    >>> oldest_onnxruntime(20, 9), oldest_onnxruntime(18, 10)
    ('1.17', '1.18')
    """
    for name, row in TARGETS.items():
        newest = row.opset if name.startswith(_ONNXRUNTIME) else None
        if newest is not None and opset <= newest and ir <= lowest_ir(newest):
            return name.removeprefix(_ONNXRUNTIME)
    return None


def obstacles(model: onnx.ModelProto, found: Iterable[Site], name: str) -> tuple[str, ...]:
    """Tell what keeps a runtime from running a model right.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.
    found : iterable of Site
        Its activations.
    name : str
        The runtime: a key of `TARGETS`.

    Returns
    -------
    tuple of str
        A short sentence for each; none if nothing is known to stand in the way.
    """
    target = TARGETS[name]
    ways = []
    opset = opset_of(model)
    if target.opset is not None:
        if opset > target.opset:
            ways.append(f"reads opsets up to {target.opset}, the model has {opset}")
        if model.ir_version > lowest_ir(target.opset):
            ways.append(
                f"reads IR versions up to {lowest_ir(target.opset)}, "
                f"the model has {model.ir_version}"
            )
    makers: dict[tuple[str, str], list[str]] = {}
    functions = {(function.domain, function.name) for function in model.functions}
    for scope in scopes(model):
        for node in scope.body.node:
            key = ("" if node.domain == "ai.onnx" else node.domain, node.op_type)
            if key not in functions:
                makers.setdefault(key, []).append(node.name or node.output[0])
    for kind in target.missing(kind for domain, kind in makers if not domain):
        ways.append(f"has no {kind} ({_some(makers['', kind])})")
    for (domain, kind), names in makers.items():
        built_in = "onnxruntime " in target.runtime and domain.startswith(_BUILT_IN)
        if domain and not built_in:
            ways.append(f"has no {domain}.{kind} ({_some(names)})")
    for site in found:
        operators = [kind for kind in site.operators if "." not in kind]
        support, note = target.support(site.activation, site.form, operators)
        if support is Support.WRONG:
            ways.append(f"{note} ({site.activation} as {site.form!r}, {site.y})")
        if (name, site.form) in _MISREAD:
            ways.append(f"{_MISREAD[name, site.form]} ({site.y})")
    return tuple(dict.fromkeys(ways))


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _port(port: onnx.ValueInfoProto) -> Port:
    tensor = port.type.tensor_type
    if not port.type.HasField("tensor_type"):
        return Port(port.name, str(port.type.WhichOneof("value")).removesuffix("_type"), None)
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    if not tensor.HasField("shape"):
        return Port(port.name, kind, None)
    dims = tensor.shape.dim
    shape = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in dims)
    return Port(port.name, kind, shape)


def _activation(site: Site, shapes: dict[str, cost.Shape]) -> Activation:
    scope = site.scope
    before = scope.producers.get(site.x)
    behind = scope.consumers.get(site.y, [])
    return Activation(
        activation=site.activation,
        form=site.form,
        operators=tuple(site.operators),
        x=site.x,
        y=site.y,
        node=scope.producers[site.y].name,
        scope=scope.name,
        elements=math.prod(shapes[site.y]) if site.y in shapes else None,
        between_quantised=bool(
            before is not None
            and before.op_type == "DequantizeLinear"
            and behind
            and all(node.op_type == "QuantizeLinear" for node in behind)
        ),
    )
