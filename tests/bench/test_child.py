"""The process that measures: its limits hold, it is right, and it never outlives its parent."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from fastact.bench import PROFILES, Profile, ProfileError, RunError, child, limits

CUSTOM = PROFILES["custom"]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def model(body, x="float[2] x", y="float[2] y"):
    text = f'<ir_version: 8, opset_import: ["": 17]> m ({x}) => ({y}) {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


TWICE, SQUARE = model("y = Add (x, x)"), model("y = Mul (x, x)")
INPUTS = {"x": np.float32([[1, 2], [3, 4], [5, 6]])}


def run(models, inputs=INPUTS, profile=CUSTOM, **options):
    options = {"runs": 5, "warmup": 1, "limit_s": 60.0, **options}
    return child.run_in_turns(models, inputs, profile, **options)


def test_every_model_runs_on_every_sample():
    times = run({"twice": TWICE, "the square / 2?": SQUARE})
    assert times.outputs["twice"].tolist() == [[2, 4], [6, 8], [10, 12]]
    assert times.outputs["the square / 2?"].tolist() == [[1, 4], [9, 16], [25, 36]]
    for found in (times.samples_ns, times.create_ms, times.first_run_ms):
        assert list(found) == ["twice", "the square / 2?"]
    assert [len(samples) for samples in times.samples_ns.values()] == [5, 5]
    assert all(ns > 0 for samples in times.samples_ns.values() for ns in samples)


def test_outputs_only_if_asked_for():
    assert run({"a": TWICE}, outputs=False).outputs == {}


@pytest.mark.parametrize("name", ["file", "arr_0", "x/y", "self", "args"])
def test_an_input_may_have_any_name(name):
    identity = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Neg (x) }'
    )
    identity.graph.input[0].name = identity.graph.node[0].input[0] = name
    times = run({"a": identity.SerializeToString()}, {name: INPUTS["x"]})
    assert times.outputs["a"].tolist() == (-INPUTS["x"]).tolist()


def test_progress_comes_from_the_process():
    heard = []
    run({"a": TWICE, "b": SQUARE}, progress=lambda *report: heard.append(report))
    steps = [(what, done, 2) for what in ("loading", "running") for done in (0, 1)]
    assert heard == [*steps, ("timing", 5, 5)]


def test_memory_of_one_model():
    if limits.memory_mb() is None:
        pytest.skip("the system does not tell")
    large = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
            "large",
            [onnx.helper.make_tensor_value_info("x", 1, [1 << 23])],
            [onnx.helper.make_tensor_value_info("y", 1, [1 << 23])],
            [onnx.numpy_helper.from_array(np.ones(1 << 23, np.float32), "w")],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    peak, added = child.memory(TWICE, INPUTS, CUSTOM)
    assert 0 < added < 64
    assert peak > added
    # 32 MB each of weights, input and output.
    _, more = child.memory(
        large.SerializeToString(), {"x": np.zeros((1, 1 << 23), np.float32)}, CUSTOM
    )
    assert more > added + 64


@linux
def test_the_process_is_bound_and_limited(monkeypatch, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    script = (
        "import os, resource, sys; from fastact.bench import Profile, limits\n"
        f"limits.apply(Profile(cpus=({cpu},), memory_mb=77))\n"
        "print(os.sched_getaffinity(0), resource.getrlimit(resource.RLIMIT_DATA)[0] // 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{{{cpu}}} 77\n", "")


@linux
def test_too_little_memory_is_said():
    with pytest.raises(ProfileError, match="24 MB of memory are not enough"):
        run({"a": TWICE}, profile=Profile(memory_mb=24))


@linux
def test_inputs_do_not_count_as_the_models_memory():
    many = {"x": np.zeros((1 << 24, 2), np.float32)}  # 128 MB
    few, _ = child.memory(TWICE, INPUTS, CUSTOM)
    peak, _ = child.memory(TWICE, many, Profile(memory_mb=127))
    assert peak < few + 32


def test_limits_that_the_system_does_not_have(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ProfileError, match="cannot limit memory to 5 MB on darwin"):
        limits.apply(Profile(memory_mb=5))


@linux
def test_binding_that_the_system_refuses(monkeypatch):
    def refuse(pid, cpus):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with pytest.raises(ProfileError, match="cannot bind the process to CPUs"):
        limits.apply(Profile(cpus=(0,)))


@linux
def test_a_quota_holds_or_is_refused_and_leaves_nothing(tmp_path):
    before = groups()
    # Enough rounds to take more than a tenth of a second of CPU time.
    busy = {"a": model("y = Softmax (x)", "float[100000] x", "float[100000] y")}
    inputs = {"x": np.zeros((1, 100_000), np.float32)}
    start = time.perf_counter()
    start, refused, longest = time.perf_counter(), "", 0
    try:
        times = run(busy, inputs, Profile(cpu_quota=0.2), runs=3000, limit_s=2.0)
        longest = max(times.samples_ns["a"])
    except ProfileError as error:
        refused = str(error)
    # Runs that were stopped in the middle waited for the next tenth of a second.
    assert "cannot set a CPU quota on this system" in refused or longest > 20e6
    assert time.perf_counter() - start < 60
    assert groups() == before


def groups():
    return sorted(Path("/sys/fs/cgroup").rglob("fastact-*")) if os.path.isdir("/sys/fs") else []


def test_no_control_groups_at_all(monkeypatch):
    monkeypatch.setattr(limits, "_parents", lambda: iter(()))
    with (
        pytest.raises(ProfileError, match=r"no control groups .* leave it out"),
        limits.quota_group(0.5),
    ):
        pass


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (1, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "25000"}),
        (2, {"cpu.max": "25000 100000"}),
    ],
)
def test_what_is_written_for_a_quota(tmp_path, version, files):
    (tmp_path / "cpu.max").touch()
    limits._limit(tmp_path, version, 25_000)
    assert {name: (tmp_path / name).read_text() for name in files} == files


def test_a_group_that_cannot_be_made(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "_parents", lambda: iter([(tmp_path / "no", 2), (tmp_path, 2)]))
    with (
        pytest.raises(ProfileError, match="the cpu controller is not enabled"),
        limits.quota_group(0.5),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_does_not_run():
    with pytest.raises(RunError, match=r"INVALID_ARGUMENT.*Got: 3 Expected: 2"):
        run({"a": TWICE}, {"x": np.zeros((1, 3), np.float32)})
    with pytest.raises(RunError, match=r"(?i)protobuf"):
        run({"a": b"no model"})


def test_a_process_that_dies_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RunError, match="the measuring process ended with code 1"):
        run({"a": TWICE})


def started(tmp_path, *, ctrl_c=False):
    """Start a long measurement, and return it with the process that measures."""
    script = (
        "import numpy as np, os, sys; from fastact.bench import child, PROFILES\n"
        f"model = bytes.fromhex({TWICE.hex()!r})\n"
        "child.run_in_turns({'a': model}, {'x': np.zeros((1, 2), np.float32)},\n"
        "    PROFILES['custom'], runs=10**9, warmup=1, limit_s=100.0,\n"
        "    progress=lambda *report: print(*report, flush=True))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    while "timing" not in parent.stdout.readline():
        pass
    return parent, children(parent.pid)


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_process_ends_with_its_parent(tmp_path, how):
    parent, measuring = started(tmp_path)
    assert len(measuring) == 1
    parent.send_signal(how)
    parent.wait(timeout=30)
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in measuring):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if how is signal.SIGINT:  # the only one of the three after which there is time to tidy up
        assert list(tmp_path.iterdir()) == []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_the_process_says_is_passed_on(capfd, monkeypatch):
    monkeypatch.setenv("PYTHONMALLOCSTATS", "1")  # which makes every Python write to stderr
    run({"a": TWICE})
    assert "Small block threshold" in capfd.readouterr().err


def test_nothing_is_said_otherwise(capfd):
    run({"a": TWICE}, profile=replace(CUSTOM, threads=1))
    assert capfd.readouterr() == ("", "")
