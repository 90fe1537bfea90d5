"""Activations are found whatever their spelling, and nothing that only looks like one."""

from __future__ import annotations

import itertools
import re

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastact
from fastact.export import FORMS, activation
from fastact.export.elementwise import ACTIVATIONS, SAMPLES
from fastact.export.forms import lowest_opset
from fastact.export.sites import find

NEWEST = onnx.defs.onnx_opset_version()

# Names that start with c are constants: their value follows in CONSTANTS.
CONSTANTS = {
    "chalf": 0.5,
    "cone": 1.0,
    "ctwo": 2.0,
    "cthree": 3.0,
    "czero": 0.0,
    "csix": 6.0,
    "cthird": 1 / 6,
    "croot": 2.0**0.5,
    "cinverse": 0.5**0.5,
    "cscale": (2 / np.pi) ** 0.5,
    "cdouble": 2 * (2 / np.pi) ** 0.5,
    "ccube": 0.044715,
    "cquick": 1.702,
}

SPELLINGS = {
    "gelu": [
        "a = Div(x, croot) b = Erf(a) c = Add(b, cone) d = Mul(x, c) y = Mul(d, chalf)",
        "a = Div(x, croot) b = Erf(a) c = Add(cone, b) d = Mul(c, chalf) y = Mul(x, d)",
        "h = Mul(x, chalf) a = Div(x, croot) b = Erf(a) c = Add(b, cone) y = Mul(h, c)",
        "h = Div(x, ctwo) a = Mul(cinverse, x) b = Erf(a) c = Add(cone, b) y = Mul(c, h)",
        "a = Mul(x, cinverse) b = Erf(a) c = Add(b, cone) d = Mul(x, c) y = Div(d, ctwo)",
        # tf2onnx: the half inside, and a root computed in the graph
        "r = Sqrt(ctwo) a = Div(x, r) b = Erf(a) c = Add(b, cone) d = Mul(chalf, c) y = Mul(x, d)",
        "a = Mul(x, cinverse) b = Erf(a) c = Mul(b, chalf) d = Add(c, chalf) y = Mul(d, x)",
        "a = Mul(x, cinverse) b = Erf(a) c = Mul(b, x) d = Add(c, x) y = Mul(d, chalf)",
        "n = Neg(x) a = Mul(n, cinverse) b = Erf(a) c = Sub(cone, b) d = Mul(x, c) "
        "y = Mul(d, chalf)",
        "y = com.microsoft.Gelu(x)",
    ],
    "gelu_tanh": [
        "p = Pow(x, cthree) q = Mul(p, ccube) s = Add(x, q) u = Mul(s, cscale) t = Tanh(u) "
        "w = Add(t, cone) h = Mul(x, chalf) y = Mul(h, w)",
        "e = Mul(x, x) p = Mul(x, e) q = Mul(ccube, p) s = Add(q, x) u = Mul(cscale, s) "
        "t = Tanh(u) w = Add(cone, t) v = Mul(w, x) y = Mul(v, chalf)",
        "e = Mul(x, x) q = Mul(ccube, e) s = Add(cone, q) k = Mul(x, cscale) u = Mul(k, s) "
        "t = Tanh(u) w = Add(t, cone) v = Mul(w, chalf) y = Mul(x, v)",
        "e = Pow(x, ctwo) p = Mul(e, x) q = Mul(ccube, p) s = Add(q, x) u = Mul(cscale, s) "
        "t = Tanh(u) w = Add(cone, t) h = Div(x, ctwo) y = Mul(w, h)",
        "f = Mul(ccube, x) g = Mul(f, x) p = Mul(g, x) s = Add(x, p) u = Mul(cdouble, s) "
        "t = Sigmoid(u) y = Mul(x, t)",
        "y = com.microsoft.FastGelu(x)",
    ],
    "gelu_quick": [
        "a = Mul(x, cquick) b = Sigmoid(a) y = Mul(x, b)",
        "a = Mul(cquick, x) b = Sigmoid(a) y = Mul(b, x)",
        "n = Neg(x) a = Mul(cquick, n) b = Exp(a) c = Add(b, cone) y = Div(x, c)",
        "y = com.microsoft.QuickGelu<alpha = 1.702>(x)",
    ],
    "silu": [
        "a = Sigmoid(x) y = Mul(x, a)",
        "n = Neg(x) a = Exp(n) b = Add(cone, a) c = Reciprocal(b) y = Mul(c, x)",
        "y = com.microsoft.QuickGelu<alpha = 1.0>(x)",
    ],
    "relu": ["y = Relu(x)", "y = Max(x, czero)", "y = Clip(x, czero)"],
    "relu6": [
        "y = Clip(x, czero, csix)",
        "a = Max(x, czero) y = Min(a, csix)",
        "a = Relu(x) y = Min(csix, a)",
        "a = Relu(x) y = Clip(a, czero, csix)",
    ],
    "hard_swish": [
        "y = HardSwish(x)",
        "a = Add(x, cthree) b = Clip(a, czero, csix) c = Mul(x, b) y = Div(c, csix)",
        "a = Add(cthree, x) b = Clip(a, czero, csix) c = Div(b, csix) y = Mul(c, x)",
        "a = Add(x, cthree) b = Relu(a) c = Min(b, csix) d = Mul(c, cthird) y = Mul(x, d)",
        "a = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(a, x)",
    ],
}

