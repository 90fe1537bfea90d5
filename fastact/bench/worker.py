"""The process that measures: it takes on a profile's constraints, and runs models.

`child` starts it with the path of a folder. There it finds ``job.json``, the models and their
inputs, and leaves ``result.json``, ``samples.npz`` and ``outputs.npz``. It writes its
progress to stdout, a line for each step.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import limits
from .latency import Candidate, interleave
from .profiles import Profile, ProfileError
from .session import Session

Arrays = dict[str, npt.NDArray[Any]]

# What is enough to have everything allocated, and how long to go on for each model.
_LEAST_WARMUP = 3
_WARMUP_MS = 500.0


def main(folder: Path) -> int:
    """Do the job that lies in a folder.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    int
        The exit code: 1 if ``result.json`` holds an error.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    job = json.loads((folder / "job.json").read_text())
    profile = Profile(**job["profile"])
    try:
        result, code = _measure(folder, job, profile), 0
    except Exception as error:  # onnxruntime has no class of its own for all of its errors
        result, code = _failure(error, profile), 1
    (folder / "result.json").write_text(json.dumps(result))
    return code


def _end_with_parent() -> None:
    """Wait for the end of stdin, which comes when the parent has gone, whatever ended it."""
    os.read(0, 1)  # not through sys.stdin, whose lock would be missed at the end
    os._exit(1)


def _failure(error: Exception, profile: Profile) -> dict[str, str]:
    """Tell what went wrong, and whether it was the profile that did not allow it."""
    reason = " ".join(str(error).split())[:300]
    words = ("memory", "alloc", "failed to map")
    short = isinstance(error, MemoryError) or any(word in reason.lower() for word in words)
    if profile.memory_mb is not None and short:
        told = f"{profile.memory_mb} MB of memory are not enough"
        return {"error": f"{told} ({reason})" if reason else told, "kind": "profile"}
    kind = "profile" if isinstance(error, ProfileError) else "run"
    return {"error": reason or type(error).__name__, "kind": kind}


def _measure(folder: Path, job: dict[str, Any], profile: Profile) -> dict[str, Any]:
    if job["group"] is not None:
        Path(job["group"]).write_text(str(os.getpid()))
    limits.apply(profile)
    # Mapped, so that many inputs count neither as the model's memory nor against the limit.
    inputs = {
        name: np.asarray(np.load(folder / f"input{i}.npy", mmap_mode="r"))
        for i, name in enumerate(job["inputs"])
    }
    import onnxruntime  # noqa: F401  before anything is measured

    return (_alone if job["alone"] else _together)(folder, job, profile, inputs)


def _warmup(rounds: int, sessions: list[Session]) -> int:
    """Limit the rounds that are not counted, where one of them takes long."""
    round_ms = sum(session.first_run_ms for session in sessions)
    return min(rounds, max(_LEAST_WARMUP, int(_WARMUP_MS * len(sessions) / round_ms)))


def _session(path: Path, profile: Profile, inputs: Arrays) -> Session:
    return Session(
        str(path),
        _sample(inputs, 0),
        threads=profile.threads,
        spinning=profile.spinning,
        optimization=profile.optimization,
    )


def _sample(inputs: Arrays, index: int) -> Arrays:
    return {name: values[index % len(values)] for name, values in inputs.items()}


def _alone(
    folder: Path, job: dict[str, Any], profile: Profile, inputs: Arrays
) -> dict[str, float | None]:
    """Tell what memory one model takes, in a process that has run no other."""
    before = limits.memory_mb()
    session = _session(folder / job["models"][0], profile, inputs)
    for index in range(_LEAST_WARMUP):
        session.load(_sample(inputs, index))
        session.run()
    peak = limits.peak_memory_mb()
    added = None if peak is None or before is None else peak - before
    return {"peak_mb": peak, "model_mb": added}


def _together(
    folder: Path, job: dict[str, Any], profile: Profile, inputs: Arrays
) -> dict[str, Any]:
    """Load all models, keep what they make of the inputs, and time them in turns."""
    paths = [folder / name for name in job["models"]]
    _session(paths[0], profile, inputs)  # the first session of a process starts the runtime
    sessions: list[Session] = []
    for path in paths:
        print(f"loading {len(sessions)} {len(paths)}", flush=True)
        sessions.append(_session(path, profile, inputs))
    if job["outputs"]:
        count = len(next(iter(inputs.values())))
        outputs: list[npt.NDArray[Any]] = []
        for session in sessions:
            print(f"running {len(outputs)} {len(paths)}", flush=True)
            outputs.append(np.stack([session(_sample(inputs, i)) for i in range(count)]))
        np.savez(folder / "outputs.npz", *outputs)

    def candidate(session: Session) -> Candidate:
        return Candidate(lambda number: session.load(_sample(inputs, number)), session.run)

    before = limits.preemptions()
    samples = interleave(
        dict(enumerate(map(candidate, sessions))),
        runs=job["runs"],
        warmup=_warmup(job["warmup"], sessions),
        limit_s=job["limit_s"],
        progress=lambda done, total: print(f"timing {done} {total}", flush=True),
    )
    after = limits.preemptions()
    np.savez(folder / "samples.npz", *map(np.array, samples.values()))
    return {
        "create_ms": [session.create_ms for session in sessions],
        "first_run_ms": [session.first_run_ms for session in sessions],
        "preemptions": None if before is None or after is None else after - before,
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
