"""Which variant is used: chosen at import, by FASTACT_ISA if it is set, and never changed."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fastact
from fastact import _core

FUNCTIONS = fastact.activations + fastact.derivatives

# A process that is started computes with the package that is tested.
PACKAGE = str(Path(fastact.__file__).parents[1])


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "FASTACT_ISA"}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**kept, "PYTHONPATH": PACKAGE, "PYTHONWARNINGS": "error", **environment},
        capture_output=True,
        text=True,
    )


PRINT_ISA = "import fastact; print(fastact.isa, fastact.gelu is fastact.variants[fastact.isa].gelu)"


def test_forced_variant(variant: str) -> None:
    result = python("-c", PRINT_ISA, FASTACT_ISA=variant)
    assert (result.stdout, result.stderr) == (f"{variant} True\n", "")


@pytest.mark.parametrize("environment", [{}, {"FASTACT_ISA": ""}])
def test_the_best_variant_is_the_default(environment: dict[str, str]) -> None:
    result = python("-c", PRINT_ISA, **environment)
    assert (result.stdout, result.stderr) == (f"{next(iter(fastact.variants))} True\n", "")


@pytest.mark.parametrize("name", ["bogus", "AVX2", " avx2", "scalar,avx2", "\u00e9"])
def test_an_unknown_variant_is_an_import_error_that_lists_the_others(name: str) -> None:
    script = "try: import fastact\nexcept ImportError as e: print(ascii(str(e)), e.name)"
    result = python("-c", script, FASTACT_ISA=name)
    assert result.stderr == ""
    assert "FASTACT_ISA" in result.stdout
    assert ascii(name)[1:-1].replace("\\", "") in result.stdout.replace("\\", "")
    assert "it can run " + ", ".join(fastact.variants) in result.stdout
    assert result.stdout.split()[-1] == "fastact"


def test_an_unknown_variant_is_one_line_of_the_command_line() -> None:
    result = python("-m", "fastact", "info", FASTACT_ISA="bogus")
    assert result.returncode != 0
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert "'bogus'" in line
    assert ", ".join(fastact.variants) in line


def test_variants_are_listed_best_first() -> None:
    order = ["avx512", "avx2", "scalar", "neon"]
    assert list(fastact.variants) == [name for name in order if name in fastact.variants]
    assert "scalar" in fastact.variants or "neon" in fastact.variants


# An emulator passes on what the machine below says of itself.
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="reads /proc/cpuinfo of x86-64",
)
def test_the_variants_are_those_of_this_cpu() -> None:
    with open("/proc/cpuinfo", encoding="ascii") as file:
        lines = (line.partition(":") for line in file)
        flags = {f for key, _, rest in lines if key.strip() == "flags" for f in rest.split()}
    needs = {
        "avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw", "fma", "f16c"},
        "avx2": {"avx2", "fma", "f16c"},
        "scalar": set(),
    }
    assert list(fastact.variants) == [name for name in needs if needs[name] <= flags]


def test_the_public_ufuncs_are_those_of_the_variant_in_use(name: str) -> None:
    assert getattr(fastact, name) is getattr(fastact.variants[fastact.isa], name)


def test_every_variant_has_every_function(variant: str) -> None:
    assert fastact.variants[variant]._fields == FUNCTIONS
    assert tuple(_core.registry[variant]) == FUNCTIONS
    assert [ufunc.__name__ for ufunc in fastact.variants[variant]] == list(FUNCTIONS)
    assert list(_core.registry) == list(fastact.variants)


def test_a_derivative_is_named_after_its_activation() -> None:
    assert not set(fastact.derivatives) & set(fastact.activations)
    assert {name.removesuffix("_grad") for name in fastact.derivatives} <= set(fastact.activations)
    assert all(name.endswith("_grad") for name in fastact.derivatives)


def test_every_function_takes_the_same_dtypes_in_every_variant(name: str, variant: str) -> None:
    floats = ["float16", "float32", "float64", "bfloat16"]
    assert [dtype for dtype in _core.registry[variant][name] if "float" in dtype] == floats
    assert list(_core.registry[variant][name]) == list(_core.registry[fastact.isa][name])


def test_variants_have_ufuncs_of_their_own() -> None:
    ufuncs = [ufunc for variant in fastact.variants.values() for ufunc in variant]
    assert len(set(map(id, ufuncs))) == len(fastact.variants) * len(FUNCTIONS)


def test_nothing_can_be_changed(name: str, variant: str) -> None:
    variants: Any = fastact.variants
    with pytest.raises(TypeError):
        variants[variant] = variants[fastact.isa]
    with pytest.raises(TypeError):
        del variants[variant]
    with pytest.raises(AttributeError):
        setattr(variants[variant], name, np.exp)
    with pytest.raises(TypeError):
        variants[variant][0] = np.exp
    registry: Any = _core.registry
    with pytest.raises(TypeError):
        registry[variant] = {}
    with pytest.raises(TypeError):
        registry[variant][name] = {}
    with pytest.raises(TypeError):
        registry[variant][name]["float32"] = _core.Bound(9.0, 1.0)
    with pytest.raises(TypeError):
        del registry[variant][name]["float32"]
    with pytest.raises(AttributeError):
        registry[variant][name]["float32"].max_ulp = 9.0


def test_max_ulp_is_the_bound_of_the_registry(variant: str) -> None:
    for name, bounds in _core.registry[variant].items():
        for dtype, bound in bounds.items():
            known = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
            for spelling in (dtype, known, known.type):
                assert fastact.max_ulp(name, spelling, variant=variant) == bound.max_ulp


def test_max_ulp_of_bfloat16_needs_no_ml_dtypes() -> None:
    script = (
        "import sys, numpy, fastact\n"
        "bounds = [fastact.max_ulp('gelu', d) for d in ('bfloat16', 'float16', numpy.dtype('e'))]\n"
        "print(bounds, 'ml_dtypes' in sys.modules)"
    )
    result = python("-c", script)
    assert (result.stdout, result.stderr) == ("[0.5, 0.5, 0.5] False\n", "")


def test_max_ulp_by_default_is_of_float32_and_the_variant_in_use(name: str) -> None:
    assert fastact.max_ulp(name) == _core.registry[fastact.isa][name]["float32"].max_ulp


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("swish9",), "function 'swish9'; accepted: " + ", ".join(FUNCTIONS)),
        (("gelu", "int8"), "gelu does not take int8; accepted: float16, float32, float64, bf"),
        (("relu", "complex64"), "relu does not take complex64; accepted: int8"),
        (("relu", object), "relu does not take object; accepted: int8"),
    ],
)
def test_max_ulp_says_what_is_wrong(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fastact.max_ulp(*arguments)


def test_max_ulp_says_which_variants_there_are() -> None:
    with pytest.raises(ValueError, match=", ".join(fastact.variants)):
        fastact.max_ulp("gelu", variant="sse9")


def test_max_ulp_refuses_what_is_no_dtype() -> None:
    with pytest.raises(TypeError):
        fastact.max_ulp("gelu", "no dtype")


UNPICKLE = """
import pickle, sys
got = pickle.loads(bytes.fromhex(sys.argv[1]))
import fastact
print(got is fastact.variants[sys.argv[2]].gelu)
"""


@pytest.mark.skipif(len(fastact.variants) == 1, reason="this CPU runs one variant alone")
def test_a_pickled_ufunc_in_a_process_that_uses_another_variant(variant: str) -> None:
    # The best one becomes the best one there; that of another variant stays what it is.
    worst = list(fastact.variants)[-1]
    if variant == worst and not hasattr(fastact.gelu, "__dict__"):
        pytest.skip("NumPy before 2.2 finds only those of the variants that are not in use")
    pickled = pickle.dumps(fastact.variants[variant].gelu).hex()
    expected = worst if variant == fastact.isa else variant
    result = python("-c", UNPICKLE, pickled, expected, FASTACT_ISA=worst)
    assert (result.stdout, result.stderr) == ("True\n", "")


def test_a_pickled_ufunc_of_a_variant_that_this_cpu_lacks() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'fastact\.sve9'$"):
        pickle.loads(b"cfastact.sve9\ngelu\n.")


def test_the_public_names_are_all_there() -> None:
    assert set(FUNCTIONS) <= set(fastact.__all__)
    assert all(hasattr(fastact, name) for name in fastact.__all__)
    lists = {"variants", "activations", "derivatives"}
    assert {"isa", "max_ulp", "__version__", *lists} <= set(fastact.__all__)
    public = {name for name in vars(fastact) if not name.startswith("_")}
    imported = {"annotations", "importlib", "ModuleType", "TYPE_CHECKING"}
    modules = {name for name in public if f"fastact.{name}" in sys.modules}
    assert public - imported - modules <= set(fastact.__all__)
    assert set(fastact.__all__) | {"accuracy", "bench", "export"} <= set(dir(fastact))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'swish9'"):
        fastact.swish9  # noqa: B018


def test_import_takes_numpy_alone() -> None:
    script = (
        "import sys, numpy; before = set(sys.modules)\n"
        "import fastact; fastact.gelu(1.0)\n"
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    result = python("-c", script)
    assert result.stderr == ""
    imported = {name for name in result.stdout.split() if "cython" not in name}
    assert imported <= {"fastact", *sys.stdlib_module_names}


@pytest.mark.parametrize("name", ["accuracy", "bench", "export"])
def test_a_submodule_is_imported_when_it_is_first_used(name: str) -> None:
    script = (
        "import sys, fastact\n"
        f"assert 'fastact.{name}' not in sys.modules\n"
        f"print(fastact.{name} is sys.modules['fastact.{name}'])"
    )
    result = python("-c", script)
    assert (result.stdout, result.stderr) == ("True\n", "")
