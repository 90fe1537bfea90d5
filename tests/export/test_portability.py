"""The portability check: with a runtime that is played, and what is stored of the real ones."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click.testing
import numpy as np
import pytest

from fastact.export import FORMS, choose
from fastact.export.portability import cases, command, environments
from fastact.export.portability.cases import Case
from fastact.export.portability.page import page
from fastact.export.portability.results import (
    Findings,
    Result,
    differences,
    disagreements,
    judge,
    read,
    to_json,
)
from fastact.export.portability.runtimes import BY_HAND, RUNTIMES, Runtime
from fastact.export.targets import TARGETS

DOCS = Path(__file__).parents[2] / "docs"
STORED = read(DOCS / "portability.json")

# Knows ReLU only; the other functions misbehave.
PLAYED = """
import os, time
import numpy as np

def relu(path, x):
    if "relu-op" not in path or x.ndim > 2:
        raise NotImplementedError(f"has no such thing as {path}\\nat line 1")
    print("a runtime may print")
    return np.maximum(x, 0), 1

def looks(path, x):
    return None, 3

def ends(path, x):
    os._exit(7) if "gelu" in path else None
    return x, 1

def hangs(path, x):
    time.sleep(60 if "gelu" in path else 0)
    return x, 1
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a runtime, played by NumPy, in the place of the real ones."""
    folder = tmp_path / "runners"
    folder.mkdir()
    monkeypatch.setattr(
        environments, "CHILD", Path(shutil.copy(environments.CHILD, folder / "child.py"))
    )
    (folder / "run_played.py").write_text(PLAYED)
    return tmp_path


def runtime(function: str) -> Runtime:
    return Runtime("Played", "tract", f"run_played.{function}", ("numpy",))


def run(folder: Path, function: str, seconds: float = 30) -> dict[str, dict[str, Any]]:
    models = [
        Case(name, "op", opset).write(folder)
        for name, opset in (("relu", 13), ("gelu", 20), ("hard_swish", 17))
    ]
    versions, answers = environments.run(
        Path(sys.executable), runtime(function), models, folder / "outputs", seconds=seconds
    )
    assert versions == {"numpy": np.__version__}
    return answers


def test_a_runtime_is_asked_about_each_model(played: Path) -> None:
    answers = run(played, "relu")
    assert answers["relu-op-13-float32"] == {"nodes": 1}
    case = Case("relu", "op", 13)
    output = np.load(played / "outputs" / f"{case.name}.npy")
    assert judge(case, answers[case.name], output) == Result("ok", 0.0, 1)
    refused = answers["gelu-op-20-float32"]["refused"]
    assert refused.startswith("NotImplementedError: has no such thing as ")
    reason = "has no such thing as gelu-op-20-float32.onnx"
    assert judge(Case("gelu", "op", 20), {"refused": refused}, None) == Result(
        "refused", reason=reason
    )
    assert judge(case, run(played, "looks")[case.name], None) == Result("ok", nodes=3)


@pytest.mark.parametrize(
    ("function", "seconds", "why"), [("ends", 30, "ended with code 7"), ("hangs", 2, "took more")]
)
def test_a_runtime_that_ends_or_hangs_loses_one_model(
    played: Path, function: str, seconds: float, why: str
) -> None:
    answers = run(played, function, seconds)
    assert why in answers["gelu-op-20-float32"]["refused"]
    assert answers["relu-op-13-float32"] == answers["hard_swish-op-17-float32"] == {"nodes": 1}


def test_a_runtime_that_does_not_start(played: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Played did not start: .*Error: .*'absent'$"):
        run(played, "absent")


def test_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    code = 1

    def pip(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(arguments)
        text = "WARNING: x\nERROR: No matching distribution found\n"
        return subprocess.CompletedProcess(arguments, code, "", text)

    monkeypatch.setattr(environments.subprocess, "run", pip)
    monkeypatch.setattr(environments.venv, "create", lambda place, **_: place.mkdir(parents=True))
    old = RUNTIMES["tract"]._replace(newest_python=(3, 9))
    with pytest.raises(environments.NotInstalledError, match=r"no wheel .* is for 3\.9"):
        environments.prepare(old, tmp_path)
    with pytest.raises(environments.NotInstalledError, match=r"^No matching distribution found$"):
        environments.prepare(RUNTIMES["tract"], tmp_path / "a")
    code = 0
    python = environments.prepare(RUNTIMES["tract"], tmp_path / "b")
    assert environments.prepare(RUNTIMES["tract"], tmp_path / "b") == python
    assert len(commands) == 2  # the second time it is there
    assert commands[1][0] == str(python)
    assert commands[1][-2:] == list(RUNTIMES["tract"].requirements)


@pytest.fixture
def invoke(played: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on the played runtime, with the digits CNN alone."""
    networks = cases.networks
    monkeypatch.setattr(cases, "networks", lambda target: networks(target, ["digits"]))
    monkeypatch.setitem(RUNTIMES, "tract", runtime("relu"))
    monkeypatch.setattr(environments, "prepare", lambda *_: Path(sys.executable))

    def invoke(*arguments: str) -> click.testing.Result:
        words = ["--runtimes", "tract", "--folder", str(played / "kept"), *arguments]
        return click.testing.CliRunner().invoke(command.main, words)

    return invoke


