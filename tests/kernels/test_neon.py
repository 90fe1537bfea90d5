"""The neon variant, cross-compiled and disassembled: its loops are vector code."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import fastact

COMPILER, DISASSEMBLER = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump"
MISSING = [tool for tool in (COMPILER, DISASSEMBLER) if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "fastact" / "kernels"
FUNCTIONS = fastact.activations + fastact.derivatives
HALVES = ("float16", "bfloat16")

# Of 16 bytes each: four float32, two float64.
CHOOSE = [r"fcm\w+ v\d+\.(4s|2d)"]
DIVIDE = [r"fml[as] v\d+\.(4s|2d)", r"fdiv v\d+\.(4s|2d)"]
MUST = {"relu": CHOOSE, "relu6": CHOOSE, "relu_grad": CHOOSE}
LOOK_UP = [r"fmla v\d+\.4s", r"fmls v\d+\.4s", r"tbl v\d+\.16b, \{v\d+\.16b, v\d+\.16b\}"]


def flags() -> list[str]:
    """Return what every C file is compiled with."""
    found = re.search(r"^FASTACT_FLAGS = (.*)", (KERNELS / "variants.mk").read_text(), re.MULTILINE)
    assert found
    return found[1].split()


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the instructions of every function, by its symbol."""
    target = tmp_path_factory.mktemp("neon") / "kernels.o"
    subprocess.run(
        [
            *(COMPILER, *flags(), "-Wall", "-Wextra", "-Werror"),
            *("-DFASTACT_VARIANT=neon", "-c", KERNELS / "kernels.c", "-o", target),
        ],
        check=True,
    )
    listing = subprocess.run(
        [DISASSEMBLER, "--disassemble", "--reloc", "--no-show-raw-insn", target],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: dict[str, list[str]] = {}
    for line in listing.splitlines():
        if symbol := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            instructions = found.setdefault(symbol[1], [])
        elif parts := re.match(r"\s+[0-9a-f]+:\s+(.+)", line):
            instructions.append(re.sub(r"\s+", " ", parts[1]))
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_computes_in_vectors(functions: dict[str, list[str]], name: str, dtype: str) -> None:
    instructions = functions[f"{name}_{dtype}_neon"]
    patterns = LOOK_UP if (name, dtype) == ("gelu", "float32") else MUST.get(name, DIVIDE)
    for pattern in patterns:
        assert any(re.match(pattern, i) for i in instructions), f"no {pattern}"


@pytest.mark.parametrize("dtype", HALVES)
def test_16_bits_are_converted_in_vectors(
    functions: dict[str, list[str]], name: str, dtype: str
) -> None:
    steps = (f"{name}_{dtype}_neon", f"widen_{dtype}_neon", f"narrow_{dtype}_neon")
    instructions = [i for step in steps for i in functions.get(step, [])]
    patterns = {
        "float16": [r"fcvtl v\d+\.4s, v\d+\.4h", r"fcvtn v\d+\.4h, v\d+\.4s"],
        "bfloat16": [r"shll2? v\d+\.4s", r"(sub|add)hn2? v\d+\.|shrn2? v\d+\.4h|ushr v\d+\.4s"],
    }[dtype]
    if (name, dtype) in {("relu", "float16"), ("relu6", "float16")}:
        patterns = [r"cm\w+ v\d+\.8h"]  # a comparison of integers
    for pattern in patterns:
        assert any(re.match(pattern, i) for i in instructions), f"no {pattern}"


def test_nothing_is_called_but_the_kernels_and_a_copy(functions: dict[str, list[str]]) -> None:
    called = {
        match[1]
        for instructions in functions.values()
        for i in instructions
        if (match := re.match(r"R_AARCH64_(?:CALL|JUMP)26 ([^+ ]+)", i))
    }
    kernels = {f"{name}_float32_neon" for name in FUNCTIONS}
    steps = {f"{step}_{dtype}_neon" for step in ("widen", "narrow") for dtype in HALVES}
    assert called <= kernels | steps | {"memcpy"}


def test_every_function_is_there(functions: dict[str, list[str]]) -> None:
    dtypes = (*HALVES, "float32", "float64")
    assert {f"{name}_{dtype}_neon" for name in FUNCTIONS for dtype in dtypes} <= set(functions)
