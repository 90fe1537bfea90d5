"""The sizes of the CPU's caches, as the system tells them."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SYSCTL = {"l1d": "hw.l1dcachesize", "l2": "hw.l2cachesize", "l3": "hw.l3cachesize"}


@dataclass(frozen=True)
class Caches:
    """Sizes of the caches in bytes; None where there is none, or the system does not tell.

    In a virtual machine the third one may be that of the host, which others use too, or wrong.

    Parameters
    ----------
    l1d, l2, l3 : int or None
        The first level, for data, the second and the third, each as large as one CPU sees it.
    """

    l1d: int | None = None
    l2: int | None = None
    l3: int | None = None

    @classmethod
    def here(cls) -> Caches:
        """Ask the system about the CPUs that this process may use.

        Returns
        -------
        Caches
            Where the CPUs differ, the smallest size, since the process may run on any of them.
        """
        if platform.system() == "Darwin":
            return cls(**{level: _sysctl(key) for level, key in _SYSCTL.items()})
        return cls(**_smallest_on_usable_cpus())


def _smallest_on_usable_cpus() -> dict[str, int]:
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    sizes: dict[str, int] = {}
    for cpu in usable:
        for cache in _CPUS.glob(f"cpu{cpu}/cache/index*"):
            kind, size = _read(cache / "type"), _bytes(_read(cache / "size"))
            level = "l" + _read(cache / "level") + ("d" if kind == "Data" else "")
            if level in _SYSCTL and size:
                sizes[level] = min(size, sizes.get(level, size))
    return sizes


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _bytes(text: str) -> int | None:
    """Read a size such as 48K; None if it is no size."""
    number, unit = text.rstrip("KMG"), text[-1:].strip("0123456789")
    return int(number) * _UNITS[unit] if number.isdecimal() and unit in _UNITS else None


def _sysctl(key: str) -> int | None:
    asked = subprocess.run(["sysctl", "-n", key], capture_output=True, text=True, check=False)
    return _bytes(asked.stdout.strip()) or None
