"""Every variant with a fused multiply-add returns the same bits, and those of bits.json.

After a change of the maths, ``python tests/test_bits.py`` writes bits.json again.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ml_dtypes  # noqa: F401  # NumPy learns bfloat16 from it
import numpy as np
import pytest

import fastact

FUNCTIONS = fastact.activations + fastact.derivatives
FLOATS = ("float16", "bfloat16", "float32", "float64")
WITHOUT_FMA = {"scalar"}
FMA = [name for name in fastact.variants if name not in WITHOUT_FMA]
TABLE = Path(__file__).with_name("bits.json")

# Prime, so that no bit of a pattern is the same throughout; over all patterns, NaNs too.
STRIDES = {"float16": 1, "bfloat16": 1, "float32": 1_009, "float64": 4_398_046_511_119}
CHUNK = 1 << 18


def patterns(dtype: str) -> Iterator[np.ndarray]:
    """Numbers of every sign, exponent and kind, in the order of their bit patterns."""
    itemsize = np.dtype(dtype).itemsize
    stride = STRIDES[dtype]
    count = -(-(1 << 8 * itemsize) // stride)
    for start in range(0, count, CHUNK):
        index = np.arange(start, min(start + CHUNK, count), dtype=np.uint64)
        yield (index * np.uint64(stride)).astype(f"u{itemsize}").view(dtype)


def digest(variant: str, name: str, dtype: str) -> str:
    """SHA-256 of the results, little-endian.

    NaNs count with their payload: a single operand of any operation is NaN, so which payload
    comes out is not left to the compiler.
    """
    function = getattr(fastact.variants[variant], name)
    sha = hashlib.sha256()
    for x in patterns(dtype):
        y = function(x).view(f"u{x.itemsize}")
        sha.update(y.astype(y.dtype.newbyteorder("<"), copy=False))
    return sha.hexdigest()


@pytest.mark.skipif(not FMA, reason="this CPU has no fused multiply-add")
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_bits_are_those_of_the_table(name: str, dtype: str) -> None:
    table = json.loads(TABLE.read_text())
    digests = {variant: digest(variant, name, dtype) for variant in FMA}
    assert len(set(digests.values())) == 1, f"variants differ: {digests}"
    assert digests[FMA[0]] == table.get(name, {}).get(dtype), (
        "if this change is wanted, write the table again: python tests/test_bits.py"
    )


def test_the_table_has_nothing_else() -> None:
    table = json.loads(TABLE.read_text())
    assert list(table) == list(FUNCTIONS)
    assert all(list(digests) == list(FLOATS) for digests in table.values())


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_best_variant_repeats_itself(name: str, dtype: str) -> None:
    # In another length and alignment, so that other parts of the loop meet each value.
    x = next(patterns(dtype))
    function = getattr(fastact, name)
    whole = function(x)
    for first, step in ((1, 97), (3, 1001)):
        parts = [function(x[i : i + step]) for i in range(first, x.size, step)]
        assert np.concatenate(parts).tobytes() == whole[first:].tobytes()


# The numbers that fesetround() takes: upward, downward, toward zero.
ROUNDING = {
    "x86_64": (0x800, 0x400, 0xC00),
    "aarch64": (0x400000, 0x800000, 0xC00000),
}.get(platform.machine(), ())

fenv = pytest.mark.skipif(
    sys.platform != "linux" or not ROUNDING, reason="knows <fenv.h> of Linux on x86-64 and AArch64"
)


def libm() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m"))


@contextmanager
def rounding(mode: int) -> Iterator[None]:
    assert libm().fesetround(mode) == 0
    try:
        yield
    finally:
        libm().fesetround(0)


@fenv
@pytest.mark.parametrize("mode", ROUNDING)
def test_the_rounding_of_the_caller_changes_nothing(name: str, variant: str, mode: int) -> None:
    function = getattr(fastact.variants[variant], name)
    tenth = np.float64(1) / np.float64(10)
    for dtype in FLOATS:
        x = next(patterns(dtype))[::5].copy()
        expected, y = function(x), np.empty_like(x)
        with rounding(mode):
            function(x, out=y)
            after = libm().fegetround()
            tenths = np.divide(np.float64([1, -1]), np.float64([10, 10]))
        assert y.tobytes() == expected.tobytes(), dtype
        assert after == mode
        assert not (tenths == [tenth, -tenth]).all(), "the mode was not in force: nothing is seen"


# fenv_t of x86-64: the state of the x87 unit, then MXCSR, in which two bits flush subnormals.
MXCSR = slice(28, 32)
FLUSH_TO_ZERO = 0x8040


@contextmanager
def flushing() -> Iterator[None]:
    saved = ctypes.create_string_buffer(32)
    libm().fegetenv(saved)
    changed = ctypes.create_string_buffer(saved.raw, 32)
    status = int.from_bytes(changed.raw[MXCSR], "little") | FLUSH_TO_ZERO
    changed[MXCSR] = status.to_bytes(4, "little")
    libm().fesetenv(changed)
    try:
        yield
    finally:
        libm().fesetenv(saved)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="knows the layout of fenv_t on x86-64 Linux",
)
def test_flush_to_zero_of_the_caller_changes_nothing(name: str, variant: str) -> None:
    function = getattr(fastact.variants[variant], name)
    subnormal = np.float32([1e-40])
    for dtype in FLOATS:
        x = next(patterns(dtype))  # begins with the subnormals
        expected, y = function(x), np.empty_like(x)
        with flushing():
            function(x, out=y)
            product = np.multiply(subnormal, np.float32([1]))
        assert y.tobytes() == expected.tobytes(), dtype
        assert product.tobytes() == bytes(4), "not flushed after the call: the mode was changed"
    assert np.multiply(subnormal, np.float32([1])) == subnormal


def write_table() -> None:
    """Write the digests of the best variant with a fused multiply-add."""
    table = {name: {dtype: digest(FMA[0], name, dtype) for dtype in FLOATS} for name in FUNCTIONS}
    TABLE.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    write_table()


def test_variants_with_fma_agree_on_float32(name: str, exhaustive: bool) -> None:
    # Blocks of neighbouring patterns, NaN and its payloads among them; --exhaustive takes all.
    block = np.arange(1 << 17, dtype=np.uint32)
    for start in range(0, 1 << 32, block.size * (1 if exhaustive else 499)):
        x = (block + np.uint32(start)).view(np.float32)
        results = {getattr(fastact.variants[isa], name)(x).tobytes() for isa in FMA}
        assert len(results) <= 1, f"from pattern {start:#010x} on"
