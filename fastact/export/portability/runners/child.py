"""Runs models in one runtime, one after the other: python child.py JOB.json.

A line of JSON is written for each model as soon as it is through, so that a runtime that ends the
process loses one model only.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(job_path: str) -> None:
    """Run the models that a job lists.

    Parameters
    ----------
    job_path : str
        A JSON file: the runner as ``module.function``, the models with the file of their input
        and the file for their output, seconds for each, packages whose versions to tell, and the
        file for the results.
    """
    job = json.loads(Path(job_path).read_text())
    module, function = job["runner"].split(".")
    run = getattr(importlib.import_module(module), function)
    with open(job["results"], "a") as lines:
        versions = {name: importlib.metadata.version(name) for name in job["packages"]}
        print(json.dumps({"versions": versions}), file=lines, flush=True)
        for model in job["models"]:
            # Ends the process, whatever the runtime is doing.
            faulthandler.dump_traceback_later(job["seconds"], exit=True)
            print(json.dumps({"name": model["name"], **_one(run, model)}), file=lines, flush=True)
            faulthandler.cancel_dump_traceback_later()


def _one(run: Any, model: dict[str, str]) -> dict[str, Any]:
    try:
        y, nodes = run(model["path"], np.load(model["input"]))
    except Exception as error:  # whatever a runtime may raise is its answer
        return {"refused": f"{type(error).__name__}: {error}"}
    if y is not None:
        np.save(model["output"], np.asarray(y))
    return {"nodes": nodes}


if __name__ == "__main__":
    main(sys.argv[1])
