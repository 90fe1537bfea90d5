"""Builds the extension: kernels.c once per variant, each with its own instruction set."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# The variants of each architecture, best first, with the CPU features that each needs. A feature
# is both a compiler flag, -m<feature>, and what dispatch.c asks the CPU for at import.
VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {
        "avx512": ("avx512f", "avx512dq", "avx512vl", "avx512bw", "fma", "f16c"),
        "avx2": ("avx2", "fma", "f16c"),
        "scalar": (),
    },
    "aarch64": {"neon": ()},
}
ELSEWHERE: dict[str, tuple[str, ...]] = {"scalar": ()}
ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}

# What every C file is compiled with:
#   -ffp-contract=off      a multiply-add is fused where the source says so, so that variants agree
#   -fno-math-errno, -fno-trapping-math   needed to vectorise; neither changes a result
#   -g0                    Python's own flags ask for debugging data, four fifths of the file
FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-g0"]
WARNINGS = ["-Wall", "-Wextra"]
# Compilers prefer 256-bit vectors even where 512-bit ones are there.
WIDTH = {"avx512": ["-mprefer-vector-width=512"]}

KERNELS = Path("fastact/kernels")


def variants() -> dict[str, tuple[str, ...]]:
    """Return the variants of the architecture that is being built for."""
    machine = sysconfig.get_platform().rsplit("-", 1)[-1].lower()
    return VARIANTS.get(ALIASES.get(machine, machine), ELSEWHERE)


def variants_macro() -> tuple[str, str]:
    """Return the list of variants as the macro that dispatch.h reads."""
    lines = []
    for name, features in variants().items():
        condition = " && ".join(f'FASTACT_CPU_HAS("{feature}")' for feature in features)
        lines.append(f"VARIANT({name}, {condition or '1'})")
    return "FASTACT_VARIANTS", " ".join(lines)


class BuildVariants(build_ext):
    """Compiles the kernels of every variant and links them into the extension."""

    def build_extension(self, ext: Extension) -> None:
        """Compile kernels.c once per variant, then the extension itself."""
        for name, features in variants().items():
            ext.extra_objects += self.compiler.compile(
                [str(KERNELS / "kernels.c")],
                # A folder per variant, since the objects have the source's name.
                output_dir=str(Path(self.build_temp) / name),
                macros=[("FASTACT_VARIANT", name)],
                depends=[str(header) for header in KERNELS.glob("*.h")],
                extra_postargs=[
                    "-std=c11",
                    *FLAGS,
                    *WARNINGS,
                    *(f"-m{feature}" for feature in features),
                    *WIDTH.get(name, []),
                ],
            )
        super().build_extension(ext)


core = Extension(
    "fastact._core",
    ["fastact/_core.pyx", str(KERNELS / "dispatch.c"), str(KERNELS / "threads.c")],
    include_dirs=[str(KERNELS), np.get_include()],
    define_macros=[variants_macro(), ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    extra_compile_args=["-std=c11", *FLAGS, *WARNINGS],
    depends=[str(source) for source in KERNELS.glob("*.[ch]")],
)

setup(
    ext_modules=cythonize([core], language_level=3),
    cmdclass={"build_ext": BuildVariants},
)
