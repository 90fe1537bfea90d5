"""Models made to take time or memory: read or refused in seconds, with a gigabyte."""

from __future__ import annotations

import itertools
from typing import Any

import onnx
import pytest

GELU = "q = Div(z, r) e = Erf(q) p = Add(e, one) m = Mul(z, p) y = Mul(m, half)"


def model(
    nodes: str, functions: str = "", shape: str = "1,8", opset: int = 17, more: str = ""
) -> bytes:
    """Write a model of a value z and a GELU of it."""
    text = (
        f'<ir_version: 8, opset_import: ["": {opset}, "own": 1]> '
        f"g (float[{shape}] x) => (float[{shape}] y) "
        f"<float r = {{1.4142135}}, float one = {{1}}, float half = {{0.5}}{more}> "
        f"{{ {nodes} {GELU} }} {functions}"
    )
    return onnx.parser.parse_model(text).SerializeToString()


def chain(step: str, n: int, first: str = "x", last: str = "z") -> str:
    """Write n nodes, each of the one before, which is the @ of `step`."""
    names = [first, *(f"{last}{i}" for i in range(1, n)), last]
    pairs = itertools.pairwise(names)
    return " ".join(f"{after} = {step.replace('@', before)}" for before, after in pairs)


def each(step: str, n: int) -> str:
    return " ".join(step.replace("#", str(i)) for i in range(n))


def function(name: str, body: str) -> str:
    return f'<domain: "own", opset_import: ["": 17, "own": 1]> {name} (x) => (y) {{ {body} }}'


def names(prefix: str, n: int) -> str:
    return ", ".join(f"{prefix}{i}" for i in range(n))


def mesh(width: int, depth: int) -> str:
    """Write layers of sums of every value of the layer before."""
    layers = [each("a0_# = Identity(x)", width)]
    for i in range(1, depth):
        layers.append(each(f"a{i}_# = Sum({names(f'a{i - 1}_', width)})", width))
    return " ".join(layers) + f" z = Sum({names(f'a{depth - 1}_', width)})"


BRANCH = "t () => (float[1, 8] c)"


def nested(depth: int) -> str:
    """Write conditions inside each other."""
    inner = "c = Relu(x)"
    for _ in range(depth):
        branches = f"then_branch = {BRANCH} {{ {inner} }}, else_branch = {BRANCH} {{ c = Abs(x) }}"
        inner = f"c = If (b) <{branches}>"
    return f"b = Constant <value = bool {{1}}> () {inner} z = Identity(c)"


def without_output(nodes: str) -> bytes:
    result = onnx.load_model_from_string(model(nodes))
    del result.graph.node[0].output[:]
    return result.SerializeToString()


TWICE = "t = own.f{0}(x) y = own.f{0}(t)"
HOSTILE = {
    "a chain": lambda: model(chain("Relu(@)", 2000)),
    "a chain of links": lambda: model(chain("Add(@, one)", 2000)),
    "a chain of constants": lambda: model(
        chain("Mul(@, one)", 2000, "one", "k") + " z = Mul(x, k)"
    ),
    "every value used twice": lambda: model(chain("Add(@, @)", 2000)),
    "every value used twice, then a GELU of it": lambda: model(
        chain("Add(@, @)", 10) + " d = Mul(m, half)"
    ),
    "constants used twice": lambda: model(chain("Mul(@, @)", 30, "one", "k") + " z = Mul(x, k)"),
    "a wide sum": lambda: model(each("a# = Mul(x, one)", 1000) + f" z = Sum({names('a', 1000)})"),
    "wide sums around many": lambda: model(
        f"{each('a# = Mul(x, one)', 200)} s = Sum({names('a', 200)}) "
        f"{each('b# = Relu(s)', 200)} z = Sum({names('b', 200)})"
    ),
    "a mesh": lambda: model(mesh(8, 12)),
    "conditions in conditions": lambda: model(nested(20)),
    "a function of itself": lambda: model("z = own.f(x)", function("f", "y = own.f(x)")),
    "functions of each other": lambda: model(
        "z = own.f(x)", function("f", "y = own.g(x)") + function("g", "y = own.f(x)")
    ),
    "functions that call twice": lambda: model(
        "z = own.f40(x)",
        function("f0", "y = Relu(x)")
        + " ".join(function(f"f{i + 1}", TWICE.format(i)) for i in range(40)),
    ),
    "a call with too many arguments": lambda: model(
        "z = own.f(x, x)", function("f", "y = Relu(x)")
    ),
    "a cycle": lambda: model("z = Add(x, y)"),
    "a cycle in a function": lambda: model(
        "z = own.f(x)", function("f", "a = Add(x, b) b = Sigmoid(a) y = Mul(a, b)")
    ),
    "a node without an output": lambda: without_output("s = own.Sink(x) z = Relu(x)"),
    "a constant that is none": lambda: model("k = own.Constant() z = Mul(x, k)"),
    "a huge input": lambda: model("z = Relu(x)", shape=str(2**40)),
    "an input of too many elements": lambda: model("z = Relu(x)", shape=f"{2**40}, {2**40}"),
    "an input of 300 dimensions": lambda: model("z = Relu(x)", shape=", ".join(["1"] * 300)),
    "a huge array": lambda: model(
        "k = ConstantOfShape(n) s = ReduceSum<keepdims = 0>(k) z = Add(x, s)",
        more=f", int64[1] n = {{{2**40}}}",
    ),
    "a huge range": lambda: model(
        "k = Range(from, to, by) f = Cast<to = 1>(k) s = ReduceSum<keepdims = 0>(f) z = Add(x, s)",
        more=f", int64 from = {{0}}, int64 to = {{{2**33}}}, int64 by = {{1}}",
    ),
    "an opset of the future": lambda: model("z = Relu(x)", opset=2**40),
    "opset 0": lambda: model("z = Relu(x)", opset=0),
}


@pytest.mark.parametrize("call", [("inspect", {}), ("rewrite", {"target": "ncnn"})], ids=str)
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_model(reader: Any, what: str, call: tuple[str, Any]) -> None:
    function, options = call
    assert reader.ask(function, HOSTILE[what](), options) in ("read", "refused")
