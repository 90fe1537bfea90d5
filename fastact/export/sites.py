"""Finding the activations of a model by what they compute, whatever their spelling.

A site is a value x and a value y such that y, computed from x by elementwise operators and
constants alone, has the values of a known activation.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import onnx

from . import elementwise, forms
from .elementwise import ANCHORS, BIASED, LINKS, OPERATORS, SAMPLES, Array
from .scopes import Scope, scopes

# How far x is before the nonlinear operator, and y behind it, at most: a tanh form takes 5 steps
# before and 4 behind, and as many again if there is an Identity after each.
STEPS = 12
# How many values may be x, and how many y, at most: the nearest. A tanh form with an Identity
# after each step has 25 of its own; without a limit, hostile graphs would take hours.
WIDTH = 64
# Activations that may be a part of another one.
PARTS = ("relu", "relu6")


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
        numbers: dict[tuple[Any, ...], int] = {}
        expression = _expression(self.nodes, self.x, self.y, numbers)
        for form, spellings in forms.ACTIVATIONS[self.activation].forms.items():
            for opset in spellings:
                nodes = _written(self.activation, form, opset)
                if expression == _expression(nodes, "x", "y", numbers):
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


def _label(node: onnx.NodeProto) -> str:
    domain, kind = elementwise.key(node)
    return f"{domain}.{kind}" if domain else kind


def _expression(
    nodes: Iterable[onnx.NodeProto], x: str, y: str, numbers: dict[tuple[Any, ...], int]
) -> int:
    """Give a number to how y is made of x, by operators and operands, these in no order.

    What is made alike has the same number in `numbers`, which takes up new ones. (Nested tuples
    would grow as fast as 2^n where each value is used twice.)
    """
    constant = numbers.setdefault(("constant",), len(numbers))
    made = {x: numbers.setdefault(("x",), len(numbers))}
    for node in nodes:
        operands = sorted(made.get(name, constant) for name in node.input if name)
        if any(operand != constant for operand in operands):
            made[node.output[0]] = numbers.setdefault((_label(node), *operands), len(numbers))
    return made[y]


@functools.cache
def _written(activation: str, form: str, opset: int) -> tuple[onnx.NodeProto, ...]:
    nodes = forms.nodes(activation, form, opset, "x", "y")
    return tuple(onnx.parser.parse_graph(f"g (float x) => (float y) {{ {nodes} }}").node)


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

    starts: dict[str, dict[str, Array | None]] = {}
    for x in _before(scope, anchor.input):
        # What x is made of is out of reach, which also keeps the search short.
        starts[x] = {**dict.fromkeys(_before(scope, [x])), x: SAMPLES}
        if scope.evaluate(anchor.output[0], starts[x]) is None:
            del starts[x]
    found: dict[str, tuple[str, str]] = {}
    for y, (x, known) in itertools.product(_behind(scope, anchor), starts.items()):
        name = elementwise.name_of(scope.evaluate(y, known))
        # The nearest of each activation, lest an Identity or a Cast be taken in.
        if name is not None:
            found.setdefault(name, (x, y))
            if name not in PARTS:
                break
    if not found:
        return None
    # The last is the whole, such as the hard_swish behind the relu6 that it contains.
    name, (x, y) = list(found.items())[-1]
    return Site(name, x, y, None, _between(scope, x, y), anchor, scope)


def _before(scope: Scope, values: Iterable[str]) -> list[str]:
    """List values and those that they are made of without an anchor, the nearest first.

    Without an anchor, because the one at hand is the first of its site; and without constants.
    """
    near = [value for value in dict.fromkeys(values) if value and not scope.is_constant(value)]
    near = near[:WIDTH]
    known = list(near)
    for _ in range(STEPS):
        producers = [scope.producers[value] for value in near if value in scope.producers]
        near = [
            value
            for node in producers
            if elementwise.key(node) in LINKS
            for value in node.input
            if value and value not in known and not scope.is_constant(value)
        ]
        near = list(dict.fromkeys(near))[: WIDTH - len(known)]
        known += near
    return known


def _behind(scope: Scope, anchor: onnx.NodeProto) -> list[str]:
    """List the values that may be y, the nearest first."""
    near, known = [anchor.output[0]], {anchor.output[0]: 1}
    for _ in range(STEPS):
        found = []
        for value in near:
            for node in scope.consumers.get(value, ()):
                y, anchors = node.output[0], known[value] + (elementwise.key(node) in ANCHORS)
                # No spelling has more than two: the Max and the Min of a relu6.
                if elementwise.key(node) in OPERATORS and y not in known and anchors <= 2:
                    known[y] = anchors
                    found.append(y)
                    if len(known) == WIDTH:
                        return list(known)
        near = found
    return list(known)


def _between(scope: Scope, x: str, y: str) -> tuple[onnx.NodeProto, ...]:
    """Collect the nodes that make y of x, inputs before outputs."""
    nodes: dict[str, onnx.NodeProto] = {}
    waiting = [y]
    while waiting:
        value = waiting.pop()
        node = scope.producers.get(value)
        if value != x and node is not None and value not in nodes:
            nodes[value] = node
            waiting += node.input
    return tuple(nodes[value] for value in sorted(nodes, key=scope.order.__getitem__))
