"""Docstrings, stubs, the reference and the guides: complete, true, and their examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import math
import os
import pkgutil
import re
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fastact
from fastact import _core, _docs, accuracy, bench, export

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
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


@pytest.mark.parametrize("function", ["max_ulp", "set_num_threads"])
def test_examples_of_the_extension(function: str) -> None:
    # doctest does not find them by itself.
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(getattr(fastact, function)), {}, function, "_core.pyx", 0
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


def public(module: ModuleType) -> set[str]:
    """Return the names that a module offers: its list, or what it defines without underscore."""
    defined = (key for key, value in vars(module).items() if is_defined_in(module, value))
    names = getattr(module, "__all__", defined)
    return {name for name in names if name == "__version__" or not name.startswith("_")}


def is_defined_in(module: ModuleType, value: object) -> bool:
    ours = getattr(value, "__module__", None) == module.__name__
    return ours and (inspect.isroutine(value) or inspect.isclass(value))


@pytest.mark.parametrize("module", [fastact, export, bench, accuracy], ids=lambda m: m.__name__)
def test_the_reference_has_every_public_name_once(module: ModuleType) -> None:
    page = ROOT / "docs" / "api" / f"{module.__name__.rpartition('.')[2]}.rst"
    text = page.read_text(encoding="utf-8")
    assert f"currentmodule:: {module.__name__}\n" in text
    names = re.findall(r"^\.\. (?!automodule|currentmodule)\w+:: (\w+)$", text, re.MULTILINE)
    assert sorted(names) == sorted(public(module))


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_examples_of_a_guide(guide: Path) -> None:
    code = "\n".join(blocks(guide, "python"))
    run(doctest.DocTestParser().get_doctest(code, {}, guide.stem, str(guide), 0))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_commands_of_a_guide(guide: Path, tmp_path: Path) -> None:
    """Each runs after those before it: some read what an earlier one wrote."""
    scripts = sysconfig.get_path("scripts")
    environ = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    for command in "".join(blocks(guide, "sh")).splitlines():
        if not command.startswith("fastact "):
            continue
        compares = command.startswith("fastact compare")
        few = " --runs 5" if compares else ""
        done = subprocess.run(
            command + few, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        too_noisy = compares and done.returncode == 4
        assert done.returncode == 0 or too_noisy, f"{command}: {done.stderr}"
        assert done.stdout.strip(), command


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [*GUIDES, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem)
def test_programs_that_are_named_exist(page: Path) -> None:
    """Files and folders of the repository, and modules that are run."""
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"(?<![\w/])(?:\.ci|tests|examples|docs|fastact)/[\w./-]*\w", text):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"python -m (fastact[\w.]*)", text):
        assert importlib.util.find_spec(module), module


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.+)$", citation, re.MULTILINE)
    assert version == fastact.__version__
