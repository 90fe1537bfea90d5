"""What README.md says: its code, its commands, and the files and extras that it names."""

import doctest
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import fastact
from fastact.export import TARGETS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]
FASTACT = [line for line in COMMANDS if re.match(r"(FASTACT_ISA=\w+ )?fastact ", line)]
PYTEST = [line for line in COMMANDS if line.startswith("pytest ")]
SCRIPTS = [line for line in COMMANDS if line.startswith("python ")]
NAMES = fastact.activations + fastact.derivatives


def shell(command, cwd):
    scripts = sysconfig.get_path("scripts")
    environ = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, cwd=cwd, env=environ, timeout=120
    )


def test_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it saves a model
    code = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, "README", None, 0)
    assert len(code.examples) > 10
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(code, out=told.append)
    assert not told, "".join(told)


def test_no_command_is_left_out():
    install, test, *others = COMMANDS
    assert sorted(others) == sorted(FASTACT + PYTEST + SCRIPTS)
    assert "fastact compare" in install
    assert "pytest" in test


def test_the_first_two_commands_are_those_that_ci_runs():
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    for command in COMMANDS[:2]:
        assert command in [line.strip() for line in run]


def test_nothing_stands_before_the_two_commands():
    title, _, sentence, _, fence = README.splitlines()[:5]
    assert title == "# fastact"
    assert sentence.endswith(".")
    assert fence == "```sh"


def written(command):
    """Name the files that a command says it writes."""
    files = re.findall(r"(?:-o|--json|--html|--plot|rewrite \S+) (\S+)", command)
    if "--ort" in command:
        stem = Path(files[0]).stem
        files += [f"{stem}.ort", f"{stem}.required_operators.config"]
    return files


def maker(command):
    """Find the command that makes the model which another one reads, if it reads one."""
    read = re.match(r"fastact (?:inspect|rewrite|bench|compare --model) (\S+)", command)
    if read is None:
        return None
    earlier = FASTACT[: FASTACT.index(command)]
    (found,) = [other for other in earlier if read[1] in written(other)]
    return found


@pytest.mark.parametrize("command", FASTACT)
def test_fastact_command(command, tmp_path):
    there = []
    if (first := maker(command)) is not None:
        assert shell(first, tmp_path).returncode == 0
        there = written(first)
    done = shell(command, tmp_path)
    # Beside other tests, the machine may be too noisy for a verdict.
    assert done.returncode in ((0, 4) if "compare" in command else (0,))
    assert done.stderr == ""
    assert done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(there + written(command))


@pytest.mark.parametrize("command", PYTEST)
def test_pytest_command_selects_something(command, tmp_path):
    # Only collected: nothing is timed, and so nothing written.
    options = f"--collect-only --quiet -W 'ignore:Not saving anything' -c '{ROOT}/pyproject.toml'"
    done = shell(f"{command} {options} '{ROOT}/tests/benchmarks'", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_table_of_speed_is_made_by_a_script(tmp_path):
    (command,) = SCRIPTS
    _, script, timings = command.split()
    info = {"activation": "gelu", "dtype": "float32", "variant": "avx2", "n": 1024}
    others = ({**info, "dtype": "float64"}, {"activation": "gelu", "form": "op", "n": 1})
    benchmarks = [{"extra_info": entry, "stats": {"median": 512e-9}} for entry in (info, *others)]
    (tmp_path / timings).write_text(json.dumps({"benchmarks": benchmarks}))
    done = shell(f"python '{ROOT / script}' {timings}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "| ns per element | n = 1,024 |\n|---|---:|\n| gelu, avx2 | 0.50 |\n\nfloat32, medians"
    )


def test_the_table_of_accuracy_is_that_of_the_registry():
    section = README.partition("\n## Accuracy\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w[\w, ]*) \|((?: [\d.]+ \|){4})$", section, flags=re.MULTILINE)
    told = {}
    for names, cells in rows:
        bounds = [float(cell) for cell in cells.split("|") if cell.strip()]
        told |= dict.fromkeys(names.split(", "), bounds)
    assert sorted(told) == sorted(NAMES)
    dtypes = ("float32", "float64")
    for name, bounds in told.items():
        for variant in fastact.variants:
            here = [fastact.max_ulp(name, dtype, variant=variant) for dtype in dtypes]
            # The baseline of x86 has no fused multiply-add; elsewhere it may have.
            assert here == (bounds[2:] if variant == "scalar" else bounds[:2]), (name, variant)


def test_every_function_is_named():
    for name in NAMES:
        assert f"`{name}`" in README


def test_every_target_is_named():
    sentence = README[README.index("* `--target`") : README.index("* `digits`")]
    for name in TARGETS:
        word = re.match(r"[a-z]+", name)[0]
        assert word in sentence.lower(), name


def test_layout_names_what_is_there():
    (tree,) = [block for block in blocks("text") if "pyproject.toml" in block]
    folders = [ROOT]
    for line in tree.splitlines():
        indent, name = re.match(r"( *)(\S+)", line).groups()
        del folders[len(indent) // 2 + 1 :]
        path = folders[-1] / name
        assert path.is_dir() if name.endswith("/") else path.is_file(), path
        folders.append(path)


def test_links_lead_to_files():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


def test_every_extra_is_named():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\w+) = \[", section, flags=re.MULTILINE)
    assert extras
    assert re.findall(r"^\| `\.\[(\w+)\]`", README, flags=re.MULTILINE) == extras


def test_every_variant_is_named():
    source = (ROOT / "fastact" / "kernels" / "variants.mk").read_text(encoding="utf-8")
    lists = re.findall(r"^FASTACT_VARIANTS_\w+ = (.*)", source, flags=re.MULTILINE)
    variants = {name for names in lists for name in names.split()}
    assert {"scalar", fastact.isa} <= variants
    for name in variants:
        assert f"`{name}`" in README


def test_python_version():
    lowest = importlib.metadata.metadata("fastact")["Requires-Python"].removeprefix(">=")
    assert f"Python {lowest} or later" in README
    assert sys.version_info >= tuple(map(int, lowest.split(".")))
