"""Setting a profile's constraints on a process; what cannot be set is an error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .profiles import Profile, ProfileError

# Of a control group: the share of the CPU is given anew every so many microseconds.
_PERIOD_US = 100_000

_GROUPS = Path("/sys/fs/cgroup")


def apply(profile: Profile) -> None:
    """Bind this process to the profile's CPUs and limit its memory.

    Parameters
    ----------
    profile : Profile
        A fitted profile: its CPUs are numbers.

    Raises
    ------
    ProfileError
        If the system does not do that.
    """
    if isinstance(profile.cpus, tuple):
        try:
            os.sched_setaffinity(0, profile.cpus)
        except OSError as error:
            raise ProfileError(f"cannot bind the process to CPUs {profile.cpus}: {error}") from None
    if profile.memory_mb is not None:
        # What a process allocates; RLIMIT_AS would also count files that are mapped, and
        # address space that is never used.
        if not sys.platform.startswith("linux"):
            raise ProfileError(
                f"cannot limit memory to {profile.memory_mb} MB on {sys.platform}, only on Linux"
            )
        import resource

        size = profile.memory_mb * 2**20
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard != resource.RLIM_INFINITY:
            size = min(size, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


@contextmanager
def quota_group(share: float | None) -> Iterator[Path | None]:
    """Make a control group that gets a share of one CPU's time, and remove it in the end.

    Parameters
    ----------
    share : float or None
        The share, 0 to 1; None makes no group.

    Yields
    ------
    Path or None
        The file that a process writes its number to in order to join.

    Raises
    ------
    ProfileError
        If the system has no such groups, or does not let this process make one.
    """
    if share is None:
        yield None
        return
    group, reason = None, "no control groups with a cpu controller are mounted"
    for parent, version in _parents():
        group = parent / f"fastact-{os.getpid()}"
        try:
            group.mkdir()
            _limit(group, version, int(share * _PERIOD_US))
            break
        except OSError as error:
            reason, failed = str(error), group
            group = None
            if failed.exists():
                failed.rmdir()
    if group is None:
        raise ProfileError(f"cannot set a CPU quota on this system: {reason}; leave it out")
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def _parents() -> Iterator[tuple[Path, int]]:
    """Yield the folders in which a group may be made, and the version of their interface."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = path.lstrip("/")
        if "cpu" in controllers.split(","):
            yield _GROUPS / controllers / own, 1
            yield _GROUPS / "cpu" / own, 1
        elif not controllers:
            # Beside this process's own group, which may not have both processes and groups.
            yield (_GROUPS / own).parent if own else _GROUPS, 2


def _limit(group: Path, version: int, quota_us: int) -> None:
    if version == 1:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    elif (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")
    else:
        raise FileNotFoundError(f"the cpu controller is not enabled in {group.parent}")


def peak_memory_mb() -> float | None:
    """Return the most memory that this process has held.

    Returns
    -------
    float or None
        In MB; None if the system does not tell.
    """
    return _memory_mb("VmHWM")


def memory_mb() -> float | None:
    """Return how much memory this process holds.

    Returns
    -------
    float or None
        In MB; None if the system does not tell.
    """
    return _memory_mb("VmRSS")


def _memory_mb(field: str) -> float | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition(":")
        if key == field:
            return int(value.split()[0]) / 1024
    return None


def preemptions() -> int | None:
    """Return how often the system has taken the CPU away from this process.

    Returns
    -------
    int or None
        A count; None if the system does not tell.
    """
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
