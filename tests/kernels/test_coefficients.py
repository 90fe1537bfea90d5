"""The constants of the kernels' headers: each is derived by coefficients.py, to the last bit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fastact.kernels import coefficients

HEADERS = sorted((Path(__file__).parents[2] / "fastact" / "kernels").glob("*.h"))

# Defined by an expression of the format alone: the exponent's bias, and a rounding shift.
BY_EXPRESSION = {"FLOAT32_ROUND", "FLOAT64_ROUND"}


def defines() -> dict[str, str]:
    """Every macro that names a constant, with its text as it stands."""
    text = "".join(header.read_text() for header in HEADERS)
    lines = re.findall(r"^#define (FLOAT\d+_\w+) (.+?)\s*(?:/\*.*)?$", text, re.MULTILINE)
    assert len(lines) == len(dict(lines)), "defined twice"
    return dict(lines)


@pytest.fixture(scope="module")
def derived() -> dict[str, float]:
    return coefficients.constants()


def value(text: str) -> float:
    number = re.fullmatch(r"(-?(?:0x[0-9a-f.]+p[+-]?\d+|\d+\.\d+))(f?)", text)
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
