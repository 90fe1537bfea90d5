"""The latency protocol, with a clock and candidates that the test controls."""

import gc

import pytest

from fastact.bench import Candidate, Latency, interleave, slower_share
from fastact.bench.latency import milliseconds

MS = 1_000_000


class Clock:
    """A clock in nanoseconds that stands still until something takes time."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now

    def pass_time(self, ms):
        self.now += int(ms * MS)


def recorder(clock, log, name, run_ms=1, prepare_ms=5):
    def prepare(number):
        log.append(("prepare", name, number))
        clock.pass_time(prepare_ms)

    def run():
        log.append(("run", name))
        clock.pass_time(run_ms)

    return Candidate(prepare, run)


def test_percentiles_of_known_samples():
    latency = Latency.of([i * MS for i in range(101)])
    assert latency == Latency(p50_ms=50, p90_ms=90, p99_ms=99, mean_ms=50, min_ms=0, n=101)


def test_percentiles_are_linear_between_samples_and_ignore_their_order():
    latency = Latency.of([4 * MS, 1 * MS, 3 * MS, 2 * MS])
    assert latency.p50_ms == pytest.approx(2.5)
    assert latency.p90_ms == pytest.approx(3.7)
    assert latency.p99_ms == pytest.approx(3.97)
    assert (latency.mean_ms, latency.min_ms, latency.n) == (2.5, 1, 4)


def test_one_sample_is_every_percentile():
    assert set(Latency.of([7 * MS]).to_dict().values()) == {7.0, 1}


def test_no_samples_are_an_error():
    with pytest.raises(ValueError, match="at least one"):
        Latency.of([])


def test_candidates_take_turns_and_get_the_same_round():
    log, clock = [], Clock()
    pair = {name: recorder(clock, log, name) for name in "AB"}
    interleave(pair, runs=2, warmup=0, clock=clock)
    assert log == [
        ("prepare", "A", 0),
        ("run", "A"),
        ("prepare", "B", 0),
        ("run", "B"),
        ("prepare", "A", 1),
        ("run", "A"),
        ("prepare", "B", 1),
        ("run", "B"),
    ]


def test_only_the_run_is_timed():
    clock = Clock()
    samples = interleave(
        {"A": recorder(clock, [], "A", run_ms=2), "B": recorder(clock, [], "B", run_ms=3)},
        runs=3,
        clock=clock,
    )
    assert samples == {"A": [2 * MS] * 3, "B": [3 * MS] * 3}


def test_warmup_runs_and_is_not_kept():
    log, clock = [], Clock()
    durations = iter([100, 100, 1, 2])  # the first two rounds are slow
    slow_start = Candidate(log.append, lambda: clock.pass_time(next(durations)))
    samples = interleave({"A": slow_start}, runs=2, warmup=2, clock=clock)
    assert samples == {"A": [1 * MS, 2 * MS]}
    assert log == [-2, -1, 0, 1]


def test_time_limit_ends_a_slow_measurement_after_whole_rounds():
    clock = Clock()
    pair = {name: recorder(clock, [], name, run_ms=100, prepare_ms=0) for name in "AB"}
    samples = interleave(pair, runs=1000, warmup=3, limit_s=1.0, clock=clock)
    assert [len(kept) for kept in samples.values()] == [5, 5]


def test_at_least_one_round_is_timed():
    clock = Clock()
    samples = interleave({"A": recorder(clock, [], "A")}, runs=9, limit_s=0, clock=clock)
    assert len(samples["A"]) == 1


def test_progress_counts_up_and_a_round_after_it_is_not_kept():
    log, reports, clock = [], [], Clock()

    def progress(done, total):
        reports.append((done, total))
        log.append("progress")

    one = {"A": recorder(clock, log, "A", run_ms=60, prepare_ms=0)}
    samples = interleave(one, runs=6, warmup=0, clock=clock, progress=progress)
    assert samples["A"] == [60 * MS] * 6
    assert reports == [(2, 6), (4, 6), (6, 6), (6, 6)]
    after = log.index("progress") + 1
    assert log[after] == ("prepare", "A", -1)
    assert log[after + 2] == ("prepare", "A", 2)


def test_progress_expects_the_time_limit():
    reports, clock = [], Clock()
    one = {"A": recorder(clock, [], "A", run_ms=100, prepare_ms=0)}
    interleave(one, runs=10**6, limit_s=1, clock=clock, progress=lambda *done: reports.append(done))
    assert reports[0] == (1, 10)
    assert reports[-1][0] == reports[-1][1]


@pytest.mark.parametrize("collecting", [True, False])
def test_no_garbage_is_collected_while_timing_and_the_setting_is_restored(collecting):
    seen = []

    def fail():
        seen.append(gc.isenabled())
        raise RuntimeError("in the middle")

    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        with pytest.raises(RuntimeError, match="in the middle"):
            interleave({"A": Candidate(lambda number: None, fail)})
        assert seen == [False]
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize(("candidates", "runs"), [({}, 5), ({"A": None}, 0), ({"A": None}, -1)])
def test_nothing_to_time_is_an_error(candidates, runs):
    with pytest.raises(ValueError, match="nothing to time"):
        interleave(candidates, runs=runs)


def test_slower_share():
    assert slower_share([2, 2, 2], [1, 1, 1]) == 1
    assert slower_share([1, 1, 1], [2, 2, 2]) == 0
    assert slower_share([1, 3, 2, 2], [2, 2, 2, 2]) == 0.5


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [(0.00654, "0.0065"), (0.5, "0.5000"), (12.3456, "12.346"), (123456.7, "123457")],
)
def test_milliseconds_keep_their_width(time_ms, text):
    assert milliseconds(time_ms) == text
