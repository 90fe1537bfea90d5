"""The instruction sets that every library is held to, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import fastact

from .timing import Row

# One thread everywhere, and no setting of the caller that picks kernels for another CPU.
_ONE_THREAD = {
    **dict.fromkeys(["OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"], "1"),
    "NUMBA_NUM_THREADS": "1",
    "NPROC": "1",  # jax
    "JAX_PLATFORMS": "cpu",
}
_CHILD = [sys.executable, "-m", "fastact.bench.peers.child"]
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_CBWR")


@dataclass(frozen=True)
class Cap:
    """A restriction of instruction sets.

    Parameters
    ----------
    name : str
        How the tables call it.
    title : str
        The same in words.
    isa : str or None
        The variant of fastact it belongs to; None for the best one.
    environment : dict
        What is set for the process, library by library.
    numpy_keeps : tuple of str or None
        Beginnings of the names of the CPU features that NumPy may still use beyond its own
        baseline; None for all.
    """

    name: str
    title: str
    isa: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    numpy_keeps: tuple[str, ...] | None = None

    def variables(self) -> dict[str, str]:
        """Return what sets this cap apart, as environment variables.

        Returns
        -------
        dict
            Name and value of each.
        """
        if self.numpy_keeps is None:
            return self.environment
        extensions = np.show_config(mode="dicts")["SIMD Extensions"]
        found = [name for name in extensions["found"] if not name.startswith(self.numpy_keeps)]
        return {**self.environment, "NPY_DISABLE_CPU_FEATURES": " ".join(found)}


CAPS = (
    Cap("none", "All instructions of this CPU"),
    Cap(
        "avx2",
        "Capped at AVX2",
        "avx2",
        {
            "FASTACT_ISA": "avx2",
            "ATEN_CPU_CAPABILITY": "avx2",
            "ONEDNN_MAX_CPU_ISA": "AVX2",  # torch and OpenVINO
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
            "SIMD_ML_ISA": "avx2",
            "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",  # jax
            "NUMBA_CPU_NAME": "haswell",
            "NUMBA_CPU_FEATURES": "+avx2,+fma",
        },
        numpy_keeps=("X86_V3", "AVX2", "FMA", "F16C", "AVX", "SSE", "POPCNT", "LAHF"),
    ),
    Cap(
        "baseline",
        "Capped at the x86-64 baseline",
        "scalar",
        {
            "FASTACT_ISA": "scalar",
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
            "SIMD_ML_ISA": "scalar",
            "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
        },
        numpy_keeps=("SSE", "POPCNT", "X86_V2"),
    ),
)


def available() -> tuple[Cap, ...]:
    """List the caps that mean something on this CPU.

    Returns
    -------
    tuple of Cap
        Without those whose variant is missing, or is the best one anyway.
    """
    best = next(iter(fastact.variants))
    return tuple(
        cap for cap in CAPS if cap.isa is None or cap.isa in set(fastact.variants) - {best}
    )


def run(cap: Cap, seconds: float, sizes: tuple[int, ...]) -> Iterator[list[Row] | str]:
    """Measure every group under a cap, in a process of its own.

    Parameters
    ----------
    cap : Cap
        The restriction.
    seconds : float
        How long to time each group.
    sizes : tuple of int
        Elements of the peers' tables.

    Yields
    ------
    list of Row or str
        The rows of one group after the other; at the end, if the process died, what it said.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _UNSET}
    package = str(Path(fastact.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, inherited.get("PYTHONPATH")]))
    request = json.dumps({"cap": cap.name, "seconds": seconds, "sizes": sizes})
    with (
        tempfile.TemporaryFile("w+") as messages,
        subprocess.Popen(
            [*_CHILD, request],
            env={**inherited, **_ONE_THREAD, **cap.variables(), "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("["):  # whatever else a library prints is not ours
                yield [Row.from_dict(row) for row in json.loads(line)]
        if process.wait():
            messages.seek(0)
            last = (messages.read().strip().splitlines() or ["no message"])[-1]
            yield f"the process ended with {process.returncode}: {last}"