# How a constant may come.
CARRIERS = ("initializer", "one element", "node", "identity", "cast")


def spell(text: str, carrier: str = "initializer", dtype: str = "float") -> onnx.ModelProto:
    """Make a model that computes y from x, with its constants brought in one way."""
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> '
        f"g ({dtype}[2, 91] x) => ({dtype}[2, 91] y) {{ {text} }}"
    )
    kind = model.graph.input[0].type.tensor_type.elem_type
    own = onnx.helper.tensor_dtype_to_np_dtype(kind)
    before = []
    for name in [name for name in CONSTANTS if re.search(rf"\b{name}\b", text)]:
        value = np.array(CONSTANTS[name], np.float64 if carrier == "cast" else own)
        if carrier in ("initializer", "one element"):
            shaped = value.reshape(1) if carrier == "one element" else value
            model.graph.initializer.append(onnx.numpy_helper.from_array(shaped, name))
            continue
        first = name if carrier == "node" else f"{name}_first"
        tensor = onnx.numpy_helper.from_array(value)
        before.append(onnx.helper.make_node("Constant", [], [first], value=tensor))
        if carrier == "identity":
            before.append(onnx.helper.make_node("Identity", [first], [name]))
        elif carrier == "cast":
            before.append(onnx.helper.make_node("Cast", [first], [name], to=kind))
    nodes = [*before, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.checker.check_model(model)
    return model


def found(model: onnx.ModelProto) -> list[tuple[str, str, str]]:
    return [(site.activation, site.x, site.y) for site in find(model)]


CASES = [(name, text) for name, texts in SPELLINGS.items() for text in texts]


@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(("name", "text"), CASES)
def test_every_spelling_is_found(name: str, text: str, carrier: str, dtype: str) -> None:
    assert found(spell(text, carrier, dtype)) == [(name, "x", "y")]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_x_and_y_are_the_nearest(name: str, text: str) -> None:
    around = re.sub(r"\bx\b", "inner", re.sub(r"\by\b", "z", text))
    model = spell(f"before = Mul(x, cthree) inner = Identity(before) {around} y = Mul(z, ctwo)")
    assert found(model) == [(name, "inner", "z")]


@pytest.mark.parametrize(
    "text",
    [
        # other constants
        "a = Div(x, cthree) b = Erf(a) c = Add(b, cone) d = Mul(x, c) y = Mul(d, chalf)",
        "a = Div(x, croot) b = Erf(a) c = Add(b, ctwo) d = Mul(x, c) y = Mul(d, chalf)",
        "a = Div(x, croot) b = Erf(a) c = Add(b, cone) y = Mul(x, c)",
        # x without the root, and of another value
        "b = Erf(x) c = Add(b, cone) d = Mul(x, c) y = Mul(d, chalf)",
        "o = Sin(x) a = Div(o, croot) b = Erf(a) c = Add(b, cone) d = Mul(x, c) y = Mul(d, chalf)",
        "o = Sin(x) b = Sigmoid(o) y = Mul(x, b)",
        # minus instead of plus
        "a = Div(x, croot) b = Erf(a) c = Sub(b, cone) d = Mul(x, c) y = Mul(d, chalf)",
        # a clip that is not 6, a shift that is not 3, a hard sigmoid of the default slope
        "y = Clip(x, czero, cthree)",
        "a = Add(x, ctwo) b = Clip(a, czero, csix) c = Mul(x, b) y = Mul(c, cthird)",
        "a = HardSigmoid(x) y = Mul(a, x)",
        "a = Sigmoid(x) y = Add(x, a)",
        "y = com.microsoft.QuickGelu<alpha = 1.6>(x)",
        # an integer in between cuts the values
        "i = Cast<to = 6>(x) f = Cast<to = 1>(i) s = Sigmoid(f) y = Mul(x, s)",
    ],
)
def test_what_only_looks_like_one_is_not_found(text: str) -> None:
    assert [name for name, _, y in found(spell(text)) if y == "y"] == []


@pytest.mark.parametrize(
    ("name", "constant", "value"),
    [
        ("gelu", "croot", 1.5),
        ("gelu", "croot", 1.4),
        ("gelu", "chalf", 0.501),
        ("gelu_tanh", "ccube", 0.04),
        ("gelu_tanh", "ccube", 0.0455),
        ("gelu_tanh", "cscale", 0.8),
        ("gelu_tanh", "cthree", 2.0),
        ("gelu_quick", "cquick", 1.7),
        ("gelu_quick", "cquick", 1.705),
        ("relu6", "csix", 6.1),
        ("hard_swish", "cthree", 3.01),
    ],
)
def test_a_constant_that_is_a_little_off_is_another_function(
    name: str, constant: str, value: float
) -> None:
    text = next(text for text in SPELLINGS[name] if constant in text)
    model = spell(text)
    for tensor in model.graph.initializer:
        if tensor.name == constant:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.float32(value), constant))
    assert name not in [site.activation for site in find(model)]


