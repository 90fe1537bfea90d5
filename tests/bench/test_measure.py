"""The comparison on the real network and images, with few runs; no figure is judged here."""

import json

import numpy as np
import onnx
import pytest

from fastact import export
from fastact.bench import SCHEMA, DisagreementError, Session, compare, interleave
from fastact.bench.measure import AGREEMENT, COMPARED, check_agreement
from fastact.export import FORMS, digits
from fastact.export.cost import parameters


def logits(model):
    images = digits.load("test")[0]
    session = Session(model.SerializeToString(), images[:1])
    return np.concatenate([session(images[i, None]) for i in range(len(images))])


def test_every_form_is_measured_and_relu_comes_first(comparison):
    names = [m.name for m in comparison.measurements]
    assert names[0] == "relu/op"
    assert set(names) == {f"{name}/{form}" for name in COMPARED for form in FORMS[name]}
    assert {"gelu/op", "gelu/erf", "gelu_tanh/op", "gelu_tanh/tanh"} <= set(names)


def test_each_measurement_is_complete(comparison):
    for m in comparison.measurements:
        times = m.latency
        assert times.n == 3
        assert 0 < times.min_ms <= times.p50_ms <= times.p90_ms <= times.p99_ms
        assert min(m.create_ms, m.first_run_ms) > 0
        assert 0 <= m.slower_share <= 1


def test_file_size_parameters_and_nodes_are_the_models(comparison, tmp_path):
    for m in comparison.measurements:
        model = export.cnn("digits", m.activation, form=m.form, opset=20)
        assert m.file_bytes == export.save(model, tmp_path / "m.onnx").stat().st_size
        assert m.parameters == parameters(model) == 14378
        assert m.nodes == sum(m.operators.values()) > 0


def test_accuracy_is_over_all_test_images(comparison):
    labels = digits.load("test")[1]
    for m in comparison.measurements:
        model = export.cnn("digits", m.activation, form=m.form, opset=20)
        right = logits(model).argmax(axis=1) == labels
        assert (m.correct, m.images) == (right.sum(), 360)
        assert m.accuracy == m.correct / 360 > 0.9
        assert m.correct == comparison.measurements[0].correct + m.gained - m.lost


def test_relu_is_measured_against_itself(comparison):
    relu = comparison.measurements[0]
    assert (relu.slower_share, relu.gained, relu.lost) == (0.5, 0, 0)
    assert comparison.p50_ratio(relu) == 1


def test_data_has_a_schema_and_survives_json(comparison):
    data = json.loads(json.dumps(comparison.to_dict()))
    assert data == comparison.to_dict()
    assert data["schema"] == SCHEMA == 1
    assert (data["arch"], data["threads"], data["budget_ms"]) == ("digits", 1, 1000.0)
    assert set(data["environment"]["versions"]) >= {"fastact", "numpy", "onnx", "onnxruntime"}
    assert data["verdict"]["sentence"] == comparison.verdict.sentence
    for model, m in zip(data["models"], comparison.measurements, strict=True):
        assert model["name"] == m.name
        assert model["meets_budget"] is True
        assert model["latency"]["p90_ms"] == m.latency.p90_ms


def test_each_round_runs_on_the_next_image(monkeypatch):
    images = digits.load("test")[0]

    def look(candidates, **options):
        for candidate in candidates.values():
            for number in (0, 1, 359, 360, 361):
                candidate.prepare(number)
                buffer = candidate.run.__self__.input
                np.testing.assert_array_equal(buffer[0], images[number % 360])
        return interleave(candidates, **options)

    monkeypatch.setattr("fastact.bench.measure.interleave", look)
    assert compare(runs=1).verdict.take


def test_few_runs_are_noted(comparison):
    assert comparison.notes[0].startswith("Only 3 runs")


def test_progress_is_reported_to_the_end(comparison, progress_reports):
    assert progress_reports[0][:2] == ("loading", 0)
    assert progress_reports[-1] == ("timing", 3, 3)


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf")])
def test_a_budget_must_be_positive(budget):
    with pytest.raises(ValueError, match="positive number of milliseconds"):
        compare(budget_ms=budget)


def test_unknown_network():
    with pytest.raises(ValueError, match="unknown architecture 'vgg'; known: digits"):
        compare("vgg")
    with pytest.raises(ValueError, match="resnet8 is not trained"):
        compare("resnet8")


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"threads": 0}])
def test_counts_must_be_positive(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        compare(**wrong)


def test_forms_agree_and_activations_do_not():
    check_agreement(
        {
            (activation, form): logits(export.cnn("digits", activation, form=form, opset=20))
            for activation, forms in FORMS.items()
            for form in forms
        }
    )


def test_a_form_that_computes_the_other_gelu_is_noticed():
    # The weights of the exact GELU with the tanh approximation: 4.7e-4 off at each site.
    swapped = export.cnn("digits", "gelu", form="op", opset=20)
    for node in swapped.graph.node:
        if node.op_type == "Gelu":
            node.ClearField("attribute")
            node.attribute.append(onnx.helper.make_attribute("approximate", "tanh"))
    exact = export.cnn("digits", "gelu", form="erf", opset=20)
    with pytest.raises(DisagreementError, match=r"gelu/erf and gelu/op differ by .* less than"):
        check_agreement({("gelu", "erf"): logits(exact), ("gelu", "op"): logits(swapped)})


def test_one_model_under_two_names_is_noticed():
    values = np.ones((2, 10), np.float32)
    with pytest.raises(DisagreementError, match="must differ by more"):
        check_agreement({("gelu", "op"): values, ("gelu_tanh", "op"): values + AGREEMENT / 2})


def test_nan_is_noticed():
    values = np.full((2, 10), np.nan, np.float32)
    with pytest.raises(DisagreementError):
        check_agreement({("gelu", "op"): values, ("gelu", "erf"): values})


def test_scalars_are_no_parameters():
    relu, tanh = (export.cnn("digits", name) for name in ("relu", "gelu_tanh"))
    assert parameters(relu) == parameters(tanh)
    assert len(tanh.graph.initializer) > len(relu.graph.initializer)