def test_command(invoke: Any, played: Path) -> None:
    kept, text = played / "found.json", played / "page.md"
    kept.write_text(to_json({"mnn": STORED["mnn"], "tract": STORED["tract"]}))
    result = invoke("--json", str(kept), "--markdown", str(text))
    assert result.exit_code == 0, result.output
    assert "tract (numpy " in result.output
    assert "6 ok, " in result.output  # relu at five opsets and in float16
    assert "gelu as op: the table says FUSED" in result.output
    found = read(kept)
    assert found["mnn"] == STORED["mnn"]  # which was not tried
    assert found["tract"].results["relu-op-13-float32"] == Result("ok", 0.0, 1)
    assert "| relu, op | ok 0, 1 op | ok 0, 1 op |" in text.read_text()
    assert "digits-relu-op-17-float32: it is what the table chooses" in text.read_text()
    assert str(played) not in text.read_text()

    same = invoke("--check", str(kept))
    assert (same.exit_code, "not as before" in same.output) == (0, False)
    other = invoke("--check", str(DOCS / "portability.json"))
    assert other.exit_code == 1
    assert "not as before: gelu-op-20-float32: was ok (9.5e-07), is refused" in other.output


def test_command_refuses(invoke: Any) -> None:
    result = click.testing.CliRunner().invoke(command.main, ["--runtimes", "tract,toaster"])
    assert result.exit_code == 2
    assert "unknown runtime 'toaster'; known: onnxruntime, " in result.output


