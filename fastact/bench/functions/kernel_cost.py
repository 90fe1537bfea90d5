"""What the kernels cost for each element: of arrays in the first cache, and of ever larger ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ... import activations as registered
from ... import isa, variants
from ..peers.workloads import aligned
from .caches import Caches
from .kernel_timing import one_thread, time_kernels

#: Version of the data that `KernelCosts.to_dict` returns; raised when a field changes.
SCHEMA = 1

#: The first size, the factor between sizes, and the last one that is measured by default.
SMALLEST, FACTOR, LARGEST = 64, 4, 1 << 24

#: Bytes for each element: a float32 read and one written.
ELEMENT_BYTES = 8


class Cost(NamedTuple):
    """The cost of one activation at one size, in nanoseconds for each element.

    Parameters
    ----------
    n : int
        Elements of the array.
    median_ns, q1_ns, q3_ns : float
        Median and quartiles over the runs.
    """

    n: int
    median_ns: float
    q1_ns: float
    q3_ns: float


@dataclass(frozen=True)
class KernelCosts:
    """What each activation costs at each size: float32, one thread, output given.

    Times are nanoseconds for each element. The call from Python is in them, and is most of the
    cost of a small array.

    Parameters
    ----------
    variant : str
        The variant of the kernels.
    caches : Caches
        The caches of this CPU.
    sizes : tuple of int
        Elements of the arrays, the smallest first.
    runs : tuple of int
        How often each activation was timed at each size.
    median_ns, q1_ns, q3_ns : dict
        For each activation the median and the quartiles over the runs, one for each size.
    seconds : float
        How long the measurement took.
    """

    variant: str
    caches: Caches
    sizes: tuple[int, ...]
    runs: tuple[int, ...]
    median_ns: dict[str, tuple[float, ...]]
    q1_ns: dict[str, tuple[float, ...]]
    q3_ns: dict[str, tuple[float, ...]]
    seconds: float

    def cost(self, activation: str, index: int) -> Cost:
        """Return the figures of one activation at one size.

        Parameters
        ----------
        activation : str
            One of those measured.
        index : int
            The size's place in `sizes`.

        Returns
        -------
        Cost
            The figures.
        """
        columns = (self.median_ns, self.q1_ns, self.q3_ns)
        return Cost(self.sizes[index], *(column[activation][index] for column in columns))

    def in_cache(self, activation: str) -> Cost | None:
        """Return the cost at the largest size of which the second-level cache holds everything.

        Parameters
        ----------
        activation : str
            One of those measured.

        Returns
        -------
        Cost or None
            The figures; None if the size of that cache is not known, or no array was as small.
        """
        fitting = sum(n * ELEMENT_BYTES <= (self.caches.l2 or 0) for n in self.sizes)
        return self.cost(activation, fitting - 1) if fitting else None

    def beyond_cache(self, activation: str) -> Cost:
        """Return the cost at the largest size, by default 128 MiB of input and output.

        Parameters
        ----------
        activation : str
            One of those measured.

        Returns
        -------
        Cost
            The figures, whether or not a cache holds the arrays.
        """
        return self.cost(activation, -1)

    def to_dict(self) -> dict[str, object]:
        """Return everything as data, ready for JSON.

        Returns
        -------
        dict
            The fields by name; ``"schema"`` is the version of this layout.
        """
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> KernelCosts:
        """Read what `to_dict` returned, also after its way through JSON.

        Parameters
        ----------
        data : mapping
            The data.

        Returns
        -------
        KernelCosts
            Equal to the one that it came from.

        Raises
        ------
        ValueError
            If the data has a layout of another version.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"kernel costs of schema {data.get('schema')!r}; known: {SCHEMA}")
        columns = {
            name: {activation: tuple(values) for activation, values in data[name].items()}
            for name in ("median_ns", "q1_ns", "q3_ns")
        }
        return cls(
            variant=data["variant"],
            caches=Caches(**data["caches"]),
            sizes=tuple(data["sizes"]),
            runs=tuple(data["runs"]),
            seconds=data["seconds"],
            **columns,
        )


def measure(
    activations: Iterable[str] = registered,
    *,
    largest: int = LARGEST,
    seconds: float = 3.0,
    variant: str = isa,
    progress: Callable[[str, int, int], object] | None = None,
) -> KernelCosts:
    """Measure what activations cost for each element, against the size of the array.

    At every size the activations take turns, and each one meets a new input (normal, standard
    deviation 2) that has just been written, as by the layer before. Their results are checked
    first.

    Parameters
    ----------
    activations : iterable of str, optional
        Names in `fastact.activations`; all of them if not given.
    largest : int, optional
        Elements of the largest array; the sizes are 64, 256 and so on up to it. Each of its
        elements takes 8 bytes of memory.
    seconds : float, optional
        About how long to take. Each size is run once even if that takes longer.
    variant : str, optional
        One of `fastact.variants`, by default the best.
    progress : callable, optional
        Called with (what is going on, steps done, steps in all).

    Returns
    -------
    KernelCosts
        The figures, and the caches that explain them.

    Raises
    ------
    ValueError
        If an argument is out of range or a name is not known.
    DisagreementError
        If a result is further from the exact one than the kernel promises.

    Examples
    --------
    >>> costs = measure(["relu", "gelu"], largest=256, seconds=0.1)
    >>> costs.sizes, list(costs.median_ns)
    ((64, 256), ['relu', 'gelu'])
    """
    names = tuple(activations)
    _check_arguments(names, largest, seconds, variant)
    sizes = [SMALLEST]
    while sizes[-1] * FACTOR <= largest:
        sizes.append(sizes[-1] * FACTOR)
    report = progress or (lambda what, done, total: None)
    start = time.perf_counter()
    x, y = aligned(sizes[-1], "float32"), aligned(sizes[-1], "float32")

    timed = []
    with one_thread():
        for done, n in enumerate(sizes):
            report("timing the kernels", done, len(sizes))
            left = max(0.0, start + seconds - time.perf_counter())
            limit_s = left / (len(sizes) - done)
            timed.append(time_kernels(names, variant, x[:n], y[:n], limit_s))
    report("timing the kernels", len(sizes), len(sizes))

    def over_runs(percent: int) -> dict[str, tuple[float, ...]]:
        return {
            name: tuple(float(np.percentile(samples[name], percent)) for samples in timed)
            for name in names
        }

    return KernelCosts(
        variant=variant,
        caches=Caches.here(),
        sizes=tuple(sizes),
        runs=tuple(len(samples[names[0]]) for samples in timed),
        median_ns=over_runs(50),
        q1_ns=over_runs(25),
        q3_ns=over_runs(75),
        seconds=time.perf_counter() - start,
    )


def _check_arguments(names: tuple[str, ...], largest: int, seconds: float, variant: str) -> None:
    if not names:
        raise ValueError(f"no activation to measure; known: {', '.join(registered)}")
    for name in names:
        if name not in registered:
            raise ValueError(f"unknown activation {name!r}; known: {', '.join(registered)}")
    if variant not in variants:
        raise ValueError(f"unknown variant {variant!r}; this CPU runs: {', '.join(variants)}")
    if not largest >= SMALLEST:
        raise ValueError(f"largest must be at least {SMALLEST} elements, not {largest}")
    if not 0 < seconds < float("inf"):
        raise ValueError(f"seconds must be a positive number, not {seconds}")
