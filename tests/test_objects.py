"""The built extension, disassembled: vector loops in every variant, and nowhere else."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

import fastact
from fastact import _core

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64",
        reason="knows the instructions of x86-64 in ELF objects",
    ),
    pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump of binutils"),
]

FUNCTIONS = fastact.activations + fastact.derivatives
VARIANTS = ("avx512", "avx2", "scalar")  # also those that this CPU cannot run
REGISTER = {"avx512": "zmm", "avx2": "ymm", "scalar": "xmm"}
FLOATS = ("float16", "bfloat16", "float32", "float64")

# What a loop must do a vector at a time: "choose" between x and constants, "divide" products or
# polynomials, "look up" coefficients where the instruction set can.
MUST = {
    "relu": "choose",
    "relu6": "choose",
    "gelu": "look up",
    "gelu_tanh": "divide",
    "gelu_quick": "divide",
    "silu": "divide",
    "hard_swish": "divide",
    "relu_grad": "choose",
    "gelu_grad": "divide",
    "gelu_tanh_grad": "divide",
}
COMPUTED_IN_FLOAT64 = {"gelu_grad", "gelu_tanh_grad"}


class Instruction(NamedTuple):
    name: str
    operands: str

    def __str__(self) -> str:
        return f"{self.name} {self.operands}".strip()


@cache
def functions() -> dict[str, list[Instruction]]:
    """Return the instructions of every function of the extension, by its symbol."""
    listing = subprocess.run(
        ["objdump", "--disassemble", "--no-show-raw-insn", _core.__file__],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: dict[str, list[Instruction]] = {}
    for line in listing.splitlines():
        if symbol := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            instructions = found.setdefault(symbol[1], [])
        elif parts := re.match(r" +[0-9a-f]+:\t(\S+) *(.*)", line):
            instructions.append(Instruction(parts[1], parts[2].partition("#")[0].strip()))
    return found


def kernels(variant: str) -> Iterator[str]:
    for name in FUNCTIONS:
        for dtype in FLOATS:
            yield f"{name}_{dtype}_{variant}"


def belongs_to(symbol: str) -> str | None:
    """Return the variant that a function is compiled for; compilers split off .cold, .part.0."""
    match = re.search(r"_(avx512|avx2|scalar)(\.[a-z0-9.]+)?$", symbol)
    return match[1] if match else None


def is_vex(instruction: Instruction) -> bool:
    """Whether it needs AVX or later: v..., and what takes the registers that came with it."""
    verifies = instruction.name in {"verr", "verw"}
    return (instruction.name.startswith("v") and not verifies) or bool(
        re.search(r"%[yz]mm|%[xyz]mm(1[6-9]|2\d|3[01])\b|%k[0-7]", instruction.operands)
    )


def calls(symbol: str) -> list[str]:
    """Return what a function calls."""
    operands = [i.operands for i in functions()[symbol] if i.name.startswith("call")]
    return [match[1] if (match := re.search(r"<(.+)>", o)) else o for o in operands]


def loops(symbol: str) -> list[str]:
    """Return the instructions of a kernel, and of what a 16-bit one calls in each block."""
    called = [other for other in calls(symbol) if other in functions()]
    return [str(i) for s in (symbol, *called) for i in functions()[s]]


def wanted(name: str, dtype: str, variant: str) -> list[str]:
    """Regular expressions of which each must match an instruction of the loop."""
    register = f"%{REGISTER[variant]}"
    v = "" if variant == "scalar" else "v"
    if dtype == "float16" and name in ("relu", "relu6"):  # a comparison of integers
        return [rf"{v}p(add|sub)w .*{register}", rf"{v}p(min|max|cmp|sub)[a-z]*w .*{register}"]
    patterns = []
    suffix = "pd" if dtype == "float64" or name in COMPUTED_IN_FLOAT64 else "ps"
    if dtype == "float16":
        # The baseline has no instruction that converts it.
        widen = rf"cvtph2ps .*{register}" if v else rf"mulps .*{register}"
        narrow = rf"cvtps2ph .*{register}" if v else rf"psrld .*{register}"
        patterns += [v + widen, v + narrow]
    elif dtype == "bfloat16":
        patterns += [rf"{v}psrld .*{register}"]
    if suffix == "pd" and dtype != "float64":
        patterns += [rf"{v}cvtps2pd .*{register}", rf"{v}cvtpd2ps"]
    fused = rf"vfn?m(add|sub)\d+{suffix} .*{register}"
    multiplies = rf"{v}mul{suffix} .*{register}"
    if MUST[name] == "choose":
        return [*patterns, rf"{v}(max|min|cmp[a-z_]*){suffix} .*{register}"]
    if variant == "scalar":
        return [*patterns, multiplies, f"addp.*{register}", f"div{suffix} .*{register}"]
    if MUST[name] == "look up" and dtype != "float64":
        return [*patterns, fused, multiplies, rf"vpermps .*{register}"]
    return [*patterns, fused, multiplies, rf"vdiv{suffix} .*{register}"]


def test_every_function_has_an_entry() -> None:
    assert list(MUST) == list(FUNCTIONS)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_loop_computes_in_vectors_of_its_width(name: str, dtype: str, variant: str) -> None:
    instructions = loops(f"{name}_{dtype}_{variant}")
    for pattern in wanted(name, dtype, variant):
        assert any(re.match(pattern, i) for i in instructions), f"no {pattern}"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_loop_calls_nothing(name: str, dtype: str, variant: str) -> None:
    # But for what a 16-bit kernel calls once in a block, and a copy of a block or of what is less
    # than a vector.
    allowed = {"memcpy@plt"}
    if dtype in ("float16", "bfloat16"):
        steps = (f"widen_{dtype}", f"{name}_float32", f"narrow_{dtype}")
        allowed.update(f"{step}_{variant}" for step in steps)
    assert set(calls(f"{name}_{dtype}_{variant}")) <= allowed


def test_avx2_has_no_wider_vector() -> None:
    for symbol, instructions in functions().items():
        if belongs_to(symbol) == "avx2":
            wider = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]")
            assert not [str(i) for i in instructions if wider.search(i.operands)], symbol


def test_the_baseline_and_everything_shared_need_no_avx() -> None:
    for symbol, instructions in functions().items():
        if belongs_to(symbol) in (None, "scalar"):
            assert not [str(i) for i in instructions if is_vex(i)], symbol


def test_the_sight_is_good() -> None:
    # The tests above would pass over an empty listing.
    assert len(functions()) > 100
    for variant in VARIANTS:
        assert set(kernels(variant)) <= set(functions())
        counts = [is_vex(i) for symbol in kernels(variant) for i in functions()[symbol]]
        assert any(counts) == (variant != "scalar")
    assert not any(belongs_to(s) for s in ("PyInit__core", "fastact_find_variants"))


# Of <math.h>, whether for float, double or long double.
LIBM = re.compile(
    r"(fma|erfc?|exp2?|expm1|log(1p|2|10|b)?|tanh?|sinh?|cosh?|pow|sqrt|fabs|fmax|fmin|ldexp|frexp"
    r"|scalbl?n|rint|nearbyint|l?lrint|round|trunc|floor|ceil|fmod|copysign"
    r"|fe[gs]etenv|fe[gs]etround|feholdexcept|feupdateenv|feclearexcept|feraiseexcept)[fl]?"
)


def test_nothing_is_called_in_libm() -> None:
    listing = subprocess.run(
        ["objdump", "--dynamic-syms", _core.__file__], capture_output=True, text=True, check=True
    ).stdout
    undefined = {
        line.split()[-1].partition("@")[0] for line in listing.splitlines() if "*UND*" in line
    }
    assert "PyModule_Create2" in undefined or "PyModuleDef_Init" in undefined
    assert not [name for name in undefined if LIBM.fullmatch(name)]
