"""Every length up to a few vectors, at every offset: nothing but the output is touched.

Run as a script, this file computes on arrays that touch memory it may not access.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes  # noqa: F401  # NumPy learns bfloat16 from it
import numpy as np
import pytest

import fastact

WIDEST = 64  # bytes in the widest vector, AVX-512
PROT_NONE = 0  # of <sys/mman.h>

CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype}")
    for name, bounds in fastact._core.registry[fastact.isa].items()
    for dtype in bounds
]


def values(dtype: str, count: int) -> np.ndarray:
    """Numbers of both signs, no two alike in a row, so that a shifted result is seen."""
    x = np.linspace(-7, 6.3, count)
    return (
        (x * 18 if "int" in dtype else x).astype("int8" if "int" in dtype else dtype).astype(dtype)
    )


def alone(function: np.ufunc, x: np.ndarray) -> np.ndarray:
    """Each element computed in an array of its own."""
    y = np.empty_like(x)
    for i in range(x.size):
        y[i : i + 1] = function(x[i : i + 1].copy())
    return y


def lengths(itemsize: int) -> range:
    return range(3 * WIDEST // itemsize + 2)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_length_at_every_offset(variant: str, name: str, dtype: str) -> None:
    function = getattr(fastact.variants[variant], name)
    itemsize = np.dtype(dtype).itemsize
    offsets = WIDEST // itemsize
    x = values(dtype, offsets + lengths(itemsize)[-1])
    single = alone(function, x)
    # Bytes that no result has, before and after the output.
    guarded = np.frombuffer(bytearray(b"\xa5" * (x.nbytes + 3 * WIDEST)), dtype)
    untouched = guarded.copy()
    for offset in range(offsets):
        first = 2 * offsets - offset  # so that input and output are aligned differently
        for n in lengths(itemsize):
            function(x[offset : offset + n], out=guarded[first : first + n])
            expected = untouched.copy()
            expected[first : first + n] = single[offset : offset + n]
            assert guarded.tobytes() == expected.tobytes(), (offset, n)
            guarded[:] = untouched


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_in_place(variant: str, name: str, dtype: str) -> None:
    function = getattr(fastact.variants[variant], name)
    x = values(dtype, lengths(np.dtype(dtype).itemsize)[-1])
    single = alone(function, x)
    for n in range(x.size + 1):
        y = x.copy()
        assert function(y[:n], out=y[:n]).base is y
        assert y[:n].tobytes() == single[:n].tobytes()
        assert y[n:].tobytes() == x[n:].tobytes()


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize(("x_step", "y_step"), [(2, 1), (1, 2), (-1, 1), (1, -1), (3, -2)])
def test_strided_across_blocks(
    variant: str, name: str, dtype: str, x_step: int, y_step: int
) -> None:
    # Strided data goes through blocks of 4096 bytes: one element less, as many, one more.
    function = getattr(fastact.variants[variant], name)
    block = 4096 // np.dtype(dtype).itemsize
    x = values(dtype, abs(x_step) * (2 * block + 1))
    contiguous = function(x)
    for n in (block - 1, block, block + 1, 2 * block - 1, 2 * block, 2 * block + 1):
        y = np.frombuffer(bytearray(b"\xa5" * (abs(y_step) * n + 2) * x.itemsize), dtype)
        expected = y.copy()
        source = np.s_[::x_step]
        target = slice(1, 1 + n * y_step, y_step) if y_step > 0 else slice(-y_step * n, 0, y_step)
        expected[target] = contiguous[source][:n]
        function(x[source][:n], out=y[target])
        assert y.tobytes() == expected.tobytes(), n


class Fenced:
    """Memory of one page, between two pages that may not be touched."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 3 * mmap.PAGESIZE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.page = np.frombuffer(self.memory, np.uint8)[mmap.PAGESIZE : 2 * mmap.PAGESIZE]
        self.protect(0, PROT_NONE)
        self.protect(2, PROT_NONE)

    def protect(self, page: int, access: int) -> None:
        mprotect = ctypes.CDLL(None, use_errno=True).mprotect
        mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if mprotect(self.address + page * mmap.PAGESIZE, mmap.PAGESIZE, access):
            raise OSError(ctypes.get_errno(), "mprotect")


def ends(items: np.ndarray, n: int) -> list[np.ndarray]:
    """Return the first and the last n of the items."""
    return [items[:n], items[items.size - n :]]


def run_beside_forbidden_pages() -> None:
    """Compute up to the last byte before, and from the first byte after, forbidden memory."""
    source, target = Fenced(), Fenced()
    for case in CASES:
        name, dtype = case.values
        page, target_page = source.page.view(dtype), target.page.view(dtype)
        source.protect(1, mmap.PROT_READ | mmap.PROT_WRITE)
        page[:] = values(dtype, page.size)
        source.protect(1, mmap.PROT_READ)
        for variant in fastact.variants.values():
            function = getattr(variant, name)
            expected = function(page.copy())
            # Beyond a few vectors, and around the blocks in which the 16-bit floats are computed.
            for n in (*range(201), *(n for n in (511, 512, 513) if n <= page.size)):
                sources = zip(ends(page, n), ends(expected, n), strict=True)
                for (x, wanted), y in itertools.product(sources, ends(target_page, n)):
                    function(x, out=y)
                    if y.tobytes() != wanted.tobytes():
                        raise SystemExit(f"wrong: {name} {dtype} {n}")
                    function(x[::-2], out=y[: (n + 1) // 2][::-1])  # through the block
                    y[:] = x
                    function(y, out=y)
                    if y.tobytes() != wanted.tobytes():
                        raise SystemExit(f"wrong in place: {name} {dtype} {n}")
    # Last: what it looks like when forbidden memory is touched.
    print("done", flush=True)
    ctypes.string_at(source.address + 2 * mmap.PAGESIZE, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="uses mprotect() of Linux")
def test_nothing_is_read_or_written_outside() -> None:
    # The script computes with the package that this test imports.
    package = str(Path(fastact.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
    )
    assert result.stdout == "done\n", (result.returncode, result.stdout, result.stderr)
    assert result.returncode < 0, "forbidden memory could be read: this test sees nothing"


if __name__ == "__main__":
    run_beside_forbidden_pages()
