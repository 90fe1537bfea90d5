"""The process in which the fuzz tests read model files: conftest.py starts it with little memory.

Each line of standard input is JSON: a function, a path and options; the answer is one line.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

import onnxruntime  # noqa: F401  # before the limit, which then does not count it
from click.testing import CliRunner

from fastact import cli, export

MEMORY = 2**30  # bytes above what the packages take


def command(path: str, *arguments: str) -> None:
    """Run the command line, which must end with an exit code."""
    result = CliRunner().invoke(cli.cli, [arguments[0], path, *arguments[1:]])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        raise export.ModelError(result.output)


def answer(name: str, path: str, options: Any) -> str:
    try:
        if name == "command":
            command(path, *options)
        else:
            getattr(export, name)(path, **options)
    except (export.ModelError, OSError):
        return "refused"
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())
        return f"{type(error).__name__}: {text} ({Path(place.filename).name}:{place.lineno})"
    return "read"


def main() -> None:
    export.rewrite(export.activation("gelu"), form="erf")  # everything is imported once
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print("ready", flush=True)
    for line in sys.stdin:
        print(answer(*json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
