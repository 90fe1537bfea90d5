"""Keeps the tests to the package that is installed.

After a plain `pip install .`, the folder fastact/ beside this file has no compiled extension, and
Python looks into the current folder first. So the tests, and the processes that they start, run
in an empty folder, and `python -m pytest` looks here last.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

sys.path.sort(key=lambda entry: Path(entry).resolve() == HERE)


@pytest.fixture(scope="session", autouse=True)
def _empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("empty"))
        yield
