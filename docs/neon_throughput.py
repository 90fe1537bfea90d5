"""Prints the table of docs/neon.md: cycles an element of the main loops on AArch64, as modelled.

Usage: python docs/neon_throughput.py. Wants aarch64-linux-gnu-gcc and llvm-mca (Debian's packages
gcc-aarch64-linux-gnu and llvm).

The kernels are compiled to assembly with the flags of variants.mk; of each kernel, the loop that
does the bulk of an array is taken, and llvm-mca runs it for a number of iterations on the model
that LLVM has of a CPU. All data is in the first-level cache there, and every branch predicted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "fastact" / "kernels"
COMPILER, ANALYSER = "aarch64-linux-gnu-gcc", "llvm-mca"
FUNCTIONS = {"relu_float32": 4, "gelu_float32": 4, "gelu_tanh_float32": 4, "gelu_float64": 8}
CPUS = ("cortex-a55", "cortex-a76", "apple-m1")
ITERATIONS = 400


class Loop(NamedTuple):
    """A loop's instructions, and how many bytes of results an iteration writes."""

    instructions: list[str]
    stored: int


def flags() -> list[str]:
    """Read what every C file is compiled with."""
    text = (KERNELS / "variants.mk").read_text()
    return re.search(r"^FASTACT_FLAGS = (.*)", text, re.MULTILINE)[1].split()


def assembly() -> str:
    """Compile the neon variant."""
    command = [COMPILER, *flags(), "-DFASTACT_VARIANT=neon", "-S", "-o", "-"]
    command.append(str(KERNELS / "kernels.c"))
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def body(listing: str, symbol: str) -> list[str]:
    """Return the instructions and labels of one function."""
    text = listing.partition(f"\n{symbol}:\n")[2].partition(f"\n\t.size\t{symbol},")[0]
    if not text:
        raise LookupError(f"no function {symbol}")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if re.match(r"\.L\d+:$|[^.#/]", line)]


def stored(instruction: str) -> int:
    """Count the bytes of a vector store, none for what is only put aside on the stack."""
    operation, _, operands = instruction.partition("\t")
    if "[sp" in operands:
        return 0
    registers = len(re.findall(r"\bq\d+", operands))
    return 16 * registers if operation in ("str", "stp") else 0


def main_loop(lines: list[str]) -> Loop:
    """Find the loop that writes most at a time: what is left over goes through smaller ones."""
    labels = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    loops = []
    for i, line in enumerate(lines):
        target = re.match(r"(?:b\.?\w+|cbn?z|tbn?z)\t.*?(\.L\d+)$", line)
        if target and labels[target[1]] < i:
            inside = lines[labels[target[1]] + 1 : i + 1]
            calls = any(instruction.startswith("bl\t") for instruction in inside)
            nested = any(instruction.endswith(":") for instruction in inside)
            if not calls and not nested:
                loops.append(Loop(inside, sum(map(stored, inside))))
    return max(loops, key=lambda loop: loop.stored)


def cycles(loop: Loop, cpu: str) -> float:
    """Let llvm-mca run the loop; return the cycles of one iteration."""
    command = [ANALYSER, "-mtriple=aarch64", f"-mcpu={cpu}", f"-iterations={ITERATIONS}"]
    code = "\n".join(loop.instructions) + "\n"
    done = subprocess.run(command, input=code, check=True, capture_output=True, text=True)
    total = re.search(r"^Total Cycles:\s+(\d+)$", done.stdout, flags=re.MULTILINE)
    if total is None:
        raise ValueError(f"{ANALYSER} reports no cycles for {cpu}")
    return int(total[1]) / ITERATIONS


def main() -> int:
    """Print the table in Markdown."""
    listing = assembly()
    print("| cycles an element | instructions | " + " | ".join(CPUS) + " |")
    print("|---|---:|" + len(CPUS) * "---:|")
    for name, itemsize in FUNCTIONS.items():
        loop = main_loop(body(listing, f"{name}_neon"))
        elements = loop.stored // itemsize
        cells = [f"{len(loop.instructions) / elements:.2f}"]
        cells += [f"{cycles(loop, cpu) / elements:.2f}" for cpu in CPUS]
        print(f"| {name}, {elements} at a time | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