def test_an_initializer_that_a_user_may_override_is_no_constant() -> None:
    model = spell(SPELLINGS["gelu"][0])
    assert len(find(model)) == 1
    model.graph.input.append(onnx.helper.make_tensor_value_info("croot", 1, []))
    assert find(model) == []
    model.ir_version = 3  # where every initializer had to be an input
    assert len(find(model)) == 1


@pytest.mark.parametrize("op", ["BiasGelu", "FastGelu"])
def test_a_bias_inside_the_operator(op: str) -> None:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> '
        f"g (float[2, 4] x, float[4] b) => (float[2, 4] y) {{ y = com.microsoft.{op}(x, b) }}"
    )
    (site,) = find(model)
    assert (site.x, site.bias, site.form) == ("x", "b", "microsoft")
    assert site.activation == ("gelu" if op == "BiasGelu" else "gelu_tanh")


def test_a_value_plus_a_tensor_is_where_the_site_begins() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] a) => (float[2, 3] y) '
        "<float[3] bias = {1, 2, 3}> { x = Add(a, bias) s = Sigmoid(x) y = Mul(s, x) }"
    )
    assert found(model) == [("silu", "x", "y")]


@pytest.mark.parametrize("name", FORMS)
def test_what_is_exported_is_found_in_its_form(name: str) -> None:
    for form in FORMS[name]:
        for opset in {lowest_opset(name, form), 13, 17, 20, NEWEST}:
            if opset >= lowest_opset(name, form):
                (site,) = find(activation(name, form=form, opset=opset))
                assert (site.activation, site.form) == (name, form)


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("gelu", 0, "erf"),
        ("gelu", 1, "other"),
        ("gelu", 6, "mul"),
        ("gelu", 9, "microsoft"),
        ("gelu_tanh", 0, "pow"),
        ("gelu_tanh", 4, "other"),
        ("gelu_quick", 1, "quick"),
        ("silu", 0, "sigmoid"),
    ],
)
def test_the_form_is_told(name: str, text: int, form: str) -> None:
    (site,) = find(spell(SPELLINGS[name][text], "node"))
    assert site.form == form


