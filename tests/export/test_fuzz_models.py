"""Damaged model files: refused with a reason, without a crash, a hang or much memory.

A short run has the same examples every time; `--hypothesis-profile long` draws many new ones.
"""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
import onnx
from google.protobuf.message import DecodeError
from hypothesis import event, given

from fastact.export import FORMS, activation, cnn

READERS: tuple[tuple[str, Any], ...] = (
    ("inspect", {}),
    ("rewrite", {"form": "erf", "opset": 18}),
    ("rewrite", {"target": "ncnn"}),
    ("command", ["inspect"]),
    ("command", ["rewrite", "rewritten.onnx", "--form", "op"]),
)

NESTED = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
g (float[2, 8] x, bool b) => (float[2, 8] y) <float half = {0.5}, float[8] w = {1,2,3,4,5,6,7,8}> {
    a = own.act(x)
    s = If (b) <then_branch = t () => (float[2, 8] c) { d = Add(a, w) c = Relu(d) },
                else_branch = e () => (float[2, 8] c) { d = Sigmoid(a) c = Mul(a, d) }>
    r = Constant <value = float {1.4142135}> ()
    q = Div(s, r) f = Erf(q) one = Constant <value_float = 1.0> ()
    p = Add(f, one) h = Mul(s, p) y = Mul(h, half)
}
<domain: "own", opset_import: ["": 17]> act (x) => (y) { t = Tanh(x) y = Mul(t, x) }"""


def bases() -> list[bytes]:
    """Every activation in every form, nested graphs and functions, a whole network."""
    models = [activation(name, form=form) for name in FORMS for form in FORMS[name]]
    models += [onnx.parser.parse_model(NESTED)] * 5 + [cnn("digits", "gelu", form="erf")]
    return [model.SerializeToString() for model in models]


BASES = bases()
NUMBERS = (0, 1, -1, 2, 7, 255, 2**16, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1)


def cut(data: bytearray, choose: random.Random) -> None:
    del data[choose.randrange(len(data) + 1) :]


def flip(data: bytearray, choose: random.Random) -> None:
    for _ in range(choose.randint(1, 4)):
        if data:
            data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)


def set_bytes(data: bytearray, choose: random.Random) -> None:
    """Put extreme bytes over some: the largest lengths and numbers of protobuf are such."""
    if data:
        start, count = choose.randrange(len(data)), choose.randint(1, 10)
        data[start : start + count] = bytes([choose.choice([0, 0x7F, 0x80, 0xFF])]) * count


def splice(data: bytearray, choose: random.Random) -> None:
    """Put a piece of a model, this one or another, somewhere."""
    source = choose.choice([bytes(data), *BASES])
    if source:
        start = choose.randrange(len(source))
        piece = source[start : start + choose.randint(1, 200)]
        place = choose.randrange(len(data) + 1)
        data[place : place + choose.choice([0, len(piece)])] = piece


def noise(data: bytearray, choose: random.Random) -> None:
    data[:] = choose.randbytes(choose.randint(0, 400))


def messages(message: Any) -> list[Any]:
    """List a protobuf message and all inside."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                found += messages(part)
    return found


def edit(data: bytearray, choose: random.Random) -> None:
    """Change one field of a valid message: another name, number, order or neighbour."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(bytes(data))
    except DecodeError:
        return
    everything = messages(model)
    strings = [
        text
        for part in everything
        for field, value in part.ListFields()
        if field.type == field.TYPE_STRING
        for text in ([value] if isinstance(value, str | bytes) else value)
        if isinstance(text, str)  # protobuf gives the bytes of what is no UTF-8
    ]
    message = choose.choice(everything)
    field = choose.choice(list(message.DESCRIPTOR.fields))
    try:
        value = getattr(message, field.name)
        if choose.random() < 0.2 and not (hasattr(value, "append") and len(value)):
            message.ClearField(field.name)
        elif field.message_type is not None:
            same = [part for part in everything if part.DESCRIPTOR is field.message_type]
            target = value.add() if hasattr(value, "add") else value
            if same:
                copy = type(target)()
                copy.CopyFrom(choose.choice(same))
                target.CopyFrom(copy)
        else:
            kind = field.cpp_type
            if kind == field.CPPTYPE_STRING:
                new: Any = choose.choice([*strings, "", "é", "a" * 999, "Relu", "Gelu", "If"])
                new = new.encode() if field.type == field.TYPE_BYTES else new
            elif kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
                new = choose.choice([0.0, -1.0, 1e38, float("inf"), float("nan")])
            else:
                new = choose.choice(NUMBERS)
            if not hasattr(value, "append"):
                setattr(message, field.name, new)
            elif len(value) and choose.random() < 0.8:
                value[choose.randrange(len(value))] = new
            else:
                value.append(new)
    except (ValueError, TypeError):  # not a number of that field
        return
    data[:] = model.SerializeToString()


def reorder(data: bytearray, choose: random.Random) -> None:
    """Remove, repeat or exchange an element, of which cycles may come."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(bytes(data))
    except DecodeError:
        return
    lists = [
        value
        for part in messages(model)
        for field, value in part.ListFields()
        if field.message_type is not None and not hasattr(value, "ListFields")
    ]
    if lists:
        parts = choose.choice(lists)
        at, other = choose.randrange(len(parts)), choose.randrange(len(parts))
        action = choose.randrange(3)
        if action == 0:
            del parts[at]
        elif action == 1:
            parts.add().CopyFrom(parts[at])
        else:
            kept = type(parts[at])()
            kept.CopyFrom(parts[at])
            parts[at].CopyFrom(parts[other])
            parts[other].CopyFrom(kept)
    data[:] = model.SerializeToString()


MUTATIONS = (cut, flip, set_bytes, splice, noise, *3 * (edit, edit, reorder))


@given(
    base=st.sampled_from(BASES),
    mutations=st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=6),
    seed=st.integers(0, 2**32),
    call=st.sampled_from(READERS),
)
def test_a_damaged_model(
    reader: Any, base: bytes, mutations: list[Any], seed: int, call: tuple[str, Any]
) -> None:
    data, choose = bytearray(base), random.Random(seed)
    for mutation in mutations:
        mutation(data, choose)
    answer = reader.ask(call[0], bytes(data), call[1])
    event(answer)
    assert answer in ("read", "refused")
