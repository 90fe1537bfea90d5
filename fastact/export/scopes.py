"""The graphs and functions of a model: who makes a value, who uses it, what is constant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from . import elementwise
from .elementwise import BIASED, OPERATORS, Array

# How far a value is computed back, and from how many inputs of a node, at most. This bounds the
# work in long chains and in sums of thousands; no spelling of an activation comes near.
DEPTH = 36
INPUTS = 8


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
        self._constants: dict[str, Array | None] = {}
        self.producers: dict[str, onnx.NodeProto] = {}
        self.order: dict[str, int] = {}
        self.consumers: dict[str, list[onnx.NodeProto]] = {}
        self.initializers = {
            tensor.name: tensor
            for tensor in getattr(body, "initializer", ())
            if tensor.name not in overridable
        }
        for position, node in enumerate(body.node):
            for value in filter(None, node.output):
                self.producers[value] = node
                self.order[value] = position
            for value in filter(None, dict.fromkeys(node.input)):
                self.consumers.setdefault(value, []).append(node)

    def uses(self) -> Counter[str]:
        """Count how often each value is used, by the subgraphs and as an output included."""
        return _uses(self.body)

    def is_constant(self, value: str) -> bool:
        """Tell whether a value depends on constants alone."""
        return self.evaluate(value, self._constants) is not None

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
        elif elementwise.key(node) == ("", "Constant"):
            result = _constant(node)
        elif elementwise.key(node) not in OPERATORS:
            result = None
        else:
            result = self._compute(node, known, depth - 1)
        known[value] = result
        return result

    def _compute(
        self, node: onnx.NodeProto, known: dict[str, Array | None], depth: int
    ) -> Array | None:
        if len(node.input) > INPUTS:
            return None
        inputs: list[Array | None] = []
        # The bias, of those that have one, is not part of the function.
        for name in node.input[:1] if elementwise.key(node) in BIASED else node.input:
            found = self.evaluate(name, known, depth) if name else None
            if name and found is None:
                return None
            inputs.append(found)
        return elementwise.compute(node, inputs)


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
    attribute = next(iter(node.attribute), onnx.AttributeProto())
    if attribute.ref_attr_name:  # that of the function around it
        return None
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
