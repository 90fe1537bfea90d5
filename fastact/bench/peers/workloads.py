"""What is measured: functions, dtypes, sizes, layouts and values, in groups that take turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .peer import Array

#: Elements: one call's cost, a row, the L1, L2 and L3 caches, and memory.
SIZES = (1, 16, 1_024, 65_536, 200_704, 1_048_576, 16_777_216)

#: Functions and dtypes that every peer is asked for.
TABLES = (
    ("gelu", "float32"),
    ("gelu_tanh", "float32"),
    ("relu", "float32"),
    ("gelu", "float64"),
    ("gelu", "float16"),
    ("relu", "float16"),
)

LAYOUTS = ("contiguous", "stride 2", "transposed")
VALUES = ("normal", "subnormal", "subnormal results")

_ALIGNMENT = 64


@dataclass(frozen=True)
class Workload:
    """A function and the array it is applied to.

    Parameters
    ----------
    function, dtype : str
        What is computed.
    n : int
        Elements.
    layout : str, optional
        One of `LAYOUTS`; the output is contiguous in all of them.
    values : str, optional
        One of `VALUES`.
    """

    function: str
    dtype: str
    n: int
    layout: str = "contiguous"
    values: str = "normal"

    def input(self) -> Array:
        """Make the input, aligned to 64 bytes.

        Returns
        -------
        ndarray
            Normally distributed numbers of standard deviation 2, or what `values` says.
        """
        rng = np.random.default_rng(7)
        step = 2 if self.layout == "stride 2" else 1
        x = aligned(self.n * step, self.dtype)
        if self.values == "normal":
            x[:] = rng.normal(scale=2.0, size=x.size)
        elif self.values == "subnormal":
            x[:] = rng.uniform(-1, 1, x.size) * float(np.finfo(x.dtype).tiny)
        else:  # whose GELU is a subnormal float32
            x[:] = rng.uniform(-13.9, -13.2, x.size)
        if self.layout == "transposed":
            rows = int(np.sqrt(self.n))
            while self.n % rows:
                rows -= 1
            return x.reshape(rows, -1).T
        return x[::step]


def aligned(n: int, dtype: str) -> Array:
    """Allocate an array whose first element lies on a cache line of its own.

    Parameters
    ----------
    n : int
        Elements.
    dtype : str
        Their dtype.

    Returns
    -------
    ndarray
        Zeros.

    Examples
    --------
    >>> aligned(3, "float32").ctypes.data % 64
    0
    """
    size = n * np.dtype(dtype).itemsize
    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype)


@dataclass(frozen=True)
class Group:
    """Workloads timed in turns, so that their ratios mean something.

    Parameters
    ----------
    kind : str
        ``peers``, ``layouts``, ``values`` or ``functions``.
    workloads : tuple of Workload
        What is timed, all of one dtype and size.
    ours : bool, optional
        Whether fastact alone is asked.
    """

    kind: str
    workloads: tuple[Workload, ...]
    ours: bool = False


def groups(sizes: tuple[int, ...] = SIZES) -> Iterator[Group]:
    """List everything that is measured.

    Parameters
    ----------
    sizes : tuple of int, optional
        Elements of the arrays of the peers' tables.

    Yields
    ------
    Group
        One after the other.
    """
    for function, dtype in TABLES:
        for n in sizes:
            yield Group("peers", (Workload(function, dtype, n),))
    for function in ("gelu", "relu"):
        plain = Workload(function, "float32", 200_704)
        yield Group("layouts", tuple(replace(plain, layout=layout) for layout in LAYOUTS))
    plain = Workload("gelu", "float32", 65_536)
    yield Group("values", tuple(replace(plain, values=values) for values in VALUES))
    for n in (1_048_576, 16_777_216):
        both = tuple(Workload(function, "float32", n) for function in ("relu", "gelu"))
        yield Group("functions", both, ours=True)
