"""Looks into the source distribution and the wheel: what must be in, and what must not.

Usage: python distributions.py SOURCE SDIST WHEEL, SOURCE being a folder of the tracked files alone.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

# What the build adds to the tracked files.
GENERATED = {"PKG-INFO", "setup.cfg"}
# What the wheel has no use for. It does hold the kernels' C sources, for fastact.mk.
LEFT_OUT = {".pyx"}
WHEEL_BYTES = 2_000_000


def sdist_problems(source: Path, sdist: Path) -> list[str]:
    """Expect the tracked files in the source distribution, no more and no fewer."""
    tracked = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    held = {name for name in held - GENERATED if not name.startswith("fastact.egg-info/")}
    return [
        *(f"the sdist lacks {name}" for name in sorted(tracked - held)),
        *(f"the sdist should not hold {name}" for name in sorted(held - tracked)),
    ]


def wheel_problems(source: Path, wheel: Path) -> list[str]:
    """Expect the package and its extension, and nothing that was made on the way or for tests."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    package = {
        path.relative_to(source).as_posix()
        for path in (source / "fastact").rglob("*")
        if path.is_file() and path.suffix not in LEFT_OUT
    }
    extension = {name for name in held if re.fullmatch(r"fastact/_core\.[\w-]+\.so", name)}
    metadata = {name for name in held if re.match(r"fastact-[\w.]+\.dist-info/", name)}
    extra = held - package - extension - metadata
    problems = [
        *(f"the wheel lacks {name}" for name in sorted(package - held)),
        *(f"the wheel should not hold {name}" for name in sorted(extra)),
    ]
    if extension != {"fastact/_core.abi3.so"}:
        problems.append(f"the wheel's extensions are {sorted(extension)}")
    project = (source / "pyproject.toml").read_text(encoding="utf-8")
    major, minor = re.search(r'^requires-python = ">=(\d+)\.(\d+)"', project, re.MULTILINE).groups()
    if f"-cp{major}{minor}-abi3-" not in wheel.name:
        problems.append(f"{wheel.name} is not for every Python from {major}.{minor} on")
    if not any(name.endswith("/licenses/LICENSE") for name in held):
        problems.append("the wheel lacks LICENSE")
    if wheel.stat().st_size >= WHEEL_BYTES:
        problems.append(f"the wheel has {wheel.stat().st_size} bytes")
    return problems


def main(source: Path, sdist: Path, wheel: Path) -> int:
    """Print every problem; return how many there are."""
    problems = [*sdist_problems(source, sdist), *wheel_problems(source, wheel)]
    print(*problems or ["the sdist and the wheel hold what they should"], sep="\n")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
