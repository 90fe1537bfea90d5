"""Runs fastact on an emulated CPU without AVX, and compares the bits with this CPU's baseline.

Usage: python nehalem.py, with fastact and ml_dtypes installed. Wants qemu-x86_64.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import ml_dtypes  # noqa: F401 # registers bfloat16
import numpy as np
from neon import STRIDES, every_kind_of_bits

import fastact

# Intel's last before AVX; NumPy needs what it has.
EMULATOR = ["qemu-x86_64", "-cpu", "Nehalem"]
EVERY = 7  # as many values would take the emulator minutes


def print_digests() -> None:
    """Print the variants, the one in use, and a digest of the results of each loop."""
    print(*fastact.variants, "in use:", fastact.isa)
    for function in fastact.activations + fastact.derivatives:
        for dtype in STRIDES:
            x = every_kind_of_bits(dtype)[::EVERY]
            y = getattr(fastact, function)(x)
            y[np.isnan(y)] = np.nan
            print(f"{function:15}{dtype.name:9}{hashlib.sha256(y.tobytes()).hexdigest()}")


def digests(*emulator: str) -> list[str]:
    """Return what a process with the baseline prints."""
    # These would have OpenBLAS use another CPU's instructions.
    dropped = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    done = subprocess.run(
        [*emulator, sys.executable, __file__, "--digests"],
        env=kept if emulator else {**kept, "FASTACT_ISA": "scalar"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def main() -> int:
    """Return the number of loops that differ."""
    said, *emulated = digests(*EMULATOR)
    _, *here = digests()
    different = [line for line, other in zip(emulated, here, strict=True) if line != other]
    if said != "scalar in use: scalar":
        different.append(f"variants without AVX: {said}")
    print(*different or [f"baseline, CPU without AVX: all {len(here)} loops equal"], sep="\n")
    return len(different)


if __name__ == "__main__":
    sys.exit(print_digests() if "--digests" in sys.argv else main())
