"""Files of pictures: of the right kind, the same on every run, whole or not there."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

from fastact.bench.report import plots
from fastact.bench.report.style import WIDE
from fastact.bench.results import Comparison


def test_png(digits: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "answer.png"
    plots.save(digits, path)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width == 2 * WIDE  # twice as fine as on the page
    assert 400 < height < 1000
    assert data[-8:-4] == b"IEND"


@pytest.mark.parametrize("suffix", plots.SUFFIXES)
def test_the_same_bytes_again(digits: Comparison, suffix: str, tmp_path: Path) -> None:
    one, other = tmp_path / f"one{suffix}", tmp_path / f"other{suffix.upper()}"
    plots.save(digits, one)
    plots.save(digits, other)
    assert one.read_bytes() == other.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {one.name, other.name}


@pytest.mark.parametrize("name", ["answer.gif", "answer", ".png"])
def test_another_suffix_is_refused(digits: Comparison, name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a picture is written as \.png, \.svg, \.pdf, not as"):
        plots.save(digits, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(digits: Comparison, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        plots.save(digits, tmp_path / "nowhere" / "answer.png")


def test_names_are_not_read_as_formulas(own_model: Comparison, tmp_path: Path) -> None:
    plots.save(own_model, tmp_path / "answer.svg")  # "$x_1$" would be one
    assert (tmp_path / "answer.svg").read_text().count("<!-- Take original: ") == 1


def test_a_user_s_settings_are_neither_used_nor_changed(digits: Comparison, tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.png" for n in range(2)]
    plots.save(digits, paths[0])
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "savefig.bbox": "tight"}):
        before = dict(mpl.rcParams)
        plots.save(digits, paths[1])
        assert dict(mpl.rcParams) == before
    first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)
    assert first == second


def test_no_window_is_ever_made() -> None:
    code = (
        "import sys; from fastact.bench.report import plots, html\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from fastact.bench.report.style import figure, style\n"
        "with style(): figure(9, 9)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib(
    digits: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"'matplotlib' is not installed.*'fastact\[html\]'"):
        plots.save(digits, tmp_path / "answer.png")