def test_the_functions_are_those_of_the_kernels() -> None:
    assert set(ACTIVATIONS) == set(FORMS)
    assert set(fastact.activations) <= set(ACTIVATIONS)
    for name in fastact.activations:
        difference = np.abs(getattr(fastact, name)(SAMPLES) - ACTIVATIONS[name](SAMPLES))
        assert difference.max() < 1e-12


# ------------------------------------------------------------------- random spellings


class Writer:
    """Writes nodes, choosing the order of operands and how products are grouped."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.nodes: list[str] = []

    def node(self, op: str, *inputs: str) -> str:
        if op in ("Add", "Mul"):
            inputs = tuple(self.draw(st.permutations(inputs)))
        name = f"v{len(self.nodes)}"
        self.nodes.append(f"{name} = {op}({', '.join(inputs)})")
        for _ in range(self.draw(st.sampled_from([0, 0, 0, 1]))):
            self.nodes.append(f"{name}_i = Identity({name})")
            name = f"{name}_i"
        return name

    def product(self, *factors: str) -> str:
        left = list(self.draw(st.permutations(factors)))
        while len(left) > 1:
            i = self.draw(st.integers(0, len(left) - 2))
            left[i : i + 2] = [self.node("Mul", *left[i : i + 2])]
        return left[0]

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def exact(self) -> str:
        root = self.choose("div", "mul")
        inner = (
            self.node("Div", "x", "croot") if root == "div" else self.node("Mul", "x", "cinverse")
        )
        return self.gate(self.node("Erf", inner))

    def tanh(self) -> str:
        cube = self.choose("pow", "product", "outside")
        if cube == "outside":
            square = self.product("x", "x", "ccube")
            inner = self.product("x", "cscale", self.node("Add", square, "cone"))
        else:
            third = (
                self.product(self.node("Pow", "x", "cthree"), "ccube")
                if cube == "pow"
                else self.product("x", "x", "x", "ccube")
            )
            inner = self.product(self.node("Add", "x", third), "cscale")
        return self.gate(self.node("Tanh", inner))

    def gate(self, odd: str) -> str:
        """Write x/2 (1 + odd)."""
        how = self.choose("product", "quotient", "halves", "sum")
        if how == "halves":
            return self.product("x", self.node("Add", self.product(odd, "chalf"), "chalf"))
        if how == "sum":
            return self.product(self.node("Add", self.product("x", odd), "x"), "chalf")
        share = self.node("Add", odd, "cone")
        if how == "product":
            return self.product("x", share, "chalf")
        return self.node("Div", self.product("x", share), "ctwo")


@st.composite
def spellings(draw: st.DrawFn) -> tuple[str, str]:
    name = draw(st.sampled_from(["gelu", "gelu_tanh"]))
    writer = Writer(draw)
    last = writer.exact() if name == "gelu" else writer.tanh()
    text = " ".join(writer.nodes)
    return name, f"{text} t = Sin({last}) y = Identity(t)"


@settings(max_examples=150, deadline=None)
@given(case=spellings(), carrier=st.sampled_from(sorted(CARRIERS)))
def test_a_random_spelling_is_found(case: tuple[str, str], carrier: str) -> None:
    name, text = case
    (site,) = find(spell(text, carrier))
    assert (site.activation, site.x) == (name, "x")


def test_a_long_chain_is_no_trouble() -> None:
    names = [f"a{i}" for i in range(3000)]
    chain = " ".join(f"{b} = Mul({a}, chalf)" for a, b in itertools.pairwise(["x", *names]))
    assert found(spell(f"{chain} s = Sigmoid({names[-1]}) y = Mul({names[-1]}, s)")) == [
        ("silu", names[-1], "y")
    ]
