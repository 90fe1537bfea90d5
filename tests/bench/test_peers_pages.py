"""Ratios, goals and pages of the comparison with other libraries, on made-up figures."""

import pytest

from fastact.accuracy_survey import survey
from fastact.bench.peers import accuracy_page, latency_page, libraries, tables
from fastact.bench.peers.goals import GOALS, LIMITS, fastest, judge, ratio
from fastact.bench.peers.timing import Row
from fastact.bench.peers.workloads import SIZES, TABLES, Workload

GELU = Workload("gelu", "float32", 1_024)


def row(peer, p50, workload=GELU, kind="peers", cap="none", isa="avx512", **more):
    times = {"p10": p50 * 0.9, "p50": p50, "p90": p50 * 1.5, "rounds": 9}
    return Row(cap, isa, kind, peer, workload, **{**times, "difference": 0.0, "ulp": 1.0, **more})


ROWS = [
    row("fastact", 1_000.0, statement="gelu(x, out=y)"),
    row("torch", 1_500.0, ulp=1.7e7, difference=1e-6, statement="gelu(x, out=y)"),
    row("onnxruntime", 1_200.0),
    row("jax", 800.0, error="wrong by 1.0e+00"),
    row("MKL CdfNorm alone", 500.0),
    row("numba", 0.0, rounds=0, error="not installed"),
]


def test_ratio_is_how_many_times_as_long_the_other_takes():
    assert ratio(ROWS[0], ROWS[1]) == 1.5


def test_fastest_leaves_out_what_is_wrong_missing_or_no_gelu():
    assert fastest(ROWS).peer == "onnxruntime"
    assert fastest(ROWS, "torch").peer == "torch"
    assert fastest(ROWS, "MKL CdfNorm alone").p50 == 500.0
    assert fastest(ROWS[:1]) is None


def test_under_a_cap_fastest_leaves_out_what_cannot_be_capped():
    capped = [row("fastact", 1.0, cap="avx2"), row("onnxruntime", 1.0, cap="avx2")]
    assert fastest(capped) is None
    assert fastest([*capped, row("torch", 9.0, cap="avx2")]).peer == "torch"


@pytest.mark.parametrize(("time", "reached"), [(1_000.0, False), (900.0, True)])
def test_a_goal_is_a_least_ratio(time, reached):
    (outcome,) = judge([row("fastact", time), *ROWS[1:]])
    assert (outcome.against, outcome.n, outcome.wanted) == ("onnxruntime", 1_024, 1.3)
    assert (outcome.ratio, outcome.reached) == (pytest.approx(1_200 / time), reached)


def test_a_limit_is_a_largest_ratio():
    layouts = [
        row("fastact", time, Workload("gelu", "float32", 64, layout=layout), "layouts")
        for layout, time in [("contiguous", 10.0), ("stride 2", 24.0), ("transposed", 26.0)]
    ]
    outcomes = list(judge(layouts))
    assert [(o.against, o.ratio, o.reached) for o in outcomes] == [
        ("stride 2", 2.4, True),
        ("transposed", 2.6, False),
    ]


def test_gelu_is_held_against_relu():
    both = [
        row("fastact", time, Workload(function, "float32", 64), "functions")
        for function, time in [("relu", 10.0), ("gelu", 12.0)]
    ]
    (outcome,) = judge(both)
    assert (outcome.ratio, outcome.wanted, outcome.reached) == (1.2, 1.3, True)


def test_goals_name_what_is_measured():
    names = {peer.name for peer in libraries.PEERS}
    for goal in GOALS:
        assert (goal.function, goal.dtype) in TABLES
        assert set(goal.ratios) <= set(SIZES)
        assert goal.peer in {"", *names}
    assert {limit.kind for limit in LIMITS} == {"layouts", "values", "functions"}


def test_table_of_peers():
    header, *body = tables.peers_table(ROWS, spread=False)
    assert header == ["ns per element", "n = 1,024", "max difference", "max ULP"]
    assert body == [
        ["fastact", "0.977", "0", "1.00"],
        ["torch", "1.46", "1.0e-06", "1.7e+07"],
        ["onnxruntime", "1.17", "0", "1.00"],
        ["jax", "0.781 (!)", "0", "1.00"],
        ["MKL CdfNorm alone", "0.488", "0", "1.00"],
        ["numba", "not installed", "", ""],
        ["fastest other / fastact", "1.20 (onnxruntime)", "", ""],
    ]
    assert tables.peers_table(ROWS)[1][1] == "0.977 <sub>0.879-1.46</sub>"


def test_table_of_variations_shows_the_ratio_to_the_first():
    values = [
        row("fastact", time, Workload("gelu", "float32", 100, values=name), "values")
        for name, time in [("normal", 100.0), ("subnormal", 150.0)]
    ]
    assert tables.variations_table(values, "values") == [
        ["ns per element", "normal", "subnormal"],
        ["fastact, gelu, n = 100", "1.00", "1.50 (1.50)"],
    ]


def test_markdown():
    assert tables.markdown([["a", "b", "c"], ["x", "1", "2"]]) == [
        "| a | b | c |",
        "|---|---:|---:|",
        "| x | 1 | 2 |",
    ]


def test_the_page_holds_figures_goals_reasons_and_statements():
    page = latency_page.page(ROWS, ["a machine"], ["a process ended"])
    for text in (
        "* a machine\n",
        "**a process ended**",
        "## All instructions of this CPU",
        " against the fastest | 1,024 | onnxruntime | 1.20 | at least 1.3 | MISSED |",
        "jax: wrong by 1.0e+00; numba: not installed.",
        "* torch (in inference mode): gelu: `gelu(x, out=y)`",
    ):
        assert text in page
    assert all(line.count("|") != 1 for line in page.splitlines())


def test_accuracy_page_compares_the_peers(monkeypatch):
    small = survey(functions=["relu"], dtypes=["float16"])
    monkeypatch.setattr(accuracy_page.accuracy_survey, "survey", lambda: small)
    monkeypatch.setattr(accuracy_page, "COMPARED", (("gelu", "float32"), ("gelu", "float16")))
    found = accuracy_page.measure(1_000_003, libraries.PEERS[:3])
    assert {e.peer for e in found.errors} == {"fastact", "NumPy + SciPy"}
    worst = {(e.peer, e.region): e.ulp for e in found.errors if e.dtype == "float32"}
    assert worst["fastact", "x < -1"] < 4
    assert worst["NumPy + SciPy", "x < -1"] > 1e6
    assert found.to_dict()["ours"]["entries"][0]["function"] == "relu"
    page = accuracy_page.page(found, ["a machine"])
    assert page.startswith("# Accuracy\n\n* a machine\n")
    assert "| exact | -0 | -1.093013e-43 | -5.919526e-09 | -1.044426e-07 | nan | 1e+30 |" in page
