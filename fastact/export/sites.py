"""Finding the activations of a model by what they compute, whatever their spelling.

A site is a value x and a value y such that y, computed from x by elementwise operators and
constants alone, has the values of a known activation.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from . import elementwise, forms
from .elementwise import ANCHORS, BIASED, OPERATORS, SAMPLES, Array

# How far x is before the nonlinear operator, and y behind it, at most: a tanh form takes 5 steps
# before and 4 behind, and as many again if there is an Identity after each.
STEPS = 12
# How far a value is computed back, which bounds the work where the model is not an activation.
DEPTH = 3 * STEPS


class Scope:
    """The nodes of one graph or function, and what is known of their values.

    Parameters
    ----------
    body : onnx.GraphProto or onnx.FunctionProto
        What holds the nodes.
    name : str
        How to tell a user where it is; "" is the main graph.
    parent : Scope, optional
        What is around a subgraph, whose values it sees too.
    overridable : set of str, optional
        Initializers that are inputs as well, so that their values are not certain.
    """

    def __init__(
        self,
        body: Any,
        name: str,
        parent: Scope | None = None,
        overridable: frozenset[str] = frozenset(),
    ) -> None:
        self.body = body
        self.name = name
        self.parent = parent
        self.producers: dict[str, onnx.NodeProto] = {}
        self.consumers: dict[str, list[onnx.NodeProto]] = {}
        self.initializers = {
            tensor.name: tensor
            for tensor in getattr(body, "initializer", ())
            if tensor.name not in overridable
        }
        for node in body.node:
            self.producers |= {output: node for output in node.output if output}
            for value in filter(None, dict.fromkeys(node.input)):
                self.consumers.setdefault(value, []).append(node)

    def uses(self) -> Counter[str]:
        """Count how often each value is used, by the subgraphs and as an output included."""
        return _uses(self.body)

    def evaluate(
        self, value: str, known: dict[str, Array | None], depth: int = DEPTH
    ) -> Array | None:
        """Compute a value from known ones and from constants; None if others are needed.

        `known` takes up the values on the way.
        """
        if value in known or depth == 0:
            return known.get(value)
        node = self.producers.get(value)
        if value in self.initializers:
            result = _scalar(self.initializers[value])
        elif node is None:
            result = self.parent.evaluate(value, known, depth) if self.parent else None
        elif node.op_type == "Constant":
            result = _constant(node)
        elif elementwise.key(node) not in OPERATORS:
            result = None
        else:
            inputs = [
                self.evaluate(name, known, depth - 1) if name else None for name in node.input
            ]
            if elementwise.key(node) in BIASED:
                inputs = inputs[:1]
            unknown = any(
                name and found is None for name, found in zip(node.input, inputs, strict=False)
            )
            result = None if unknown else elementwise.compute(node, inputs)
        known[value] = result
        return result


@dataclass(frozen=True)
class Site:
    """One activation in a model.

    Parameters
    ----------
    activation : str
        A key of `fastact.export.elementwise.ACTIVATIONS`.
    x, y : str
        The values it is between.
    bias : str or None
        A value that its one node adds to x first.
    nodes : tuple of onnx.NodeProto
        The nodes from x to y, those that only make constants included, in order.
    anchor : onnx.NodeProto
        The nonlinear one of them.
    scope : Scope
        Where it is.
    """

    activation: str
    x: str
    y: str
    bias: str | None
    nodes: tuple[onnx.NodeProto, ...] = field(repr=False)
    anchor: onnx.NodeProto = field(repr=False)
    scope: Scope = field(repr=False)

    @property
    def operators(self) -> list[str]:
        """The operators in order, without those that only make a constant."""
        dependent = {self.x}
        names = []
        for node in self.nodes:
            if dependent & {*node.input}:
                dependent |= {*node.output}
                names.append(_label(node))
        return names

    @property
    def form(self) -> str:
        """The form of `fastact.export.FORMS` that it is written in, or how else it is written.

        That is ``"microsoft"``, an operator of onnxruntime's own; ``"fused"``, part of one;
        ``"mul"``, the erf form with a product before the Erf; ``"pow"``, the tanh form with a
        Pow; or ``"other"``.
        """
        if self.anchor.domain:
            return "fused" if _fused(self.anchor) else "microsoft"
        expression = _expression(self.scope.producers, self.x, self.y)
        for form, spellings in forms.ACTIVATIONS[self.activation].forms.items():
            for opset in spellings:
                if expression == _expression(_written(self.activation, form, opset), "x", "y"):
                    return form
        operators = self.operators
        if "Erf" in operators and "Div" not in operators:
            return "mul"
        return "pow" if {"Tanh", "Pow"} <= {*operators} else "other"


def find(model: onnx.ModelProto) -> list[Site]:
    """Find every activation of a model, in its subgraphs and functions too.

    Parameters
    ----------
    model : onnx.ModelProto
        The model. It is not changed; the sites refer to its nodes.

    Returns
    -------
    list of Site
        In the order of their nodes, the main graph first. No two share their last node.

    Examples
    --------
    >>> from fastact.export import cnn
    >>> [(site.activation, site.x, site.y) for site in find(cnn("digits", "gelu"))][0]
    ('gelu', 'conv1', 'conv1_gelu')
    """
    return [site for scope in scopes(model) for site in _find(scope)]


def scopes(model: onnx.ModelProto) -> Iterator[Scope]:
    """Yield the main graph of a model, its subgraphs, and its functions.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Yields
    ------
    Scope
        An outer one before those inside.
    """
    # Before IR 4 every initializer had to be an input too, which said nothing.
    inputs = {port.name for port in model.graph.input} if model.ir_version >= 4 else set()
    yield from _nested(Scope(model.graph, "", overridable=frozenset(inputs)))
    for function in model.functions:
        name = f"function {function.domain}:{function.name}"
        yield from _nested(Scope(function, name))


def _nested(scope: Scope) -> Iterator[Scope]:
    yield scope
    for node in scope.body.node:
        for name, graph in subgraphs(node):
            where = f"{node.name or node.output[0]}.{name}"
            yield from _nested(Scope(graph, f"{scope.name} {where}".strip(), scope))


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """Yield the graphs inside a node and the names of the attributes that hold them.

    Parameters
    ----------
    node : onnx.NodeProto
        The node.

    Yields
    ------
    tuple of str and onnx.GraphProto
        Such as "then_branch" and its graph.
    """
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        for graph in attribute.graphs:
            yield attribute.name, graph


def _label(node: onnx.NodeProto) -> str:
    domain, kind = elementwise.key(node)
    return f"{domain}.{kind}" if domain else kind


def _expression(producers: dict[str, onnx.NodeProto], x: str, value: str) -> Any:
    """Write how a value is made of x: operators and operands, these in no order."""
    if value == x:
        return ("x",)
    node = producers.get(value)
    operands = [_expression(producers, x, name) for name in node.input if name] if node else []
    if node is None or all(operand == ("constant",) for operand in operands):
        return ("constant",)
    return (_label(node), *sorted(operands, key=repr))


@functools.cache
def _written(activation: str, form: str, opset: int) -> dict[str, onnx.NodeProto]:
    nodes = forms.nodes(activation, form, opset, "x", "y")
    graph = onnx.parser.parse_graph(f"g (float x) => (float y) {{ {nodes} }}")
    return {node.output[0]: node for node in graph.node}


def _fused(node: onnx.NodeProto) -> bool:
    """Tell whether it is a convolution or product of onnxruntime's that ends with a ReLU."""
    return node.domain.startswith("com.microsoft") and any(
        attribute.name == "activation" and attribute.s == b"Relu" for attribute in node.attribute
    )


