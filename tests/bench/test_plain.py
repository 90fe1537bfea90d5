"""The latency of any models: `fastact.bench.bench`."""

import numpy as np
import pytest

from fastact import export
from fastact.bench import Profile, bench
from fastact.export import ModelError


@pytest.fixture
def files(tmp_path):
    names = ("relu", "gelu")
    return [export.save(export.cnn("digits", n, batch="n"), tmp_path / f"{n}.onnx") for n in names]


def test_models_are_measured_in_turns(files):
    found = bench(files, runs=300)
    assert [m.name for m in found.measurements] == [str(path) for path in files]
    assert found.data == "16 random inputs (image [1, 1, 8, 8])"
    for m in found.measurements:
        assert m.latency.n == 300
        assert found.throughput(m) == pytest.approx(1000 / m.latency.mean_ms)
        assert (m.parameters, m.macs, m.activation_elements) == (14378, 230720, 2048)
        assert m.file_bytes > 0
    assert found.measurements[0].ratio == 1
    assert found.notes == ()


def test_a_batch_counts_as_many_samples(tmp_path):
    path = export.save(export.cnn("digits", "relu", batch=4), tmp_path / "m.onnx")
    found = bench([path], runs=3, data={"image": np.zeros((9, 1, 8, 8), np.float32)})
    assert found.batch == 4
    (m,) = found.measurements
    assert found.throughput(m) == pytest.approx(4000 / m.latency.mean_ms)
    assert found.notes[0].startswith("1 of 9 samples are left out")
    assert found.notes[1].startswith("Only 3 runs")


def test_models_without_an_activation_are_measured_too(tmp_path):
    import onnx

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> m (float[1, 4] x, int64[1] n) => (float[1, 4] y) '
        "{ c = Cast <to = 1> (n) y = Add (x, c) }"
    )
    path = tmp_path / "add.onnx"
    path.write_bytes(model.SerializeToString())
    (m,) = bench([path], runs=3).measurements
    assert (m.activation_elements, m.nodes) == (0, 2)


def test_the_profile_applies(files):
    found = bench(files[:1], runs=3, profile=Profile(optimization="disabled"))
    assert found.measurements[0].operators["Relu"] == 3


def test_what_cannot_be_measured(files, tmp_path):
    with pytest.raises(ValueError, match="give at least one model"):
        bench([])
    with pytest.raises(OSError, match=r"none\.onnx"):
        bench([tmp_path / "none.onnx"])
    (tmp_path / "no.onnx").write_text("text")
    with pytest.raises(ModelError, match="not an ONNX model"):
        bench([tmp_path / "no.onnx"])
    other = export.save(export.activation("gelu"), tmp_path / "other.onnx")
    with pytest.raises(ValueError, match=r"other\.onnx takes other inputs than .*one by one"):
        bench([files[0], other])