def test_what_cannot_be_installed_is_told(invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(*_: Any) -> Path:
        raise environments.NotInstalledError("no network")

    monkeypatch.setattr(environments, "prepare", prepare)
    result = invoke()
    assert (result.exit_code, result.output) == (1, "tract: not tried: no network\n")
    # A new Python without an old runtime is no fault.
    monkeypatch.setitem(RUNTIMES, "tract", RUNTIMES["tract"]._replace(newest_python=(3, 11)))
    assert invoke().exit_code == 0


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_swapped_forms_are_wrong(dtype: str) -> None:
    exact, tanh = Case("gelu", "op", 20, dtype), Case("gelu_tanh", "op", 20, dtype)
    assert judge(exact, {"nodes": 1}, exact.expected).status == "ok"
    assert judge(exact, {"nodes": 1}, tanh.expected).status == "wrong"
    assert judge(tanh, {"nodes": 1}, exact.expected).status == "wrong"


def test_what_is_no_number_is_wrong() -> None:
    case = Case("relu", "op", 17)
    output = case.expected.copy()
    output[0, 5] = np.nan
    assert judge(case, {"nodes": 1}, output) == Result("wrong", None, 1)
    shape = judge(case, {"nodes": 1}, output[0])
    assert shape == Result("wrong", None, 1, "its output has the shape (2001,)")


def test_cnns_are_held_against_onnxruntime() -> None:
    case = Case("gelu", "erf", 17, arch="digits")
    expected = case.expected
    assert judge(case, {"nodes": 9}, expected) == Result("ok", 0.0, 9)
    off = expected + np.float32(2e-4 * np.abs(expected).max())
    assert judge(case, {"nodes": 9}, off).status == "wrong"
    relu = Case("relu", "op", 17, arch="digits").expected
    assert judge(case, {"nodes": 9}, relu).status == "wrong"


def test_changes_are_seen() -> None:
    before = Findings("a", {}, dict(STORED["tract"].results))
    assert differences(before, Findings("b", {}, dict(before.results))) == []
    now = dict(before.results)
    now["relu-op-13-float32"] = Result("ok", 1e-6, 1)  # no change that matters
    now["gelu-op-20-float32"] = Result("ok", 1e-6, 9)
    now["gelu-erf-13-float32"] = Result("wrong", 4.7e-4, 1)
    del now["silu-sigmoid-7-float32"]
    assert differences(before, Findings("b", {}, now)) == [
        "gelu-op-20-float32: was 1 operators, is 9",
        "gelu-erf-13-float32: was ok (9.5e-07), is wrong (0.00047)",
        "silu-sigmoid-7-float32: was not tried",
    ]


@pytest.mark.parametrize(
    ("name", "case", "result", "told"),
    [
        ("tract", "gelu-op-20-float32", Result("refused", reason="no"), "says FUSED .*found NO"),
        ("tract", "gelu-erf-9-float32", Result("wrong", 1e-3, 1), "says FUSED .*found WRONG"),
        ("tract", "gelu-erf-9-float32", Result("ok", 1e-7, 5), "says FUSED .*found RUNS"),
        ("tract", "digits-relu-op-17-float32", Result("wrong", 1.0, 9), "what the table chooses"),
        ("nnapi", "silu-sigmoid-7-float32", Result("refused", reason="no"), "RUNS .*found NO"),
        ("onnxruntime-1.17", "relu-op-22-float32", Result("ok", 0.0, 1), "the table ends at 20"),
    ],
)
def test_disagreement_with_the_targets_is_told(
    name: str, case: str, result: Result, told: str
) -> None:
    (sentence,) = disagreements(name, {**STORED[name].results, case: result})
    assert re.search(told, sentence)


def test_the_page_is_that_of_the_data() -> None:
    text = (DOCS / "portability.md").read_text()
    made = next(line for line in text.splitlines() if line.startswith("Last written by"))
    assert page(STORED, made.split("`")[1]) == text
    assert to_json(STORED) == (DOCS / "portability.json").read_text()
    assert list(STORED) == list(RUNTIMES)


@pytest.mark.parametrize("name", RUNTIMES)
def test_all_was_tried_and_is_as_in_the_table_of_targets(name: str) -> None:
    target = RUNTIMES[name].target
    tried = {case.name for case in (*cases.activations(), *cases.networks(target))}
    assert set(STORED[name].results) == tried
    assert disagreements(name, STORED[name].results) == []


@pytest.mark.parametrize("name", RUNTIMES)
@pytest.mark.parametrize("activation", FORMS)
def test_what_is_wrong_or_refused_is_never_chosen(name: str, activation: str) -> None:
    results = STORED[name].results
    tried = [case for case in cases.activations() if case.activation == activation]
    try:
        form, opset, _, reason = choose(activation, RUNTIMES[name].target)
    except ValueError:
        reason = ""
    if not reason or "leaves it to the CPU provider" in reason:
        assert all(results[case.name].status != "ok" for case in tried)
    else:
        assert results[Case(activation, form, opset).name].status == "ok"


def test_every_target_is_tried_or_has_a_reason() -> None:
    tried = {runtime.target for runtime in RUNTIMES.values()} | set(BY_HAND)
    assert {name for name in TARGETS if not name.startswith("onnxruntime")} == {
        name for name in tried if not name.startswith("onnxruntime")
    }
    assert sum(runtime.ci for runtime in RUNTIMES.values()) == 4
