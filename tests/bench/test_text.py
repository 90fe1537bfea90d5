"""A comparison as text, on a terminal and piped."""

import dataclasses
import io
import re

import pytest
from rich.console import Console

from fastact.bench.text import show


def text(comparison, *, terminal):
    file = io.StringIO()
    width = 80 if terminal else 1000
    show(comparison, Console(file=file, force_terminal=terminal, width=width, no_color=True))
    return file.getvalue()


@pytest.fixture
def slow(comparison):
    """Make every time 10,000 times as long, as on a slow device."""

    def slower(m):
        times = {k: v if k == "n" else v * 1e4 for k, v in m.latency.to_dict().items()}
        return dataclasses.replace(
            m,
            latency=dataclasses.replace(m.latency, **times),
            create_ms=m.create_ms * 1e4,
            first_run_ms=m.first_run_ms * 1e4,
        )

    measured = tuple(map(slower, comparison.measurements))
    return dataclasses.replace(comparison, measurements=measured)


def test_every_figure_is_there(comparison):
    words = text(comparison, terminal=False).split()
    for m in comparison.measurements:
        assert words.count(m.name) >= 2
        counts = [m.nodes, m.parameters, m.file_bytes]
        for figure in [f"{m.accuracy:.2%}", f"{m.correct}/360", *map(str, counts)]:
            assert figure in words
    for heading in ("p50", "p90", "p99", "mean", "min", "load", "1st", "n"):
        assert heading in words


def test_the_verdict_and_each_note_are_one_line_when_piped(comparison):
    lines = text(comparison, terminal=False).splitlines()
    assert comparison.verdict.sentence in lines
    assert all(f"Note: {note}" in lines for note in comparison.notes)


def test_piped_text_is_plain(comparison):
    piped = text(comparison, terminal=False)
    assert piped.isascii()
    assert "\x1b" not in piped


@pytest.mark.parametrize("speed", ["comparison", "slow"])
def test_it_fits_into_80_columns_uncut(request, speed):
    lines = text(request.getfixturevalue(speed), terminal=True).splitlines()
    assert "…" not in "".join(lines)
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines) <= 80


def test_the_budget_column(comparison):
    assert "pass" in text(comparison, terminal=False)
    tight = dataclasses.replace(comparison, budget_ms=1e-9)
    assert text(tight, terminal=False).count("FAIL") == len(comparison.measurements)
    without = text(dataclasses.replace(comparison, budget_ms=None), terminal=False)
    assert "pass" not in without
    assert "FAIL" not in without
