"""The constants of the kernels' headers: each is derived by coefficients.py, to the last bit."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

from fastact.kernels import coefficients

HEADERS = sorted((Path(__file__).parents[2] / "fastact" / "kernels").glob("*.h"))

# Defined by an expression of the format alone: the exponent's bias, a rounding shift, and a scale
# that keeps powers of two from being subnormal.
BY_EXPRESSION = {f"FLOAT{bits}_{name}" for bits in (32, 64) for name in ("ROUND", "SCALE")}


def defines() -> dict[str, str]:
    """Every macro and array element that is a constant, with its text as it stands."""
    text = "".join(header.read_text() for header in HEADERS)
    lines = re.findall(r"^#define (FLOAT\d+_\w+) (.+?)\s*(?:/\*.*)?$", text, re.MULTILINE)
    for name, shape, body in re.findall(
        r"^static const float (FLOAT\d+_\w+)((?:\[\d+\])+) = \{(.+?)\};", text, re.M | re.S
    ):
        sizes = tuple(map(int, re.findall(r"\d+", shape)))
        numbers = re.findall(r"[^\s,{}]+", body)
        assert len(numbers) == math.prod(sizes), f"{name} is not full"
        indices = ("".join(f"[{i}]" for i in index) for index in np.ndindex(sizes))
        lines += [(name + index, number) for index, number in zip(indices, numbers, strict=True)]
    assert len(lines) == len(dict(lines)), "defined twice"
    return dict(lines)


@pytest.fixture(scope="module")
def derived() -> dict[str, float]:
    return coefficients.constants()


def value(text: str) -> float:
    number = re.fullmatch(r"(-?(?:0x[0-9a-f.]+p[+-]?\d+|0x[0-9a-f]+$|\d+\.\d+))(f?)", text)
    assert number, f"not a number: {text}"
    digits = number[1]
    return float.fromhex(digits) if "0x" in digits else float(digits)


def test_every_derived_constant_stands_in_the_header(derived: dict[str, float]) -> None:
    header = defines()
    assert set(derived) <= set(header)
    for name, exact in derived.items():
        assert value(header[name]) == exact, f"{name} is {coefficients.c_literal(name, exact)}"


def test_every_constant_of_the_header_is_derived(derived: dict[str, float]) -> None:
    assert set(defines()) == set(derived) | BY_EXPRESSION


def test_every_constant_is_of_its_format(derived: dict[str, float]) -> None:
    for name, text in defines().items():
        if name in BY_EXPRESSION:
            continue
        single = name.startswith("FLOAT32")
        if name.endswith("_OFFSET"):
            assert value(text) < 2**23, "bits of the fraction"
            continue
        assert text.endswith("f") == single, name
        if single:
            assert float(np.float32(value(text))) == value(text), name
        assert value(coefficients.c_literal(name, derived[name])) == value(text)


def test_what_is_printed_is_what_the_header_says(
    derived: dict[str, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coefficients, "constants", lambda: derived)
    coefficients.main()
    printed = dict(line.split()[1:] for line in capsys.readouterr().out.splitlines())
    assert {name: value(text) for name, text in printed.items()} == derived


def test_the_header_has_the_arrays_of_the_table() -> None:
    names = defines()
    assert {f"FLOAT32_TABLE_CENTRE[{i}]" for i in range(8)} <= set(names)
    assert {f"FLOAT32_TABLE_P[{j}][{i}]" for i in range(8) for j in range(8)} <= set(names)


@pytest.mark.parametrize(("bits", "scale"), [(32, 40), (64, 100)])
def test_the_scale_is_that_of_the_exponents(bits: int, scale: int) -> None:
    suffix = "f" if bits == 32 else ""
    header = defines()
    assert header[f"FLOAT{bits}_SCALE"] == f"0x1p{scale}{suffix}"
    assert header[f"FLOAT{bits}_ROUND"].endswith(f" + {scale}.0{suffix})")
    if bits == 32:  # the table holds R, not 2 R, and the scale is taken back in it
        assert value(header["FLOAT32_TABLE_P[0][0]"]) == 2.0 ** -(scale + 1)


def test_the_index_of_the_table_begins_at_zero() -> None:
    header = defines()
    offset, shift = value(header["FLOAT32_TABLE_OFFSET"]), value(header["FLOAT32_TABLE_SHIFT"])
    slope, clamp = value(header["FLOAT32_TABLE_SCALE"]), value(header["FLOAT32_GELU_CLAMP"])
    w = np.array([shift, clamp * slope + shift], np.float32).view(np.uint32) - np.uint32(offset)
    assert (w >> 22 & 7).tolist() == [0, 7]


# x times the gate, for negative x, to leading order or better; t = -x.
TAILS = {
    "GELU": lambda t: t * mp.erfc(t / mp.sqrt(2)) / 2,
    "GELU_TANH": lambda t: t * mp.exp(-2 * mp.sqrt(2 / mp.pi) * (t + mp.mpf("0.044715") * t**3)),
    "GELU_QUICK": lambda t: t * mp.exp(-mp.mpf("1.702") * t),
    "SILU": lambda t: t * mp.exp(-t),
}


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.parametrize(("bits", "least"), [(32, -149), (64, -1074)])
def test_a_clamp_is_just_beyond_the_tail(name: str, bits: int, least: int) -> None:
    clamp = mp.mpf(value(defines()[f"FLOAT{bits}_{name}_CLAMP"]))
    half = mp.mpf(2) ** (least - 1)  # rounds to zero
    assert TAILS[name](clamp) < half < TAILS[name](clamp * mp.mpf("0.97"))
