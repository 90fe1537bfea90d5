"""Constraint profiles: what a measurement may use, and what that stands for."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .environment import usable_cpus

#: How far onnxruntime changes a graph, in its own words.
OPTIMIZATIONS = ("disabled", "basic", "extended", "all")

#: What the weights and the values between operators are held in.
PRECISIONS = ("float32", "int8")

#: No profile sets these, and they decide most of what a device is.
NOT_EMULATED = (
    "the clock, the caches, the instruction set and the memory of another CPU: a core of this "
    "machine with less to use is not a phone's core",
    "throttling by heat, and what else runs on a device",
    "energy, which is not measured",
)


class ProfileError(RuntimeError):
    """What a profile asks for cannot be set on this system; the message says what and why."""


@dataclass(frozen=True)
class Profile:
    """What a measurement may use.

    Parameters
    ----------
    name : str
        What it is called.
    stands_for : str
        The situation that it is meant for.
    threads : int
        Threads inside an operator; at most as many as there are CPUs to use.
    cpus : int or tuple of int, optional
        How many CPUs to be bound to, or which ones. None leaves that to the system.
    core : {"big", "little"}, optional
        Which CPUs to prefer where there is more than one kind.
    memory_mb : int, optional
        Limit of the memory that a process may allocate, in MB.
    cpu_quota : float, optional
        Share of one CPU's time, 0 to 1, that a process gets in each tenth of a second.
    spinning : bool
        Whether threads that wait for work keep a CPU busy.
    precision : {"float32", "int8"}
        What the network computes in.
    optimization : str
        How far onnxruntime changes the graph: one of `OPTIMIZATIONS`.

    Examples
    --------
    >>> PROFILES["phone-little-core"].threads
    1
    """

    name: str = "custom"
    stands_for: str = "this machine, one thread that does not spin"
    threads: int = 1
    cpus: int | tuple[int, ...] | None = None
    core: str | None = None
    memory_mb: int | None = None
    cpu_quota: float | None = None
    spinning: bool = False
    precision: str = "float32"
    optimization: str = "all"

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"threads must be at least 1, not {self.threads}")
        if self.memory_mb is not None and self.memory_mb < 1:
            raise ValueError(f"memory must be at least 1 MB, not {self.memory_mb}")
        quota = self.cpu_quota
        if quota is not None and not (math.isfinite(quota) and 0.01 <= quota <= 1):
            raise ValueError(f"cpu_quota must be between 0.01 and 1 CPU, not {quota:g}")
        for what, value, known in (
            ("precision", self.precision, PRECISIONS),
            ("optimization", self.optimization, OPTIMIZATIONS),
            ("core", self.core, ("big", "little", None)),
        ):
            if value not in known:
                accepted = ", ".join(str(entry) for entry in known)
                raise ValueError(f"unknown {what} {value!r}; known: {accepted}")

    def fitted(self) -> Profile:
        """Fit the profile to the CPUs that this process may use.

        Returns
        -------
        Profile
            The same with `cpus` as numbers of CPUs, and no more threads than those.

        Raises
        ------
        ProfileError
            If a CPU was asked for that this process may not use, or more threads than CPUs.
        """
        if self.cpus is None:
            if self.threads > usable_cpus():
                raise ProfileError(
                    f"{self.threads} threads, but this process may use {usable_cpus()} "
                    f"CPU{'s' * (usable_cpus() != 1)}"
                )
            return self
        if not hasattr(os, "sched_getaffinity"):
            raise ProfileError(
                f"profile {self.name} binds the process to CPUs, which this system cannot do; "
                "take --profile custom"
            )
        usable = sorted(os.sched_getaffinity(0))
        if isinstance(self.cpus, int):  # as many as there are, which the report tells
            chosen = preferred(usable, self.core)[: self.cpus]
            return replace(self, cpus=tuple(chosen), threads=min(self.threads, len(chosen)))
        missing = [cpu for cpu in self.cpus if cpu not in usable]
        if missing or not self.cpus:
            raise ProfileError(
                f"CPU {missing[0] if missing else ''} is not among those that this process may "
                f"use: {written(usable)}"
            )
        if self.threads > len(self.cpus):
            raise ProfileError(f"{self.threads} threads on CPUs {written(self.cpus)} alone")
        return self

    def settings(self) -> list[str]:
        """Tell what the profile sets, for people.

        Returns
        -------
        list of str
            One entry for each constraint.

        Examples
        --------
        >>> PROFILES["custom"].settings()
        ['batch 1', '1 thread', 'no spinning', 'float32', 'optimisation level all']
        """
        said = ["batch 1", f"{self.threads} thread{'s' * (self.threads != 1)}"]
        if isinstance(self.cpus, tuple):
            said.append(f"bound to CPU{'s' * (len(self.cpus) != 1)} {written(self.cpus)}")
        elif self.cpus is not None:
            said.append(f"bound to {self.cpus} CPU{'s' * (self.cpus != 1)}")
        said.append("spinning" if self.spinning else "no spinning")
        if self.memory_mb is not None:
            said.append(f"at most {self.memory_mb} MB")
        if self.cpu_quota is not None:
            said.append(f"{self.cpu_quota:.0%} of a CPU's time")
        return [*said, self.precision, f"optimisation level {self.optimization}"]

    def to_dict(self) -> dict[str, object]:
        """Return the fields by name, and what the profile does not emulate, ready for JSON.

        Returns
        -------
        dict
            The fields.
        """
        cpus = list(self.cpus) if isinstance(self.cpus, tuple) else self.cpus
        return {**asdict(self), "cpus": cpus, "not_emulated": list(NOT_EMULATED)}


#: The profiles by name.
PROFILES = {
    profile.name: profile
    for profile in (
        Profile(),
        Profile(
            "phone-big-core",
            "an application in the foreground of a phone",
            cpus=1,
            core="big",
            memory_mb=1024,
        ),
        Profile(
            "phone-little-core",
            "work in the background of a phone, on a core that saves energy",
            cpus=1,
            core="little",
            memory_mb=512,
        ),
        Profile(
            "board",
            "a single-board computer of four cores that does nothing else",
            threads=4,
            cpus=4,
            memory_mb=512,
        ),
    )
}


def preferred(cpus: Sequence[int], core: str | None) -> list[int]:
    """Order CPUs by how well they suit a profile.

    Parameters
    ----------
    cpus : sequence of int
        Numbers of CPUs.
    core : {"big", "little"} or None
        The fastest first, the slowest first, or as they are.

    Returns
    -------
    list of int
        The same numbers. Where all are of one kind, or the system does not tell, in their order.
    """
    if core is None:
        return list(cpus)
    return sorted(cpus, key=lambda cpu: _capacity(cpu) * (-1 if core == "big" else 1))


def _capacity(cpu: int) -> int:
    """Return how fast a CPU is among those of this machine, in whatever unit; 0 if not told."""
    folder = Path(f"/sys/devices/system/cpu/cpu{cpu}")
    for file in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        try:
            return int((folder / file).read_text())
        except (OSError, ValueError):
            continue
    return 0


def written(cpus: Sequence[int]) -> str:
    """Write numbers of CPUs as taskset does.

    Parameters
    ----------
    cpus : sequence of int
        Numbers of CPUs.

    Returns
    -------
    str
        Numbers and ranges.

    Examples
    --------
    >>> written([0, 2, 3, 4])
    '0,2-4'
    """
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], cpu]
        else:
            ranges.append([cpu])
    return ",".join("-".join(map(str, entry)) for entry in ranges)


def parsed(text: str) -> tuple[int, ...]:
    """Read numbers of CPUs as taskset writes them.

    Parameters
    ----------
    text : str
        Numbers and ranges.

    Returns
    -------
    tuple of int
        The numbers, in order.

    Raises
    ------
    ValueError
        If it is not of that form.

    Examples
    --------
    >>> parsed("0,2-4")
    (0, 2, 3, 4)
    """
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            span = range(int(first), int(last if dash else first) + 1)
        except ValueError:
            span = range(0)
        if not span:
            raise ValueError(f"{text!r} is not a list of CPUs, as in 0,2-4")
        found |= {*span}
    return tuple(sorted(found))
