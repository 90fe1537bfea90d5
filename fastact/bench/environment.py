"""The machine and the versions that belong beside every figure."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__, isa


@dataclass(frozen=True)
class Environment:
    """Where something was measured.

    Parameters
    ----------
    cpu : str
        The processor's name.
    isa : str
        The variant of fastact's kernels in use.
    usable_cpus : int
        How many CPUs this process may use.
    system : str
        Operating system and architecture.
    versions : dict
        Version of each package, None where it is not installed.
    """

    cpu: str
    isa: str
    usable_cpus: int
    system: str
    versions: dict[str, str | None]

    @classmethod
    def here(cls) -> Environment:
        """Describe the machine this process runs on, importing no optional package.

        Returns
        -------
        Environment
            The description.

        Examples
        --------
        >>> Environment.here().usable_cpus >= 1
        True
        """
        packages = ("numpy", "onnx", "onnxruntime")
        return cls(
            cpu=cpu_name(),
            isa=isa,
            usable_cpus=usable_cpus(),
            system=f"{platform.system()} {platform.machine()}",
            versions={
                "fastact": __version__,
                "python": platform.python_version(),
                **{package: installed_version(package) for package in packages},
            },
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields by name, ready for JSON.

        Returns
        -------
        dict
            The fields.
        """
        return asdict(self)


def usable_cpus() -> int:
    """Return how many CPUs this process may use, which can be fewer than there are.

    Returns
    -------
    int
        At least 1.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def installed_version(package: str) -> str | None:
    """Return the version of an installed package without importing it.

    Parameters
    ----------
    package : str
        The distribution's name.

    Returns
    -------
    str or None
        The version; None if the package is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_name() -> str:
    """Return the processor's name as its maker or board writes it.

    Returns
    -------
    str
        The name, or the architecture where the system tells no more.
    """
    if platform.system() == "Darwin":
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True,
            text=True,
            check=False,
        )
        return asked.stdout.strip() or platform.machine()
    for line in _read("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    # AArch64 kernels give no model name there; a board often names itself here.
    board = _read("/proc/device-tree/model").strip("\0 \n")
    return board or platform.processor() or platform.machine()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
