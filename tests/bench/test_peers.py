"""The comparison with other libraries: how one is asked, timed and compared; no time asserted."""

import itertools
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import fastact
from fastact.bench.peers import caps, libraries
from fastact.bench.peers.peer import Call, Peer, UnsupportedError
from fastact.bench.peers.timing import Row, measure, take_turns
from fastact.bench.peers.workloads import LAYOUTS, SIZES, VALUES, Group, Workload, aligned, groups

OURS, FORMULA, COPY = libraries.PEERS[:3]
ACCURATE = {"float16": 5e-3, "float32": 1e-6, "float64": 1e-14}


def peer(bind, name="made up"):
    return Peer(name, "no-such-distribution", bind)


def one(workload, *peers):
    rows = measure(Group("peers", (workload,)), peers, seconds=0.0)
    return {row.peer: row for row in rows}


# --------------------------------------------------------------------------- a peer


def test_a_call_is_its_statement():
    x, y = np.float32([-1, 2]), np.empty(2, np.float32)
    assert Call("maximum(x, 0, out=y)", {"maximum": np.maximum, "x": x, "y": y}, y).result() is y
    assert y.tolist() == [0, 2]


def missing(function, x, y):
    raise ImportError("not here")


def unsupported(function, x, y):
    raise UnsupportedError("no float16")


def broken(function, x, y):
    raise RuntimeError("out of\n  luck")


