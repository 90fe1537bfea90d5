"""Quantiles, bootstrap intervals, and how steady a machine was, on made-up durations."""

import numpy as np
import pytest

from fastact.bench.latency import Latency
from fastact.bench.spread import (
    DRIFTING,
    block_medians,
    interval,
    noise,
    quantiles,
    ratio_intervals,
    resampled_percentiles,
    tells,
)

STEADY = [1000 + i % 7 for i in range(2000)]


def test_quantiles_are_those_of_the_latency():
    samples = np.random.default_rng(1).integers(1_000_000, 9_000_000, 500).tolist()
    found, latency = quantiles(samples), Latency.of(samples)
    assert len(found) == 101
    assert [found[p] for p in (50, 90, 99)] == [latency.p50_ms, latency.p90_ms, latency.p99_ms]
    assert (found[0], found[100]) == (min(samples) / 1e6, max(samples) / 1e6)
    assert list(found) == sorted(found)


def test_resampling_takes_the_same_rounds_of_every_candidate():
    # What slows a block of rounds down slows both, so that the ratio knows nothing of it.
    slow = np.repeat([1, 1, 3, 1, 2], 400)
    samples = {"a": 1000 * slow, "b": 1500 * slow}
    drawn = resampled_percentiles(samples, (50,))
    assert drawn["a"].shape == (400, 1)
    assert np.ptp(drawn["a"]) > 0
    np.testing.assert_array_equal(drawn["b"] / drawn["a"], 1.5)


def test_resampling_is_the_same_each_time():
    once, again = (resampled_percentiles({"a": STEADY}, (50, 90))["a"] for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_intervals_of_ratios():
    slow = np.repeat([1, 1, 3, 1, 2], 400)
    found = ratio_intervals({"a": 1000 * slow, "b": 1500 * slow, "c": 900 * slow[::-1]})
    assert (found["a"], found["b"]) == ((1, 1), (1.5, 1.5))
    low, high = found["c"]
    assert low < 1 < high
    assert not tells((low, high))


def test_interval_of_independent_rounds_is_about_that_of_theory():
    # The median of n normal values has the standard error 1.2533 sigma / sqrt(n).
    random = np.random.default_rng(7)
    samples = (10_000 + 100 * random.standard_normal(4000)).tolist()
    low, high = interval(resampled_percentiles({"a": samples}, (50,))["a"][:, 0])
    expected = 2 * 1.96 * 1.2533 * 100 / 4000**0.5
    assert expected / 2 < high - low < expected * 2
    assert low < np.median(samples) < high


def test_interval_holds_the_middle_95_percent():
    assert interval(np.arange(1001.0)) == (25.0, 975.0)


@pytest.mark.parametrize("count", [1, 3, 19, 20, 21, 2000])
def test_blocks_of_few_rounds(count):
    medians = block_medians(STEADY[:count])
    assert len(medians) == min(count, 20)
    assert resampled_percentiles({"a": STEADY[:count]}, (50,))["a"].shape == (400, 1)


def test_a_steady_machine_has_no_reasons_whatever_its_load():
    found = noise({"a": STEADY}, preemptions=10**6, load=50.0, cpus=2)
    assert found.reasons == ()
    assert found.drift < DRIFTING
    assert (found.preemptions, found.load) == (10**6 / 2, 50.0)


def test_a_drifting_machine_has_reasons():
    samples = {"a": STEADY, "b": np.linspace(1000, 2000, 2000).astype(int).tolist()}
    found = noise(samples, preemptions=400, load=5.04, cpus=2)
    assert found.reasons[0].startswith("medians over time moved by ")
    assert found.reasons[1:] == (
        "the CPU was taken away 100 times in 1,000 runs",
        "the load is 5.0 on 2 CPUs",
    )
    quiet = noise(samples, preemptions=None, load=None, cpus=2)
    assert len(quiet.reasons) == 1
    assert (quiet.preemptions, quiet.load) == (None, None)


def test_one_slow_block_is_no_drift():
    samples = [5000 if 100 <= i < 200 else 1000 for i in range(2000)]
    assert noise({"a": samples}, 0, 0.0, 2).reasons == ()


def test_data():
    assert noise({"a": STEADY}, None, None, 1).to_dict()["reasons"] == []