def _find(scope: Scope) -> Iterator[Site]:
    taken: set[str] = set()
    for node in scope.body.node:
        if _fused(node):
            yield Site("relu", node.input[0], node.output[0], None, (node,), node, scope)
        elif elementwise.key(node) in ANCHORS and node.output[0] not in taken:
            site = _site(scope, node)
            if site is not None:
                taken |= {output for member in site.nodes for output in member.output}
                yield site


def _site(scope: Scope, anchor: onnx.NodeProto) -> Site | None:
    """Find the activation that a nonlinear operator is part of."""
    if elementwise.key(anchor) in BIASED:
        name = elementwise.name_of(elementwise.compute(anchor, [SAMPLES]))
        bias = (*anchor.input, "")[1] or None
        assert name is not None
        return Site(name, anchor.input[0], anchor.output[0], bias, (anchor,), anchor, scope)

    starts: dict[str, dict[str, Array | None]]
    starts = {x: {x: SAMPLES} for x in _before(scope, anchor)}
    found: dict[str, tuple[str, str]] = {}
    for y in _behind(scope, anchor):
        for x, known in starts.items():
            name = elementwise.name_of(scope.evaluate(y, known))
            # The nearest of each activation, lest an Identity or a Cast be taken in.
            if name is not None and name not in found:
                found[name] = x, y
    if not found:
        return None
    # The last is the whole: hard_swish is found behind the relu6 it contains.
    name, (x, y) = list(found.items())[-1]
    return Site(name, x, y, None, _between(scope, x, y), anchor, scope)


