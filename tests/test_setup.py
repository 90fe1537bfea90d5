"""Where fastact cannot be built, setup.py says so, and what to do, in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BUILD = """
import runpy, sys
import Cython.Build, numpy, setuptools, setuptools.command.build_ext
sys.argv = ["setup.py", "--quiet", "build_ext"]
sys.platform = {!r}
runpy.run_path("setup.py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what a build reads, since it also writes there."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    kept = shutil.ignore_patterns("*.so", "*.npz", "__pycache__")
    shutil.copytree(ROOT / "fastact", folder / "fastact", ignore=kept)
    return folder


def error(source: Path, platform: str = sys.platform, **environment: str) -> str:
    """Return what a build that fails ends with."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(platform)],
        cwd=source,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_windows_is_refused(source: Path) -> None:
    assert error(source, "win32") == (
        "error: fastact does not support Windows: its kernels are written for gcc and clang and "
        "its threads for POSIX. Install it in WSL, the Windows Subsystem for Linux."
    )


# One that knows other options, and one that takes gcc's without being like it.
@pytest.mark.parametrize("code", ["exit 1", "echo '#define __SOME_C__ 1'"])
def test_other_compilers_are_refused(source: Path, tmp_path: Path, code: str) -> None:
    compiler = tmp_path / "some-cc"
    compiler.write_text(f"#!/bin/sh\n{code}\n", encoding="ascii")
    compiler.chmod(0o755)
    assert error(source, CC=str(compiler)) == (
        f"error: fastact does not support the C compiler {compiler}: its kernels use extensions "
        "of gcc and clang. Set the environment variable CC to one of these."
    )


def test_a_compiler_that_is_not_there_is_named(source: Path) -> None:
    assert "no-such-cc" in error(source, CC="no-such-cc")