@pytest.mark.parametrize(
    ("bind", "reason"),
    [
        (missing, "not installed"),
        (unsupported, "no float16"),
        (broken, "failed: RuntimeError: out of luck"),
        (lambda function, x, y: Call("1 / 0", {}), "failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_peer_that_cannot_is_a_row_that_says_why(bind, reason):
    row = one(Workload("gelu", "float16", 16), peer(bind))["made up"]
    assert (row.error, row.rounds, row.p50) == (reason, 0, 0)


@pytest.mark.parametrize("asked", libraries.PEERS, ids=lambda asked: asked.name)
def test_a_peer_computes_what_it_is_asked_for(asked):
    said = set()
    for function, dtype in itertools.product(["relu", "gelu", "gelu_tanh", "silu"], ACCURATE):
        x, y = aligned(64, dtype), aligned(64, dtype)
        x[:] = np.linspace(-4, 4, 64)
        call = asked.try_bind(function, x, y)
        if isinstance(call, str):
            said.add(call)
            assert call in (f"no {function}", f"no {dtype}", "not installed")
            continue
        result = call.result()
        assert result.dtype == dtype
        if asked.counts:
            exact = getattr(fastact, function)(x.astype(np.float64))
            assert np.abs(result - exact).max() < ACCURATE[dtype]
    if "not installed" in said:
        pytest.skip("not installed")


def test_every_function_of_ours_is_bound():
    x, y = np.float32([-1, 0, 1]), np.empty(3, np.float32)
    for function in fastact.activations:
        call = OURS.bind(function, x, y)
        assert call.statement == f"{function}(x, out=y)"
        assert call.result().tolist() == getattr(fastact, function)(x).tolist()


# --------------------------------------------------------------------------- workloads


def test_an_array_starts_on_a_cache_line():
    for n in (1, 3, 1_000):
        assert aligned(n, "float64").ctypes.data % 64 == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_hold_as_many_elements(layout):
    x = Workload("gelu", "float32", 200_704, layout=layout).input()
    assert x.size == 200_704
    assert x.flags.c_contiguous == (layout == "contiguous")


@pytest.mark.parametrize("values", VALUES)
def test_values_are_what_they_are_called(values):
    x = Workload("gelu", "float32", 1_000, values=values).input()
    tiny = np.finfo(np.float32).tiny
    assert (np.abs(x) < tiny).all() == (values == "subnormal")
    assert (np.abs(fastact.gelu(x)) < tiny).all() == (values != "normal")
    assert fastact.gelu(x).any()


def test_every_size_is_measured_for_every_table():
    kinds = [group.kind for group in groups()]
    assert kinds.count("peers") == 6 * len(SIZES)
    assert set(kinds) == {"peers", "layouts", "values", "functions"}


# --------------------------------------------------------------------------- timing


def test_turns_give_each_as_many_samples():
    counts = {"a": 0, "b": 0}

    def count(name):
        counts[name] += 1

    calls = {name: Call(f"count({name!r})", {"count": count}) for name in counts}
    samples = take_turns(calls, {"a": 3, "b": 2}, limit_s=0.0)
    assert {name: len(times) for name, times in samples.items()} == {"a": 10, "b": 10}
    assert counts == {"a": 36, "b": 24}  # the first two samples do not count


def test_a_slow_one_runs_in_fewer_rounds():
    calls = {"quick": Call("1", {}), "slow": Call("sleep(1e-4)", {"sleep": time.sleep})}
    samples = take_turns(calls, {"quick": 1, "slow": 1}, limit_s=0.0)
    assert {name: len(times) for name, times in samples.items()} == {"quick": 10, "slow": 2}


def test_a_context_is_entered_around_the_statement():
    inside = []

    @contextmanager
    def context():
        inside.append(True)
        yield
        inside.append(False)

    call = Call("append(inside[-1])", {"append": inside.append, "inside": inside}, None, context)
    assert call.time(1) > 0
    call.result()
    assert inside == [True, True, False] * 2


def test_results_are_compared_with_the_exact_ones():
    def zero(function, x, y):
        return Call("fill(0)", {"fill": y.fill}, y)

    def tail_lost(function, x, y):
        return Call("where(x < -5, 0, gelu(x))", {"where": np.where, "x": x, "gelu": fastact.gelu})

    rows = one(Workload("gelu", "float32", 1_024), OURS, peer(zero, "zero"), peer(tail_lost, "cut"))
    ours, zero, cut = rows["fastact"], rows["zero"], rows["cut"]
    assert (ours.error, ours.rounds) == ("", 10)
    assert 0 < ours.ulp <= fastact.max_ulp("gelu", "float32")
    assert zero.error.startswith("wrong by ")
    assert not cut.error
    assert cut.difference < 2e-6
    assert cut.ulp > 1e6


def test_another_dtype_is_no_result():
    def wide(function, x, y):
        return Call("f(x)", {"f": lambda x: fastact.gelu(x.astype(np.float64)), "x": x})

    assert one(Workload("gelu", "float32", 16), peer(wide))["made up"].error == "returned float64"


def test_a_call_that_changes_its_input_stops_the_run():
    def in_place(function, x, y):
        return Call("relu(x, out=x)", {"relu": fastact.relu, "x": x}, x)

    with pytest.raises(RuntimeError, match="changed its input"):
        one(Workload("relu", "float32", 64), peer(in_place))


def test_a_row_survives_json():
    row = one(Workload("relu", "float32", 16), OURS)["fastact"]
    assert Row.from_dict(json.loads(json.dumps(row.to_dict()))) == row


# --------------------------------------------------------------------------- caps


def test_a_cap_is_measured_in_a_process_of_its_own(monkeypatch):
    asked = caps.available()[-1]
    monkeypatch.setattr(caps, "_CHILD", [sys.executable, "-c", ECHO])
    found = list(caps.run(asked, 0.0, (16,)))
    assert found[:-1] == []
    told = found[-1].partition("died: ")[2]
    assert told == (asked.isa or "")


ECHO = """
import os, sys
print("something that a library says")
sys.exit("died: " + os.environ.get("FASTACT_ISA", ""))
"""


def test_numpy_is_capped_by_what_it_found():
    for cap in caps.CAPS:
        disabled = cap.variables().get("NPY_DISABLE_CPU_FEATURES", "").split()
        found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
        assert set(disabled) <= set(found)
        assert not any(name.startswith(cap.numpy_keeps or ()) for name in disabled)
        assert (cap.name == "none") == (cap.variables() == {})


# --------------------------------------------------------------------------- the command


def command(*words):
    package = str(Path(fastact.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "fastact.bench.peers", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": package},
    )


def test_the_command_writes_page_and_figures(tmp_path):
    page, data = tmp_path / "latency.md", tmp_path / "latency.json"
    words = ["--seconds", 0, "--cap", "none", "--size", 16]
    done = command(*words, "--markdown", page, "--json", data)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "gelu, float32" in done.stdout
    assert page.read_text().startswith("# Latency beside other libraries\n")
    rows = json.loads(data.read_text())["rows"]
    assert {row["workload"]["n"] for row in rows if row["kind"] == "peers"} == {16}
    assert {row["peer"] for row in rows} == {asked.name for asked in libraries.PEERS}


def test_an_unknown_cap_is_wrong_usage():
    done = command("--cap", "mmx")
    assert done.returncode == 2
    assert "known here: none" in done.stderr


@pytest.mark.parametrize("module", ["click", "rich", "onnx"])
def test_what_the_command_lacks_is_named_with_its_extra(module):
    script = f"import sys, runpy; sys.modules[{module!r}] = None; sys.argv = ['peers']\n"
    script += "runpy.run_module('fastact.bench.peers', run_name='__main__')"
    package = str(Path(fastact.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": package},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {module!r} is not installed; ")
    assert "fastact[peers]" in done.stderr
