"""Running the command line as people do, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import fastact

# These would colour or widen the output that the tests look at, or choose another variant.
UNSET = ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "PYTHONWARNINGS")


def environ(**more):
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    # The process runs the package that this test imports, whatever its working folder is.
    package = str(Path(fastact.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONWARNINGS": "error", "PYTHONPATH": path, **more}


def run(*words, cwd=None, **more):
    command = [sys.executable, "-m", "fastact", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environ(**more), timeout=120
    )


def run_without(module, *words, cwd=None):
    """Run with a module that cannot be imported, as if it were not installed."""
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {module!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"sys.argv = ['fastact', *{list(map(str, words))!r}]\n"
        "from fastact.__main__ import main\n"
        "sys.exit(main())\n"
    )
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environ(), timeout=120
    )


def assert_error(done, code, *words):
    """One line on stderr that holds the words, nothing on stdout, and the exit code."""
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1 == done.stderr.count("Error")
    for word in words:
        assert word in done.stderr
