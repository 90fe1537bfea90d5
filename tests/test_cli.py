"""The command line, run as people run it: in a process of its own."""

import json
import subprocess
import sys

import onnx
import pytest
from command_line import assert_error, environ, run, run_without

import fastact
from fastact import export
from fastact.export import FORMS


@pytest.fixture
def folder(tmp_path):
    """Make a working folder that a failed command must leave empty."""
    return tmp_path


# ---------------------------------------------------------------- help and version


def test_version():
    assert run("--version").stdout == f"fastact {fastact.__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_names_the_commands_and_exit_codes(words):
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("compare", "export", "info", "Exit codes:", "no model meets the budget"):
        assert word in done.stdout


def test_help_imports_nothing_large():
    script = (
        "import sys; from fastact.cli import main; main(['--help'])\n"
        "large = {'onnx', 'onnxruntime', 'sklearn', 'scipy', 'rich'} & set(sys.modules)\n"
        "assert not large, large"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environ())


def test_export_help_lists_what_can_be_exported():
    text = run("export", "--help").stdout
    for name in (*FORMS, "cnn"):
        assert name in text
    assert "--shape" in run("export", "gelu", "--help").stdout


def test_no_command_by_that_name():
    assert_error(run("comparre"), 2, "comparre", "fastact --help")


# ---------------------------------------------------------------- info


def test_info_tells_variant_and_versions():
    text = run("info", FASTACT_ISA="").stdout
    best = next(iter(fastact.variants))
    for word in (fastact.__version__, f"{best}, the best", "numpy", "CPU"):
        assert word in text
    for name in fastact.activations + fastact.derivatives:
        assert f"\n{name} " in text
    assert text.isascii()


def test_info_as_data():
    data = json.loads(run("info", "--json", FASTACT_ISA="").stdout)
    assert data["variants"] == list(fastact.variants)
    assert data["isa"] == data["variants"][0]
    assert data["FASTACT_ISA"] is None
    assert data["versions"]["onnx"] == onnx.__version__
    assert list(data["max_ulp"]) == [*fastact.activations, *fastact.derivatives]
    assert "int64" in data["dtypes"]["relu"]
    assert data["dtypes"]["gelu"] == ["float16", "float32", "float64", "bfloat16"]
    for name, bounds in data["max_ulp"].items():
        assert set(bounds) == {"float16", "bfloat16", "float32", "float64"}
        assert bounds["float32"] == fastact.max_ulp(name, "float32")


@pytest.mark.parametrize("isa", list(fastact.variants))
def test_info_tells_that_a_variant_was_forced(isa):
    assert f"{isa}, forced by FASTACT_ISA={isa}" in run("info", FASTACT_ISA=isa).stdout


@pytest.mark.parametrize("module", ["onnx", "onnxruntime", "sklearn", "rich"])
def test_info_needs_no_other_extra(module):
    done = run_without(module, "info")
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------- export


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name, forms in FORMS.items() for form in forms]
)
def test_export_writes_each_form(folder, name, form):
    done = run("export", name, "--form", form, "--opset", 20, "-o", "m.onnx", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "m.onnx").read_bytes() == (
        export.activation(name, form=form, opset=20).SerializeToString(deterministic=True)
    )
    size = (folder / "m.onnx").stat().st_size
    assert done.stdout == f"m.onnx: {name}, form {form}, opset 20, IR 9, {size} bytes\n"
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


def test_export_passes_every_option_on(folder):
    words = ["--opset", 13, "--dtype", "float16", "--shape", "batch, 3,8", "-o", folder / "g.onnx"]
    done = run("export", "gelu", *words)
    assert "form erf, opset 13, IR 7" in done.stdout
    expected = export.activation("gelu", opset=13, dtype="float16", shape=("batch", 3, 8))
    assert onnx.load(folder / "g.onnx") == expected