def _before(scope: Scope, anchor: onnx.NodeProto) -> list[str]:
    """List the values that may be x, the nearest first."""
    near = [value for value in dict.fromkeys(anchor.input) if value]
    known = list(near)
    for _ in range(STEPS):
        producers = [scope.producers[value] for value in near if value in scope.producers]
        near = [
            value
            for node in producers
            if elementwise.key(node) in OPERATORS
            for value in node.input
            if value and value not in known
        ]
        known += dict.fromkeys(near)
    return [value for value in known if scope.evaluate(value, {}) is None]


def _behind(scope: Scope, anchor: onnx.NodeProto) -> list[str]:
    """List the values that may be y, the nearest first."""
    near = [anchor.output[0]]
    known = list(near)
    for _ in range(STEPS):
        nodes = [node for value in near for node in scope.consumers.get(value, ())]
        near = [
            node.output[0]
            for node in nodes
            if elementwise.key(node) in OPERATORS and node.output[0] not in known
        ]
        known += dict.fromkeys(near)
    return known


def _between(scope: Scope, x: str, y: str) -> tuple[onnx.NodeProto, ...]:
    """Collect the nodes that make y of x, inputs before outputs."""
    nodes: dict[str, onnx.NodeProto] = {}

    def visit(value: str) -> None:
        node = scope.producers.get(value)
        if value != x and node is not None and value not in nodes:
            for name in node.input:
                visit(name)
            nodes[value] = node

    visit(y)
    return tuple(nodes.values())


def _scalar(tensor: onnx.TensorProto) -> Array | None:
    """Read a constant that has one element and adds no dimension worth the name."""
    if list(tensor.dims) not in ([], [1], [1, 1], [1, 1, 1], [1, 1, 1, 1]):
        return None
    if onnx.external_data_helper.uses_external_data(tensor):
        return None
    try:
        return np.asarray(onnx.numpy_helper.to_array(tensor), np.float64).reshape(())
    except (TypeError, ValueError):  # strings
        return None


def _constant(node: onnx.NodeProto) -> Array | None:
    attribute = node.attribute[0]
    if attribute.name == "value":
        return _scalar(attribute.t)
    if attribute.name in ("value_float", "value_int"):
        return np.asarray(onnx.helper.get_attribute_value(attribute), np.float64)
    if attribute.name in ("value_floats", "value_ints"):
        values = np.asarray(onnx.helper.get_attribute_value(attribute), np.float64)
        return values.reshape(()) if values.size == 1 else None
    return None


def _uses(body: Any) -> Counter[str]:
    counts = Counter(value for node in body.node for value in node.input if value)
    outputs = body.output
    counts.update(port if isinstance(port, str) else port.name for port in outputs)
    for node in body.node:
        for _, graph in subgraphs(node):
            counts.update(_uses(graph))
    return counts
