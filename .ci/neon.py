"""Compiles the neon variant for AArch64 and compares its bits with those of this CPU's variants.

Usage: python neon.py SOURCE, with fastact installed and SOURCE the folder of setup.py. Wants
aarch64-linux-gnu-gcc and qemu-aarch64.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

import fastact

# Distances of the bit patterns: primes that leave a few hundred thousand values of each dtype.
STRIDES = {
    np.dtype(np.float16): 1,
    np.dtype(ml_dtypes.bfloat16): 1,
    np.dtype(np.float32): 10_007,
    np.dtype(np.float64): 30_000_000_000_011,
}


def flags(kernels: Path) -> list[str]:
    """Read what every C file is compiled with."""
    text = (kernels / "variants.mk").read_text()
    return re.search(r"^FASTACT_FLAGS = (.*)", text, flags=re.MULTILINE)[1].split()


def compile_driver(source: Path, program: Path) -> None:
    """Build neon.c with the kernels, statically linked, every warning an error."""
    kernels = source / "fastact" / "kernels"
    subprocess.run(
        [
            *("aarch64-linux-gnu-gcc", *flags(kernels), "-Wall", "-Wextra", "-Werror"),
            *("-static", "-DFASTACT_VARIANT=neon", f"-I{kernels}", "-o", program),
            *(kernels / "kernels.c", source / ".ci" / "neon.c"),
        ],
        check=True,
    )


def every_kind_of_bits(dtype: np.dtype) -> np.ndarray:
    """Return values of every exponent and both signs, subnormals, infinities and NaN."""
    size = 8 * dtype.itemsize
    count = -(-(2**size) // STRIDES[dtype])
    patterns = np.arange(count, dtype=np.uint64) * np.uint64(STRIDES[dtype])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    return np.concatenate([patterns.astype(f"u{dtype.itemsize}").view(dtype), special])


def main(source: Path) -> int:
    """Return the number of functions, dtypes and variants that differ."""
    # Those with a fused multiply-add return the same bits; the x86 baseline has its own bounds.
    variants = {name: ufuncs for name, ufuncs in fastact.variants.items() if name != "scalar"}
    if not variants:
        print("neon: this CPU has no variant to compare with")
        return 1
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "neon"
        compile_driver(source, program)
        for function in fastact.activations + fastact.derivatives:
            for dtype in STRIDES:
                x = every_kind_of_bits(dtype)
                command = ["qemu-aarch64", program, function, dtype.char]
                done = subprocess.run(command, input=x.tobytes(), capture_output=True, check=True)
                neon = np.frombuffer(done.stdout, dtype)
                bits = f"u{dtype.itemsize}"
                for name, ufuncs in variants.items():
                    here = getattr(ufuncs, function)(x)
                    same = (neon.view(bits) == here.view(bits)) | (np.isnan(neon) & np.isnan(here))
                    wrong = x[~same]
                    failures += bool(wrong.size)
                    found = f"differ at {wrong.size}, first {wrong[0]!r}" if wrong.size else "equal"
                    print(f"neon, {name:8}{function:15}{dtype.name:9}{x.size:8} values {found}")
    return failures


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
