"""Measuring in a process of its own, so that a profile's limits hold and its memory is real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .limits import quota_group
from .profiles import Profile, ProfileError

Progress = Callable[[str, int, int], object]


class RunError(RuntimeError):
    """A model could not be run; the message says why."""


@dataclass(frozen=True)
class Times:
    """What a process found that ran several models in turns.

    Parameters
    ----------
    samples_ns : dict of str to list of int
        For each model the duration of every round, in nanoseconds.
    outputs : dict of str to ndarray
        For each model its first output for every input; empty if not asked for.
    create_ms, first_run_ms : dict of str to float
        For each model how long loading and the first run took, in milliseconds.
    preemptions : int or None
        How often the CPU was taken away while timing.
    """

    samples_ns: dict[str, list[int]]
    outputs: dict[str, npt.NDArray[Any]]
    create_ms: dict[str, float]
    first_run_ms: dict[str, float]
    preemptions: int | None


def run_in_turns(
    models: Mapping[str, bytes],
    inputs: Mapping[str, npt.NDArray[Any]],
    profile: Profile,
    *,
    runs: int,
    warmup: int,
    limit_s: float,
    outputs: bool = True,
    progress: Progress | None = None,
) -> Times:
    """Time models in turns, all in one process under a profile's constraints.

    Parameters
    ----------
    models : mapping of str to bytes
        Serialised models by name.
    inputs : mapping of str to ndarray
        For each input of the models, the values of all samples; the first dimension is theirs.
    profile : Profile
        A fitted profile.
    runs, warmup, limit_s
        As for `fastact.bench.interleave`.
    outputs : bool, optional
        Whether to keep what the models make of the samples.
    progress : callable, optional
        Called with (what is going on, steps done, steps in all).

    Returns
    -------
    Times
        What was found.

    Raises
    ------
    ProfileError
        If the system does not set what the profile asks for, or it is too tight.
    RunError
        If a model does not run.
    """
    job = {"alone": False, "runs": runs, "warmup": warmup, "limit_s": limit_s, "outputs": outputs}
    with tempfile.TemporaryDirectory(prefix="fastact-") as name:
        folder = Path(name)
        result = _run(folder, list(models.values()), inputs, profile, job, progress)
        samples, kept = (_arrays(folder / f"{kind}.npz") for kind in ("samples", "outputs"))
    return Times(
        {name: times.tolist() for name, times in zip(models, samples, strict=True)},
        dict(zip(models, kept, strict=outputs)),
        dict(zip(models, result["create_ms"], strict=True)),
        dict(zip(models, result["first_run_ms"], strict=True)),
        result["preemptions"],
    )


def memory(
    model: bytes, inputs: Mapping[str, npt.NDArray[Any]], profile: Profile
) -> tuple[float | None, float | None]:
    """Tell what memory a model takes, in a process that runs no other.

    Parameters
    ----------
    model : bytes
        The serialised model.
    inputs, profile
        As for `run_in_turns`.

    Returns
    -------
    peak_mb, model_mb : float or None
        The most that the process held, and what the model added to it, in MB; None if the
        system does not tell.

    Raises
    ------
    ProfileError, RunError
        As `run_in_turns`.
    """
    with tempfile.TemporaryDirectory(prefix="fastact-") as name:
        result = _run(Path(name), [model], inputs, profile, {"alone": True}, None)
    return result["peak_mb"], result["model_mb"]


def _arrays(path: Path) -> list[npt.NDArray[Any]]:
    if not path.exists():
        return []
    with np.load(path) as archive:
        return [archive[name] for name in archive.files]


def _run(
    folder: Path,
    models: Sequence[bytes],
    inputs: Mapping[str, npt.NDArray[Any]],
    profile: Profile,
    job: Mapping[str, Any],
    progress: Progress | None,
) -> dict[str, Any]:
    # Files and arrays have numbers, since a name may hold anything.
    files = [f"{index}.onnx" for index in range(len(models))]
    for file, model in zip(files, models, strict=True):
        (folder / file).write_bytes(model)
    for index, values in enumerate(inputs.values()):
        np.save(folder / f"input{index}.npy", values)
    with quota_group(profile.cpu_quota) as group, (folder / "stderr").open("wb") as errors:
        whole = {
            **job,
            "profile": asdict(profile),
            "models": files,
            "inputs": list(inputs),
            "group": group and os.fspath(group),
        }
        (folder / "job.json").write_text(json.dumps(whole))
        code = _follow(folder, errors.fileno(), progress)
    said = (folder / "stderr").read_text(errors="replace").strip()
    result: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # a process that was ended leaves none, or half of one
        result = json.loads((folder / "result.json").read_text())
    if "error" in result:
        kind = ProfileError if result["kind"] == "profile" else RunError
        raise kind(result["error"])
    if code != 0:
        limit = f" under a limit of {profile.memory_mb} MB" if profile.memory_mb else ""
        last = f": {said.splitlines()[-1]}" if said else ""
        raise RunError(f"the measuring process ended with code {code}{limit}{last}")
    if said:  # what onnxruntime has to say is the user's to see
        print(said, file=sys.stderr)
    return result


def _follow(folder: Path, errors: int, progress: Progress | None) -> int:
    """Start the process, pass its progress on, and see it end, whatever happens here."""
    # It imports what this process imports, from the same places; not from the working folder.
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": os.fspath(folder),  # where onnxruntime leaves a file
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "fastact.bench.worker", os.fspath(folder)],
        cwd=folder,
        stdin=subprocess.PIPE,  # open as long as this process lives
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
        start_new_session=True,  # Ctrl-C comes to this process alone, which ends the other
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for line in process.stdout:
            what, done, total = line.split()
            if progress is not None:
                progress(what, int(done), int(total))
        return process.wait()
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
