"""The kernels from C, C++ and Cython: the bits of the ufuncs, without Python or without the GIL."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fastact

EXAMPLES = Path(__file__).parents[1] / "examples"
PACKAGE = str(Path(fastact.__file__).parents[1])
FUNCTIONS = fastact.activations + fastact.derivatives
DTYPES = ("float32", "float64")
FUSED = [variant for variant in fastact.variants if variant != "scalar"]


def missing(*tools: str) -> pytest.MarkDecorator:
    absent = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(absent), reason=f"needs {' and '.join(absent)}")


pytestmark = missing("make", "cc")


def run(*command: object, folder: Path, **environment: str) -> None:
    """Run a command in which nothing may go wrong, warnings of Python included."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PACKAGE, "PYTHONWARNINGS": "error", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def numbers(dtype: str) -> np.ndarray:
    """Return values of every exponent, both signs, around all that is special; no NaN of a kind."""
    size = 8 * np.dtype(dtype).itemsize
    patterns = np.linspace(0, 2**size - 2**12, 20_011).astype(f"u{size // 8}").view(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    return np.concatenate([patterns, special, np.linspace(-15, 15, 10_001, dtype=dtype)])


def expected(name: str, x: np.ndarray, variant: str = fastact.isa) -> bytes:
    return getattr(fastact.variants[variant], name)(x).tobytes()


# The application in C.


def application(folder: Path, *settings: str) -> Path:
    """Build the example as its makefile says."""
    shutil.copytree(EXAMPLES / "c_application", folder, dirs_exist_ok=True)
    run("make", f"PYTHON={sys.executable}", "CFLAGS=-Werror -Wpedantic", *settings, folder=folder)
    return folder / "activate"


@pytest.fixture(scope="module")
def activate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return application(tmp_path_factory.mktemp("c"))


def output(*command: object, x: np.ndarray) -> tuple[bytes, str]:
    done = subprocess.run(list(map(str, command)), input=x.tobytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.decode()


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_application_in_c_gets_the_bits_of_the_ufunc(
    activate: Path, name: str, variant: str, dtype: str
) -> None:
    x = numbers(dtype)
    y, said = output(activate, name, dtype, variant, x=x)
    assert said == f"{name} of {dtype}, variant {variant}\n"
    assert y == expected(name, x, variant)


def test_an_application_takes_the_best_variant(activate: Path) -> None:
    x = numbers("float32")
    y, said = output(activate, "gelu", "float32", x=x)
    assert said == f"gelu of float32, variant {next(iter(fastact.variants))}\n"
    assert y == expected("gelu", x, next(iter(fastact.variants)))


@pytest.mark.parametrize("variant", ["bogus", "", "AVX2"])
def test_an_unknown_variant_is_refused(activate: Path, variant: str) -> None:
    done = subprocess.run([activate, "gelu", "float32", variant], input=b"", capture_output=True)
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.fixture(scope="module")
def activate_on_aarch64(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aarch64")
    return application(folder, "CC=aarch64-linux-gnu-gcc", "LDFLAGS=-static")


@missing("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.skipif(not FUSED, reason="this CPU has no variant with the same bits")
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_application_for_aarch64(activate_on_aarch64: Path, name: str, dtype: str) -> None:
    x = numbers(dtype)
    x = x[~np.isnan(x)]  # whose payload is the CPU's affair
    y, said = output("qemu-aarch64", activate_on_aarch64, name, dtype, x=x)
    assert said == f"{name} of {dtype}, variant neon\n"
    assert y == expected(name, x, FUSED[0])


# What the header promises.


def test_the_header_keeps_its_promises(activate: Path, tmp_path: Path) -> None:
    source = Path(__file__).with_name("c_api.c")
    command = ["cc", "-std=c11", "-I", fastact.get_include(), "-o", "c_api", source]
    run(*command, activate.with_name("libfastact.a"), "-lm", folder=tmp_path)
    done = subprocess.run(tmp_path / "c_api", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "checked\n")


@pytest.mark.parametrize(
    "compiler",
    [
        pytest.param("c++ -std=c++11", marks=missing("c++")),
        "cc -std=c99",
        pytest.param("clang -std=c11", marks=missing("clang")),
    ],
)
def test_the_header_is_c_and_cplusplus(activate: Path, tmp_path: Path, compiler: str) -> None:
    source = tmp_path / ("main.cc" if "c++" in compiler else "main.c")
    # A name that an application may well have, and one that registry.h has among its arguments.
    source.write_text(
        '#include "fastact.h"\n'
        "typedef int float16; enum { EXACT, vector };\n"
        "int main(void) { float x = -1; fastact_relu_float32(&x, &x, 1); return x != 0; }\n"
    )
    library = activate.with_name("libfastact.a")
    command = [*compiler.split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(*command, "-I", fastact.get_include(), source, library, "-o", "main", folder=tmp_path)
    run(tmp_path / "main", folder=tmp_path)


@missing("clang")
def test_clang_builds_the_same_bits(tmp_path: Path) -> None:
    activate = application(tmp_path, "CC=clang")
    for name in FUNCTIONS:
        for dtype in DTYPES:
            for variant in fastact.variants:
                x = numbers(dtype)
                x = x[~np.isnan(x)]
                assert output(activate, name, dtype, variant, x=x)[0] == expected(name, x, variant)


# cimport.

EVERY = "from fastact cimport kernels\n" + "".join(
    f"""
def {name}_{dtype}(size_t x, size_t y, Py_ssize_t n):
    with nogil:
        kernels.{name}_{dtype}(<const {c_type} *>x, <{c_type} *>y, n)
"""
    for name in FUNCTIONS
    for dtype, c_type in zip(DTYPES, ("float", "double"), strict=True)
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the example as it says itself, and likewise a module that calls every kernel."""
    folder = tmp_path_factory.mktemp("cimport")
    shutil.copytree(EXAMPLES / "cimport", folder, dirs_exist_ok=True)
    run(sys.executable, "setup.py", "build_ext", "--inplace", folder=folder)
    (folder / "every.pyx").write_text(EVERY, encoding="ascii")
    setup = (folder / "setup.py").read_text(encoding="utf-8").replace("bias_gelu", "every")
    (folder / "setup.py").write_text(setup, encoding="utf-8")
    run(sys.executable, "setup.py", "build_ext", "--inplace", folder=folder)
    return folder


def module(folder: Path, name: str) -> ModuleType:
    (path,) = folder.glob(f"{name}.*.so")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cython_module_gets_the_bits_of_the_ufunc(built: Path, name: str, dtype: str) -> None:
    x = numbers(dtype)
    y = np.empty_like(x)
    getattr(module(built, "every"), f"{name}_{dtype}")(x.ctypes.data, y.ctypes.data, x.size)
    assert y.tobytes() == expected(name, x)


FOLLOWS = """
import numpy as np, fastact, every
x = np.linspace(-9, 9, 10_001)
y = np.empty_like(x)
every.gelu_float64(x.ctypes.data, y.ctypes.data, x.size)
assert y.tobytes() == fastact.variants[{!r}].gelu(x).tobytes()
"""


def test_a_cython_module_follows_fastact_isa(built: Path, variant: str) -> None:
    run(sys.executable, "-c", FOLLOWS.format(variant), folder=built, FASTACT_ISA=variant)


def test_the_example_of_cimport(built: Path) -> None:
    bias_gelu = module(built, "bias_gelu").bias_gelu
    random = np.random.default_rng(0)
    x, bias = random.normal(size=(7, 53)).astype("f4"), random.normal(size=53).astype("f4")
    wanted = fastact.gelu(x + bias)
    bias_gelu(x, bias)
    assert x.tobytes() == wanted.tobytes()
    with pytest.raises(ValueError, match="bias has 53 elements; accepted: 52"):
        bias_gelu(x[:, 1:].copy(), bias)


@missing("nm")
def test_a_cython_module_has_no_kernels_of_its_own(built: Path) -> None:
    (path,) = built.glob("every.*.so")
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert "PyInit_every" in names
    assert not {name for name in names if name.startswith("fastact_")}


def test_the_folder_of_the_header_is_in_the_package() -> None:
    assert Path(fastact.get_include()).is_absolute()
    assert Path(fastact.get_include()).parent == Path(fastact.__file__).parent