def test_export_writes_a_network(folder):
    words = ["--arch", "digits", "--activation", "gelu", "--batch", "n", "-o", folder / "c.onnx"]
    done = run("export", "cnn", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gelu, form erf, opset 17" in done.stdout
    model = export.cnn("digits", "gelu", batch="n")
    assert onnx.load(folder / "c.onnx") == model
    (accuracy,) = (entry.value for entry in model.metadata_props if entry.key == "accuracy")
    assert done.stdout.splitlines()[1:] == [f"accuracy: {accuracy}"]


@pytest.mark.parametrize("arch", export.ARCHITECTURES)
def test_export_chooses_for_a_target_and_says_why(folder, arch):
    words = ["--arch", arch, "--activation", "gelu_tanh", "--target", "nnapi"]
    done = run("export", "cnn", *words, "-o", "c.onnx", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("c.onnx: gelu_tanh, form tanh, opset 17, IR 8, ")
    assert second == export.choose("gelu_tanh", "nnapi").reason
    expected = export.cnn(arch, "gelu_tanh", target="nnapi")
    assert onnx.load(folder / "c.onnx") == expected


def test_export_of_what_a_target_cannot_run_says_what_to_use(folder):
    words = ["--arch", "resnet8", "--activation", "gelu", "--target", "tflite-micro"]
    done = run("export", "cnn", *words, "-o", "c.onnx", cwd=folder)
    assert_error(done, 2, "TFLite Micro", "no Gelu", "no Erf", "use gelu_tanh")
    assert list(folder.iterdir()) == []


def test_export_writes_8_bits(folder):
    words = ["--dtype", "int8", "--x-quantization", "0.05,-3", "-o", folder / "t.onnx"]
    done = run("export", "gelu", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gelu, form table, opset 17" in done.stdout
    expected = export.activation("gelu", dtype="int8", x_quantization=(0.05, -3))
    assert onnx.load(folder / "t.onnx") == expected
    words = ["--activation", "gelu", "--dtype", "uint8", "--form", "table", "-o", folder / "c.onnx"]
    done = run("export", "cnn", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gelu, form table, opset 17" in done.stdout
    assert "accuracy: 0.9" in done.stdout


def test_export_writes_ort_files(folder):
    done = run("export", "cnn", "--activation", "relu", "--ort", "-o", "c.onnx", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["c.onnx", "c.ort", "c.required_operators.config"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert f"{name}: " in done.stdout
    assert "FusedConv" in (folder / names[2]).read_text()
    words = ["--activation", "relu", "--target", "nnapi", "--ort", "-o", "c.onnx"]
    assert run("export", "cnn", *words, cwd=folder).returncode == 0
    assert ";Conv" in (folder / names[2]).read_text()
    done = run("export", "relu", "--ort", "-o", "r.ort", cwd=folder)
    assert_error(done, 2, "--ort", "r.ort")
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gelux"], ["gelux", "relu, relu6, gelu, gelu_tanh"]),
        (["gelu"], ["--output"]),
        (["gelu", "-o", "m.onnx", "--form", "tanh"], ["'tanh'", "'op', 'erf'"]),
        (["gelu", "-o", "m.onnx", "--form", "op", "--opset", 13], ["20", "13", "erf"]),
        (["gelu", "-o", "m.onnx", "--opset", 1000], ["1000"]),
        (["gelu", "-o", "m.onnx", "--opset", "new"], ["--opset", "new"]),
        (["gelu", "-o", "m.onnx", "--dtype", "float64"], ["float64", "kernel"]),
        (["gelu", "-o", "m.onnx", "--shape", "1,0"], ["0"]),
        (["gelu", "-o", "m.onnx", "--target", "iphone"], ["iphone", "'nnapi'"]),
        (["gelu", "-o", "m.onnx", "--target", "rknn", "--opset", 20], ["RKNN", "19", "20"]),
        (["gelu", "-o", "m.onnx", "--dtype", "int8"], ["x_quantization"]),
        (["gelu", "-o", "m.onnx", "--dtype", "int8", "--x-quantization", "1"], ["'1'", "0.05,0"]),
        (["gelu", "-o", "m.onnx", "--dtype", "int8", "--x-quantization", "0,0"], ["positive"]),
        (["cnn", "-o", "m.onnx", "--activation", "relu", "--dtype", "int4"], ["int4", "uint8"]),
        (["gelu", "-o", "m.onnx", "--shape", ""], ["dimension"]),
        (["cnn", "-o", "m.onnx", "--activation", "swish"], ["swish", "relu"]),
        (["cnn", "-o", "m.onnx", "--activation", "relu", "--arch", "vgg"], ["vgg", "digits"]),
        (["cnn", "-o", "m.onnx", "--activation", "relu", "--batch", "-1"], ["-1"]),
        (["cnn", "-o", "m.onnx"], ["--activation"]),
    ],
)
def test_export_of_what_cannot_be(folder, words, told):
    assert_error(run("export", *words, cwd=folder), 2, *told)
    assert list(folder.iterdir()) == []


def test_export_to_where_it_cannot_be_written(folder):
    assert_error(run("export", "relu", "-o", folder / "no" / "m.onnx"), 1, "no folder", "m.onnx")
    assert_error(run("export", "relu", "-o", folder), 1, "not a regular file")
    assert list(folder.iterdir()) == []


def test_a_failed_export_keeps_the_file_that_was_there(folder):
    (folder / "m.onnx").write_text("precious")
    run("export", "gelu", "--form", "op", "--opset", 9, "-o", "m.onnx", cwd=folder)
    assert (folder / "m.onnx").read_text() == "precious"


# ---------------------------------------------------------------- missing extras


def test_export_names_the_extra_it_lacks(folder):
    done = run_without("onnx", "export", "relu", "-o", "m.onnx", cwd=folder)
    assert_error(done, 1, "onnx", "pip install 'fastact[onnx]'")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [["--help"], ["info"], ["compare"]])
def test_without_click_every_command_names_the_extra(words):
    assert_error(run_without("click", *words), 1, "click", "pip install 'fastact[report]'")
