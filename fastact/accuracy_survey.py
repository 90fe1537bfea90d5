"""A survey of every function, dtype and variant: the largest error found beside the promise.

>>> from fastact.accuracy_survey import survey
>>> survey(functions=["relu"], dtypes=["float16"]).exceeded
[]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, accuracy

DTYPES = ("float16", "bfloat16", "float32", "float64")

#: The header of `Survey.rows`.
COLUMNS = ("function", "dtype", "variants", "ULP found", "at", "promised", "at", "")

#: Distance of the bit patterns of float32 in a survey: a prime, so that all low bits are met.
STRIDE = 1_009

# float64 is compared with mpmath, which takes up to a third of a millisecond an element.
_FLOAT64_TAIL = 2_000
_FLOAT64_PATTERNS = 500

_EXACT_DTYPES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Entry:
    """One function, dtype and variant.

    Parameters
    ----------
    function, dtype, variant : str
        What was looked at.
    bound : Bound
        The largest error promised, and the input that attains it.
    found : Worst
        The largest error found, and where.
    values : int
        How many inputs were looked at.
    """

    function: str
    dtype: str
    variant: str
    bound: _core.Bound
    found: accuracy.Worst
    values: int

    @property
    def ok(self) -> bool:
        """Whether the promise was kept."""
        return self.found.ulp <= self.bound.max_ulp

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            Inputs that do not exist are None.
        """
        at = None if math.isnan(self.bound.at) else self.bound.at
        return {
            **{"function": self.function, "dtype": self.dtype, "variant": self.variant},
            **{"bound": self.bound.max_ulp, "bound_at": at},
            **{"ulp": self.found.ulp, "at": self.found.at, "values": self.values, "ok": self.ok},
        }


@dataclass(frozen=True)
class Survey:
    """What was found.

    Parameters
    ----------
    entries : list of Entry
        In the order of the registry.
    skipped : list of str
        Which dtypes could not be looked at, and why.
    """

    entries: list[Entry]
    skipped: list[str]

    @property
    def exceeded(self) -> list[Entry]:
        """The entries whose promise was not kept."""
        return [entry for entry in self.entries if not entry.ok]

    def rows(self) -> list[list[str]]:
        """Lay the entries out as cells, variants of the same error in one row.

        Returns
        -------
        list of list of str
            Function, dtype, variants, largest error found, its input, the error promised, its
            input, and ``ok`` or ``EXCEEDED``.
        """
        merged: dict[tuple[str, ...], list[str]] = {}
        for e in self.entries:
            found_at, bound_at = (
                "" if math.isnan(at) or ulp == 0 else f"{at:.9g}"
                for ulp, at in [(e.found.ulp, e.found.at), (e.bound.max_ulp, e.bound.at)]
            )
            numbers = (f"{e.found.ulp:.4f}", found_at, f"{e.bound.max_ulp:g}", bound_at)
            key = (e.function, e.dtype, *numbers, "ok" if e.ok else "EXCEEDED")
            merged.setdefault(key, []).append(e.variant)
        return [[*key[:2], ", ".join(names), *key[2:]] for key, names in merged.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            The fields.
        """
        return {"entries": [e.to_dict() for e in self.entries], "skipped": self.skipped}


def sample(function: str, dtype: str, stride: int = STRIDE) -> Iterator[accuracy.Floats]:
    """Choose the inputs to look at: all of a small dtype, some of a large one.

    Parameters
    ----------
    function : str
        A name in `fastact.activations` or `fastact.derivatives`; the inputs at which its largest
        errors are known to be come first.
    dtype : str
        One of `DTYPES`.
    stride : int, optional
        The distance of the bit patterns of float32.

    Yields
    ------
    ndarray
        Finite values, over every exponent of both signs; for float64 also along the tail.

    Raises
    ------
    ImportError
        If `dtype` is bfloat16 and ml_dtypes is not installed (extra ``test``).
    """
    bounds = [table[function][dtype] for table in _core.registry.values()]
    known = [bound.at for bound in bounds if not math.isnan(bound.at)]
    yield np.array([0.0, *known], next(accuracy.bit_patterns(dtype, chunk=1)).dtype)
    if dtype == "float64":
        far = (0x7FF << 52) // _FLOAT64_PATTERNS | 1
        yield np.concatenate(list(accuracy.bit_patterns(dtype, far)))
        yield np.linspace(-39.0, 9.0, _FLOAT64_TAIL)
    else:
        yield from accuracy.bit_patterns(dtype, 1 if dtype in _EXACT_DTYPES else stride)


def survey(
    *,
    functions: Sequence[str] = _core.activations + _core.derivatives,
    dtypes: Sequence[str] = DTYPES,
    stride: int = STRIDE,
    progress: Callable[[str, int, int], object] | None = None,
) -> Survey:
    """Look for the largest errors of every variant that this CPU runs.

    Parameters
    ----------
    functions : sequence of str, optional
        Names in `fastact.activations` and `fastact.derivatives`.
    dtypes : sequence of str, optional
        Some of `DTYPES`.
    stride : int, optional
        The distance of the bit patterns of float32.
    progress : callable, optional
        Called with (what is looked at, steps done, steps in all).

    Returns
    -------
    Survey
        An entry for each function, dtype and variant. A dtype that needs a package which is not
        installed is left out and named.
    """
    entries: list[Entry] = []
    skipped: dict[str, str] = {}
    pairs = [(function, dtype) for function in functions for dtype in dtypes]
    for done, (function, dtype) in enumerate(pairs):
        if progress is not None:
            progress(f"{function} {dtype}", done, len(pairs))
        if dtype not in skipped:
            try:
                entries += _look(function, dtype, stride)
            except ImportError as error:
                skipped[dtype] = f"{dtype}: {error}"
    if progress is not None:
        progress("done", len(pairs), len(pairs))
    return Survey(entries, list(skipped.values()))


def _look(function: str, dtype: str, stride: int) -> list[Entry]:
    """Look at one function and dtype in all variants, computing the exact values once."""
    bounds = {name: table[function][dtype] for name, table in _core.registry.items()}
    worst = {name: accuracy.Worst(-1.0, 0.0) for name in bounds}
    values = 0
    for x in sample(function, dtype, stride):
        exact = accuracy.reference(function, x)
        values += x.size
        for name, variant in _core.variants.items():
            error = accuracy.ulp_error(getattr(variant, function)(x), exact)
            i = int(np.argmax(error))
            if error[i] > worst[name].ulp:
                worst[name] = accuracy.Worst(float(error[i]), float(x[i]))
    return [Entry(function, dtype, name, bounds[name], worst[name], values) for name in bounds]
