"""Environments of their own for the runtimes, and the processes in them that run the models."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .runtimes import Runtime

CHILD = Path(__file__).with_name("runners") / "child.py"

# For one model: the largest takes a second, and a runtime that hangs is seen soon.
SECONDS = 60


class NotInstalledError(Exception):
    """A runtime cannot be installed here; the text says why."""


def prepare(runtime: Runtime, folder: Path) -> Path:
    """Install a runtime into an environment, or find it there.

    Parameters
    ----------
    runtime : Runtime
        What to install.
    folder : Path
        Where environments are.

    Returns
    -------
    Path
        The environment's Python.

    Raises
    ------
    NotInstalledError
        If there is no wheel for this Python, or pip fails.
    """
    newest = runtime.newest_python
    if newest is not None and sys.version_info[:2] > newest:
        raise NotInstalledError(
            f"no wheel for Python {sys.version_info[0]}.{sys.version_info[1]}; "
            f"the last it has is for {newest[0]}.{newest[1]}"
        )
    place = folder / re.sub(r"[^\w.]+", "-", " ".join(runtime.requirements))
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = place / "ready"
    if not ready.exists():
        venv.create(place, clear=True, with_pip=True)
        # Wheels only: a runtime that must be compiled first is none to be tried on. Most modules
        # are never imported, so that compiling all of them would take longer than it saves.
        pip = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        pip.append("--no-compile")
        done = subprocess.run([*pip, *runtime.requirements], text=True, capture_output=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
            raise NotInstalledError((errors or ["ERROR: pip failed"])[-1].removeprefix("ERROR: "))
        ready.touch()
    return python


def run(
    python: Path,
    runtime: Runtime,
    models: Sequence[dict[str, str]],
    folder: Path,
    *,
    seconds: float = SECONDS,
) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Run models in a runtime.

    Parameters
    ----------
    python : Path
        The Python of an environment that has it.
    runtime : Runtime
        What runs them.
    models : sequence of dict
        What `Case.write` returns for each.
    folder : Path
        Where to put the outputs, as ``name.npy``.
    seconds : float, optional
        How long one model may take.

    Returns
    -------
    versions : dict
        Of the packages in the environment.
    answers : dict
        For each model's name, ``nodes`` or ``refused``. A model that ended the process, or that
        took too long, is refused; those after it are run in another process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines, job = folder / "results.jsonl", folder / "job.json"
    lines.unlink(missing_ok=True)
    versions: dict[str, str] = {}
    answers: dict[str, dict[str, Any]] = {}
    left = [{**model, "output": str(folder / f"{model['name']}.npy")} for model in models]
    # A runtime that runs a command, such as pip, gets that of its own environment.
    path = os.pathsep.join([str(python.parent), os.environ.get("PATH", os.defpath)])
    facts = {"runner": runtime.runner, "packages": runtime.packages, "seconds": seconds}
    while left:
        job.write_text(json.dumps({**facts, "models": left, "results": str(lines)}))
        command = [str(python), "-E", "-s", "-B", str(CHILD), str(job)]
        done = subprocess.run(
            command,
            text=True,
            capture_output=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "PATH": path},
        )
        for line in lines.read_text().splitlines() if lines.exists() else ():
            entry = json.loads(line)
            versions |= entry.pop("versions", {})
            if "name" in entry:
                answers[entry.pop("name")] = entry
        if not versions:
            last = (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1]
            raise RuntimeError(f"{runtime.title} did not start: {last}")
        left = [model for model in left if model["name"] not in answers]
        if left:
            hung = "Timeout (" in done.stderr
            why = f"took more than {seconds} s" if hung else f"ended with code {done.returncode}"
            answers[left.pop(0)["name"]] = {"refused": f"the process {why}"}
    return versions, answers
