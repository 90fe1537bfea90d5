"""A comparison as text, on a terminal and piped."""

import dataclasses
import io
import re

import pytest
from rich.console import Console

from fastact.bench import Distance, Noise, bench
from fastact.bench.history import Change
from fastact.bench.profiles import NOT_EMULATED
from fastact.bench.text import show, show_bench, show_changes
from fastact.export import cnn, save


def printed(terminal, write, *args, **options):
    file = io.StringIO()
    width = 80 if terminal else 1000
    console = Console(file=file, force_terminal=terminal, width=width, no_color=True)
    write(*args, console, **options)
    return file.getvalue()


def text(comparison, *, terminal, **options):
    return printed(terminal, show, comparison, **options)


@pytest.fixture
def slow(comparison):
    """Make every time 10,000 times as long, as on a slow device."""

    def slower(m):
        times = {k: v if k == "n" else v * 1e4 for k, v in m.latency.to_dict().items()}
        return dataclasses.replace(m, latency=dataclasses.replace(m.latency, **times))

    measured = tuple(map(slower, comparison.measurements))
    return dataclasses.replace(comparison, measurements=measured)


def test_the_figures_of_the_one_table(comparison):
    lines = text(comparison, terminal=False).splitlines()
    for m in comparison.measurements:
        (row,) = (line.split() for line in lines if line.startswith(f"{m.name} "))
        low, high = m.seeds.interval
        assert f"{m.seeds.mean:.2%}" in row
        assert f"+-{50 * (high - low):.2f}" in row
        assert f"{m.ratio:.2f}" in row


def test_details_have_every_figure(comparison):
    words = text(comparison, terminal=False, details=True).split()
    for m in comparison.measurements:
        counts = [m.nodes, m.parameters, m.file_bytes, m.macs, m.activation_elements]
        for figure in [f"{m.accuracy.correct}/360", *map(str, counts)]:
            assert figure in words
    for heading in (
        "cost",
        "fusion",
        "arithmetic",
        "mean",
        "min",
        "load",
        "1st",
        "n",
        "smoothness",
        "minimum",
    ):
        assert heading in words


def test_what_the_profile_sets_and_cannot_emulate(comparison):
    whole = text(comparison, terminal=False)
    assert f"profile custom ({comparison.profile.stands_for}): batch 1, 1 thread" in whole
    for entry in NOT_EMULATED:
        assert entry in whole


def test_the_verdict_and_each_note_are_one_line_when_piped(comparison):
    lines = text(comparison, terminal=False).splitlines()
    assert comparison.verdict.sentence in lines
    assert all(f"Note: {note}" in lines for note in comparison.notes)


def test_noise_is_a_warning_unless_it_is_the_verdict(comparison):
    reasons = ("medians over time moved by 40%", "the load is 9.0 on 2 CPUs")
    noisy = dataclasses.replace(
        comparison,
        noise=Noise(0.4, None, 9.0, reasons),
        verdict=dataclasses.replace(comparison.verdict, too_noisy=False),
    )
    warning = f"Warning: the machine was noisy: {', '.join(reasons)}.\n"
    assert warning in text(noisy, terminal=False)
    silent = dataclasses.replace(
        noisy, verdict=dataclasses.replace(noisy.verdict, too_noisy=True, take=None)
    )
    assert "Warning" not in text(silent, terminal=False)


def test_piped_text_is_plain(comparison):
    piped = text(comparison, terminal=False, details=True)
    assert piped.isascii()
    assert "\x1b" not in piped


@pytest.mark.parametrize("budget", [None, 1000.0, 0.0123456])
@pytest.mark.parametrize("speed", ["comparison", "slow"])
@pytest.mark.parametrize("details", [False, True])
def test_it_fits_into_80_columns_uncut(request, speed, budget, details):
    shown = dataclasses.replace(request.getfixturevalue(speed), budget_ms=budget)
    lines = text(shown, terminal=True, details=details).splitlines()
    assert "\u2026" not in "".join(lines)
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines) <= 80


def test_the_budget_column(comparison):
    assert "pass" in text(comparison, terminal=False)
    tight = dataclasses.replace(comparison, budget_ms=1e-9)
    assert text(tight, terminal=False).count("FAIL") == len(comparison.measurements)
    p90 = comparison.measurements[0].p90_interval
    unsure = dataclasses.replace(comparison, budget_ms=sum(p90) / 2)
    assert ("unsure" in text(unsure, terminal=False)) == (p90[0] < p90[1])
    without = text(dataclasses.replace(comparison, budget_ms=None), terminal=False)
    assert "pass" not in without
    assert "FAIL" not in without


def test_unknown_accuracy_and_memory(comparison):
    bare = tuple(
        dataclasses.replace(m, seeds=None, accuracy=None, gain=None, model_mb=None, peak_mb=None)
        for m in comparison.measurements
    )
    shown = text(dataclasses.replace(comparison, measurements=bare), terminal=False, details=True)
    assert shown.count("unknown") == len(bare)
    one = tuple(dataclasses.replace(m, seeds=None) for m in comparison.measurements)
    shown = text(dataclasses.replace(comparison, measurements=one), terminal=False)
    assert f"{one[0].accuracy.share:.2%}" in shown.split()


def test_activations_that_move_apart_without_end(comparison):
    far = dataclasses.replace(comparison, distances=(Distance("relu", "relu6", None, None),))
    assert "\nrelu and relu6 move apart without end\n" in text(far, terminal=False, details=True)


def test_changes():
    found = [
        Change("relu/op", 1.0, 1.2, "slower"),
        Change("gelu/op", None, 2.0, "new"),
        Change("gelu/erf", 2.0, None, "gone"),
    ]
    lines = printed(False, lambda console: show_changes(found, "old.json", console)).splitlines()
    rows = [line.split() for line in lines if line]
    assert rows[0][:2] == ["against", "old.json"]
    assert rows[1] == ["relu/op", "1.0000", "1.2000", "1.20", "slower"]
    assert rows[2] == ["gelu/op", "2.0000", "new"]
    assert rows[3] == ["gelu/erf", "2.0000", "gone"]


def test_bench(tmp_path):
    path = save(cnn("digits", "relu"), tmp_path / "m.onnx")
    found = bench([path], runs=3, budget_ms=1000.0)
    whole = printed(False, show_bench, found)
    (m,) = found.measurements
    for figure in (m.macs, m.parameters, m.file_bytes, m.nodes, "14378", "pass"):
        assert str(figure) in whole.split()
    noisy = dataclasses.replace(found, noise=Noise(0.4, None, None, ("it moved",)))
    assert "Warning: the machine was noisy: it moved." in printed(False, show_bench, noisy)
