"""The survey of errors and the command `fastact accuracy` that prints it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastact
from fastact import _core, accuracy_survey
from fastact.accuracy import Worst

FUNCTIONS = fastact.activations + fastact.derivatives


def run(*words, before=""):
    """Run the command in a process of its own, after some Python code."""
    script = f"import sys\n{before}\nfrom fastact.cli import main\nsys.exit(main({list(words)!r}))"
    package = str(Path(fastact.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": package},
    )


# Faster, and of a promise that is kept whatever the kernels are.
QUICK = (
    "from functools import partial\n"
    "from fastact import accuracy_survey as s\n"
    "s.survey = partial(s.survey, functions=['relu', 'gelu'], dtypes=['float16'])\n"
)
BROKEN = f"{QUICK}s.Entry.ok = property(lambda entry: entry.function != 'gelu')\n"


def test_it_prints_a_line_for_each_error():
    done = run("accuracy", before=QUICK)
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines, last = done.stdout.splitlines()
    assert header.split()[:3] == ["function", "dtype", "variants"]
    assert {line.split()[0] for line in lines} == {"relu", "gelu"}
    assert all(line.endswith("ok") for line in lines)
    assert last == f"all {2 * len(fastact.variants)} promises are kept"
    assert "\x1b" not in done.stdout


def test_a_broken_promise_is_told_and_the_exit_code_is_1():
    done = run("accuracy", before=BROKEN)
    assert done.returncode == 1
    assert any(line.startswith("gelu") and "EXCEEDED" in line for line in done.stdout.splitlines())
    assert f"{len(fastact.variants)} of {2 * len(fastact.variants)} promises" in done.stdout


def test_json_holds_every_entry():
    done = run("accuracy", "--json", before=QUICK)
    data = json.loads(done.stdout)
    assert (done.returncode, data["schema"], data["skipped"]) == (0, 1, [])
    assert data["isa"] == fastact.isa
    assert [(e["function"], e["variant"]) for e in data["entries"]] == [
        (function, variant) for function in ("relu", "gelu") for variant in fastact.variants
    ]
    assert all(e["ok"] and e["values"] > 63_488 for e in data["entries"])


def test_json_of_a_broken_promise_has_exit_code_1():
    done = run("accuracy", "--json", before=BROKEN)
    assert done.returncode == 1
    assert not all(e["ok"] for e in json.loads(done.stdout)["entries"])


def test_what_is_not_installed_is_named():
    absent = "for name in ('mpmath', 'ml_dtypes'): sys.modules[name] = None\n"
    every = QUICK.replace("dtypes=['float16']", "dtypes=['bfloat16', 'float16', 'float64']")
    done = run("accuracy", before=absent + every)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("not looked at: ")]
    assert [line.split()[3] for line in told] == ["bfloat16:", "float64:"]
    assert "mpmath" in told[1]
    assert "fastact[test]" in told[1]


def test_the_whole_survey_keeps_every_promise():
    reports = []
    found = accuracy_survey.survey(stride=100_003, progress=lambda *report: reports.append(report))
    assert found.skipped == []
    assert found.exceeded == []
    pairs = len(FUNCTIONS) * len(accuracy_survey.DTYPES)
    assert len(found.entries) == pairs * len(fastact.variants)
    assert [report[1:] for report in reports] == [(done, pairs) for done in range(pairs + 1)]


@pytest.mark.parametrize("dtype", accuracy_survey.DTYPES)
def test_a_sample_has_both_signs_and_many_exponents(dtype):
    x = np.concatenate(list(accuracy_survey.sample("gelu", dtype, 100_003))).astype(np.float64)
    assert np.isfinite(x).all()
    for side in (x[x > 0], x[x < 0]):
        assert np.unique(np.frexp(side)[1]).size >= 40


def test_rows_merge_variants_of_the_same_error():
    entries = [
        accuracy_survey.Entry(
            "gelu", "float32", variant, _core.Bound(2.0, -5.5), Worst(ulp, -5.5), 9
        )
        for variant, ulp in [("avx512", 1.5), ("avx2", 1.5), ("scalar", 2.5)]
    ]
    assert accuracy_survey.Survey(entries, []).rows() == [
        ["gelu", "float32", "avx512, avx2", "1.5000", "-5.5", "2", "-5.5", "ok"],
        ["gelu", "float32", "scalar", "2.5000", "-5.5", "2", "-5.5", "EXCEEDED"],
    ]
