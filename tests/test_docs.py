"""Docstrings and stubs: complete, true of the extension, and their examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import math
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import fastact
from fastact import _core, _docs

FUNCTIONS = fastact.activations + fastact.derivatives

MODULES = [
    "fastact",
    *(
        module.name
        for module in pkgutil.walk_packages(fastact.__path__, "fastact.")
        if not module.name.endswith("__main__")
    ),
]


def run(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_a_module(module: str) -> None:
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        run(test)


def test_examples_of_max_ulp() -> None:
    # A function of the extension: doctest does not find it by itself.
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(fastact.max_ulp), {}, "max_ulp", "_core.pyx", 0
    )
    assert len(test.examples) >= 3
    run(test)


def test_examples_of_a_ufunc(name: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # With the variant's own ufuncs as the public ones.
    for field, ufunc in fastact.variants[variant]._asdict().items():
        monkeypatch.setattr(fastact, field, ufunc)
    ufunc = getattr(fastact.variants[variant], name)
    test = doctest.DocTestParser().get_doctest(ufunc.__doc__, {}, name, "_docs.py", 0)
    assert len(test.examples) > 2
    assert any(f"fastact.{name}(" in example.source for example in test.examples)
    run(test)


def test_every_function_has_a_text_and_every_text_a_function() -> None:
    assert sorted(_docs.TEXTS) == sorted(FUNCTIONS)


def test_a_docstring_is_complete(name: str, variant: str) -> None:
    documentation = getattr(fastact.variants[variant], name).__doc__
    sections = re.findall(r"^    (\w+)\n    -+$", documentation, re.MULTILINE)
    assert sections == ["Parameters", "Returns", "Raises", "Notes", "Examples"]
    assert f"{name}(x, /, out=None, *, where=True" in documentation  # NumPy's own line
    assert max(map(len, documentation.splitlines()[2:])) <= 100


def test_the_bounds_printed_are_those_of_the_registry(name: str, variant: str) -> None:
    documentation = getattr(fastact.variants[variant], name).__doc__
    assert f"Largest error of the {variant} variant:" in documentation
    rows = re.findall(r"^    (b?float\d+) +(\S+) +(\S+)$", documentation, re.MULTILINE)
    registry = _core.registry[variant][name]
    floats = {dtype: bound for dtype, bound in registry.items() if "float" in dtype}
    assert [dtype for dtype, _, _ in rows] == list(floats)
    for dtype, ulp, at in rows:
        bound = floats[dtype]
        assert float(ulp) == bound.max_ulp
        if math.isnan(bound.at):  # exact, or correctly rounded: no input is worse than another
            assert at == "any"
        else:
            assert float(at) == bound.at
    assert ("every integer dtype" in documentation) == ("int8" in registry)


def test_max_ulp_is_documented() -> None:
    documentation = inspect.getdoc(fastact.max_ulp)
    sections = re.findall(r"^(\w+)\n-+$", documentation, re.MULTILINE)
    assert sections == ["Parameters", "Returns", "Raises", "Examples"]


def stub() -> dict[str, Any]:
    """Return the statements of _core.pyi by the name that each defines."""
    tree = ast.parse(Path(fastact.__file__).with_name("_core.pyi").read_text())
    names: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            names[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign):
            names[ast.unparse(statement.target)] = statement
    return names


@pytest.mark.parametrize("name", ["Variant", "Bound"])
def test_the_stub_has_the_fields_of_the_tuples(name: str) -> None:
    fields = [field for field in stub()[name].body if isinstance(field, ast.AnnAssign)]
    assert tuple(ast.unparse(field.target) for field in fields) == getattr(_core, name)._fields
    if name == "Variant":
        assert {ast.unparse(field.annotation) for field in fields} == {"np.ufunc"}
        assert getattr(_core, name)._fields == FUNCTIONS


def test_the_stub_names_what_is_there() -> None:
    assert set(stub()) <= set(vars(_core))
    constants = {"activations", "derivatives", "isa", "registry", "variants"}
    assert {*constants, "max_ulp"} <= set(stub())
    for name, statement in stub().items():
        if isinstance(statement, ast.FunctionDef):
            arguments = statement.args.args + statement.args.kwonlyargs
            parameters = inspect.signature(getattr(_core, name)).parameters
            assert [argument.arg for argument in arguments] == list(parameters), name
