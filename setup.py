"""Builds the extension: kernels.c once per variant, each with its own instruction set."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

KERNELS = Path("fastact/kernels")


def read_settings() -> dict[str, list[str]]:
    """Return what variants.mk, which fastact.mk reads, too, sets to which words."""
    lines = (KERNELS / "variants.mk").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" = ") for line in lines if line.startswith("FASTACT_"))
    return {name.removeprefix("FASTACT_"): words.split() for name, words in pairs}


# The limited API makes one wheel for every Python from the lowest on, and costs a call no time
# (docs/design.md). Neither PyPy nor a Python without the GIL has it.
WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
LIMITED_API = sys.implementation.name == "cpython" and not WITHOUT_GIL
MACROS = [("Py_LIMITED_API", "0x030A0000"), ("CYTHON_LIMITED_API", "1")] if LIMITED_API else []
OPTIONS = {"bdist_wheel": {"py_limited_api": "cp310"}} if LIMITED_API else {}

SETTINGS = read_settings()
# -g0: Python's own flags ask for debugging data, four fifths of the file.
FLAGS = [*SETTINGS["FLAGS"], "-g0", "-Wall", "-Wextra"]


def variants() -> list[str]:
    """Return the variants of the architecture that is being built for."""
    machine = sysconfig.get_platform().rsplit("-", 1)[-1].lower()
    return SETTINGS.get(f"VARIANTS_{machine}", ["scalar"])


def features(variant: str) -> list[str]:
    """Return the CPU features that a variant needs."""
    return SETTINGS.get(f"FEATURES_{variant}", [])


def variants_macro() -> tuple[str, str]:
    """Return the list of variants as the macro that dispatch.h reads."""
    lines = []
    for name in variants():
        condition = " && ".join(f'FASTACT_CPU_HAS("{feature}")' for feature in features(name))
        lines.append(f"VARIANT({name}, {condition or '1'})")
    return "FASTACT_VARIANTS", " ".join(lines)


def is_gcc_or_clang(command: list[str]) -> bool:
    """Whether a C compiler takes the options of gcc and defines what gcc and clang define."""
    asked = [*command, "-dM", "-E", "-x", "c", "/dev/null"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True)
    except OSError:  # there is none: building tells, by its name
        return True
    return done.returncode == 0 and "#define __GNUC__ " in done.stdout


class BuildVariants(build_ext):
    """Compiles the kernels of every variant and links them into the extension."""

    def run(self) -> None:
        """Refuse Windows before a compiler is looked for."""
        if sys.platform == "win32":
            raise PlatformError(
                "fastact does not support Windows: its kernels are written for gcc and clang and "
                "its threads for POSIX. Install it in WSL, the Windows Subsystem for Linux."
            )
        super().run()

    def build_extension(self, ext: Extension) -> None:
        """Compile kernels.c once per variant, then the extension itself."""
        command = self.compiler.compiler
        if not is_gcc_or_clang(command):
            raise PlatformError(
                f"fastact does not support the C compiler {command[0]}: its kernels use "
                "extensions of gcc and clang. Set the environment variable CC to one of these."
            )
        for name in variants():
            ext.extra_objects += self.compiler.compile(
                [str(KERNELS / "kernels.c")],
                # A folder per variant, since the objects have the source's name.
                output_dir=str(Path(self.build_temp) / name),
                macros=[("FASTACT_VARIANT", name)],
                depends=ext.depends,
                extra_postargs=[
                    *FLAGS,
                    *(f"-m{feature}" for feature in features(name)),
                    *SETTINGS.get(f"FLAGS_{name}", []),
                ],
            )
        super().build_extension(ext)


SOURCES = {".c", ".h", ".mk", ".pxd"}
C_SOURCES = [str(KERNELS / f"{name}.c") for name in ("dispatch", "fastact", "threads")]

core = Extension(
    "fastact._core",
    ["fastact/_core.pyx", *C_SOURCES],
    include_dirs=["fastact/include", str(KERNELS), np.get_include()],
    define_macros=[*MACROS, variants_macro(), ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    py_limited_api=LIMITED_API,
    extra_compile_args=FLAGS,
    depends=[str(path) for path in Path("fastact").rglob("*.*") if path.suffix in SOURCES],
)

setup(
    ext_modules=cythonize([core], language_level=3),
    cmdclass={"build_ext": BuildVariants},
    options=OPTIONS,
)
