"""The cost of the kernels for each element: what is measured and how, no figure is judged."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import fastact
from fastact.bench import DisagreementError, interleave
from fastact.bench.functions import kernel_cost, kernel_timing
from fastact.bench.functions.caches import Caches
from fastact.bench.functions.kernel_cost import Cost, KernelCosts, measure


@pytest.fixture(scope="module")
def reports():
    return []


@pytest.fixture(scope="module")
def costs(reports):
    return measure(largest=5000, seconds=0.2, progress=lambda *report: reports.append(report))


@pytest.fixture
def by_hand():
    return KernelCosts(
        variant="avx2",
        caches=Caches(l1d=1 << 15, l2=1 << 15, l3=None),
        sizes=(1024, 4096, 16384),
        runs=(9, 9, 3),
        median_ns={"relu": (0.3, 0.2, 0.5), "gelu": (0.6, 0.5, 0.7)},
        q1_ns={"relu": (0.2, 0.1, 0.4), "gelu": (0.5, 0.4, 0.6)},
        q3_ns={"relu": (0.4, 0.3, 0.6), "gelu": (0.7, 0.6, 0.8)},
        seconds=0.1,
    )


def test_every_activation_is_timed_at_every_size(costs):
    assert costs.sizes == (64, 256, 1024, 4096)
    assert costs.variant == fastact.isa
    assert costs.caches == Caches.here()
    for column in (costs.median_ns, costs.q1_ns, costs.q3_ns):
        assert tuple(column) == fastact.activations
        assert {len(values) for values in column.values()} == {len(costs.sizes)}
    assert len(costs.runs) == len(costs.sizes)
    assert min(costs.runs) >= 1
    for name in fastact.activations:
        for i in range(len(costs.sizes)):
            cost = costs.cost(name, i)
            assert cost.n == costs.sizes[i]
            assert 0 < cost.q1_ns <= cost.median_ns <= cost.q3_ns


def test_progress_goes_from_none_to_all(costs, reports):
    assert reports == [("timing the kernels", done, 4) for done in range(5)]


def test_it_survives_json(costs):
    text = json.dumps(costs.to_dict(), allow_nan=False)
    assert KernelCosts.from_dict(json.loads(text)) == costs


def test_another_layout_is_refused(costs):
    with pytest.raises(ValueError, match="schema 99; known: 1"):
        KernelCosts.from_dict({**costs.to_dict(), "schema": 99})


def test_in_cache_is_the_largest_that_fits_with_its_output(by_hand):
    assert by_hand.in_cache("gelu") == Cost(4096, 0.5, 0.4, 0.6)
    assert by_hand.beyond_cache("gelu") == Cost(16384, 0.7, 0.6, 0.8)


@pytest.mark.parametrize("l2", [None, 1024 * 8 - 1])
def test_without_a_known_cache_or_an_array_that_fits_there_is_no_in_cache(by_hand, l2):
    fields = {**by_hand.to_dict(), "caches": {"l1d": None, "l2": l2, "l3": None}}
    assert KernelCosts.from_dict(fields).in_cache("relu") is None


def test_sizes_go_up_to_the_largest_and_not_beyond():
    assert measure(["relu"], largest=64, seconds=0.01).sizes == (64,)
    assert measure(["relu"], largest=255, seconds=0.01).sizes == (64,)
    assert measure(["relu"], largest=256, seconds=0.01).sizes == (64, 256)


def test_a_short_time_still_gives_every_size():
    costs = measure(["relu", "gelu"], largest=1 << 18, seconds=1e-9)
    assert costs.runs == (1,) * len(costs.sizes) == (1,) * 7


@pytest.mark.parametrize("n", [64, 1 << 16, 1 << 18])
def test_each_run_has_a_new_input_and_fills_the_output(monkeypatch, n):
    # Taken out of the measurement: its candidates, run by hand.
    seen = {}

    def interleaved(candidates, **options):
        seen.update(candidates)
        return interleave(candidates, **options)

    monkeypatch.setattr(kernel_timing, "interleave", interleaved)
    arrays = []
    monkeypatch.setattr(
        kernel_cost, "aligned", lambda *given: arrays.append(np.zeros(*given)) or arrays[-1]
    )
    measure(["gelu"], largest=n, seconds=1e-9)
    x, y = arrays
    inputs = []
    for number in (-1, 0, 1, 2000):
        seen["gelu"].prepare(number)
        inputs.append(x.copy())
        y.fill(np.nan)
        seen["gelu"].run()
        assert np.array_equal(x, inputs[-1])
        assert np.array_equal(y, fastact.gelu(x))
        assert np.unique(x).size >= min(n, 60_000)
        assert abs(x.mean()) < 1
        assert 1.4 < x.std() < 2.6
    assert all(not np.array_equal(inputs[i], inputs[j]) for i in range(4) for j in range(i))


def test_one_thread_computes_and_the_setting_comes_back(monkeypatch):
    before = fastact.get_num_threads()
    during = []

    def interleaved(candidates, **options):
        during.append(fastact.get_num_threads())
        return interleave(candidates, **options)

    monkeypatch.setattr(kernel_timing, "interleave", interleaved)
    fastact.set_num_threads(2)
    try:
        measure(["relu"], largest=64, seconds=0.01)
        assert (during, fastact.get_num_threads()) == ([1], 2)
    finally:
        fastact.set_num_threads(before)


def swapped(x, out):
    return fastact.gelu_tanh(x, out)


def not_all(x, out):
    return fastact.gelu(x[:-1], out[:-1])


@pytest.mark.parametrize("wrong", [swapped, not_all])
def test_a_wrong_result_is_not_timed(monkeypatch, wrong):
    def timed(*args, **kwargs):
        raise AssertionError("was timed")

    monkeypatch.setattr(kernel_timing, "interleave", timed)
    monkeypatch.setattr(kernel_timing, "variants", {fastact.isa: SimpleNamespace(gelu=wrong)})
    with pytest.raises(DisagreementError, match=r"gelu of 64 elements.*wrong by .* ULP"):
        measure(["gelu"], largest=64)


def test_results_of_an_earlier_run_do_not_count(monkeypatch):
    x, y = np.zeros((2, 64), np.float32)
    monkeypatch.setattr(kernel_timing, "interleave", lambda candidates, **options: {})
    kernel_timing.time_kernels(["gelu"], fastact.isa, x, y, 0.0)
    idle = SimpleNamespace(gelu=lambda x, out: out)
    monkeypatch.setattr(kernel_timing, "variants", {fastact.isa: idle})
    with pytest.raises(DisagreementError, match="gelu of 64 elements"):
        kernel_timing.time_kernels(["gelu"], fastact.isa, x, y, 0.0)


def test_the_variant_asked_for_is_the_one_timed(monkeypatch, variant):
    # Every other one gives wrong results.
    kernels = dict.fromkeys(fastact.variants, SimpleNamespace(gelu=swapped))
    kernels[variant] = fastact.variants[variant]
    monkeypatch.setattr(kernel_timing, "variants", kernels)
    assert measure(["gelu"], largest=64, seconds=0.01, variant=variant).variant == variant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"activations": ["relu", "elu"]}, "unknown activation 'elu'; known: relu, "),
        ({"activations": ["gelu_grad"]}, "unknown activation 'gelu_grad'"),
        ({"activations": []}, "no activation to measure; known: relu, "),
        ({"variant": "mmx"}, "unknown variant 'mmx'; this CPU runs: "),
        ({"largest": 63}, "largest must be at least 64 elements, not 63"),
        ({"seconds": 0}, "seconds must be a positive number, not 0"),
        ({"seconds": float("nan")}, "seconds must be a positive number, not nan"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        measure(**arguments)
