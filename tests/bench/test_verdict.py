"""The verdict for every possible outcome, with made-up measurements."""

import dataclasses

import pytest

from fastact.bench import Latency, Measurement, decide
from fastact.bench.verdict import accuracy_error, accuracy_sign, speed_sign


def model(name, p50, p90=None, *, slower=0.5, gained=0, lost=0, correct=350, n=1000):
    activation, form = name.split("/")
    p90 = p50 * 1.1 if p90 is None else p90
    return Measurement(
        activation=activation,
        form=form,
        latency=Latency(p50, p90, 2 * p50, p50, p50 / 2, n),
        slower_share=slower,
        images=360,
        correct=correct + gained - lost,
        gained=gained,
        lost=lost,
        create_ms=1.0,
        first_run_ms=0.1,
        file_bytes=1000,
        parameters=100,
        operators={"Conv": 3},
    )


RELU = model("relu/op", 1.0)
SLOWER = model("gelu/op", 1.3, slower=0.99)
MORE_ACCURATE = dataclasses.replace(SLOWER, gained=10, lost=1, correct=359)
LESS_ACCURATE = dataclasses.replace(SLOWER, gained=1, lost=10, correct=341)


def test_slower_and_no_more_accurate_than_chance():
    verdict = decide([RELU, model("gelu/op", 1.3, slower=0.99, gained=2, lost=1)])
    assert verdict.take == "relu/op"
    assert verdict.sentence == (
        "Take relu/op: gelu/op takes 1.30 times as long as relu/op "
        "(p50 1.3000 against 1.0000 ms) and is right on 1 more of the 360 images "
        "(+0.28 percentage points, no more than the standard error of 0.48)."
    )


def test_slower_and_right_on_the_same_images():
    sentence = decide([RELU, SLOWER]).sentence
    assert sentence.startswith("Take relu/op: ")
    assert "is right on the same 350 of 360 images." in sentence


def test_slower_and_right_on_as_many_other_images():
    sentence = decide([RELU, dataclasses.replace(SLOWER, gained=3, lost=3)]).sentence
    assert "is right on as many of the 360 images." in sentence


def test_slower_and_more_accurate():
    verdict = decide([RELU, MORE_ACCURATE])
    assert verdict.take == "gelu/op"
    assert "right on 9 more of the 360 images (+2.50 percentage points, 2.7 times the standard" in (
        verdict.sentence
    )
    assert verdict.sentence.endswith("; where that time is missing, take relu/op.")


def test_slower_and_less_accurate():
    verdict = decide([RELU, LESS_ACCURATE])
    assert verdict.take == "relu/op"
    assert "right on 9 fewer of the 360 images (-2.50 percentage points" in verdict.sentence


def test_somewhat_more_accurate_is_not_enough():
    verdict = decide([RELU, dataclasses.replace(SLOWER, gained=5, lost=1)])
    assert verdict.take == "relu/op"
    assert "no more than twice the standard error of 0.68" in verdict.sentence


@pytest.mark.parametrize("p50", [0.99, 1.0, 1.02])
def test_same_speed_and_accuracy(p50):
    verdict = decide([RELU, model("gelu/op", p50, slower=0.9)])
    assert verdict.take == "relu/op"
    assert "as far as 1000 runs can tell, gelu/op is as fast as relu/op" in verdict.sentence
    assert verdict.sentence.endswith("ReLU is what every runtime fuses.")


def test_same_speed_and_more_accurate():
    verdict = decide([RELU, model("gelu/op", 1.01, gained=9)])
    assert verdict.take == "gelu/op"
    assert "that time" not in verdict.sentence


def test_relu_slower():
    verdict = decide([RELU, model("gelu/op", 0.8, slower=0.02)])
    assert verdict.take == "gelu/op"
    assert "gelu/op takes 0.80 times as long as relu/op" in verdict.sentence


def test_relu_slower_but_more_accurate():
    faster = model("gelu/op", 0.8, slower=0.02, lost=9)
    assert decide([RELU, faster]).take == "relu/op"
    tight = decide([RELU, faster], budget_ms=0.9)
    assert tight.take == "gelu/op"
    assert "it meets the budget of 0.9 ms at p90 (0.8800 ms) and relu/op does not (1.1000 ms)" in (
        tight.sentence
    )


def test_relu_slower_by_noise():
    for noise in [model("gelu/op", 0.9, slower=0.49), model("gelu/op", 0.99, slower=0.1)]:
        assert decide([RELU, noise]).take == "relu/op"


def test_all_within_the_budget():
    verdict = decide([RELU, SLOWER], budget_ms=2)
    assert verdict.take == "relu/op"
    assert verdict.sentence.startswith("Take relu/op: every model meets the budget of 2 ms at p90")


def test_more_accurate_and_within_the_budget_that_another_form_misses():
    slow_form = dataclasses.replace(MORE_ACCURATE, form="erf", latency=model("a/b", 5).latency)
    verdict = decide([RELU, slow_form, MORE_ACCURATE], budget_ms=2)
    assert verdict.take == "gelu/op"
    assert "it meets the budget of 2 ms at p90 (1.4300 ms), and so does relu/op (1.1000 ms)" in (
        verdict.sentence
    )


def test_only_relu_within_the_budget():
    verdict = decide([RELU, SLOWER], budget_ms=1.2)
    assert verdict.take == "relu/op"
    assert "it meets the budget of 1.2 ms at p90 (1.1000 ms) and gelu/op does not (1.4300 ms)" in (
        verdict.sentence
    )


def test_more_accurate_but_over_the_budget():
    verdict = decide([RELU, MORE_ACCURATE], budget_ms=1.2)
    assert verdict.take == "relu/op"
    assert verdict.sentence.endswith("; that accuracy is what the budget costs.")


def test_none_within_the_budget():
    verdict = decide([RELU, SLOWER], budget_ms=0.5)
    assert verdict.take is None
    assert verdict.sentence.startswith(
        "No model meets the budget of 0.5 ms at p90, the nearest is relu/op with 1.1000 ms; "
        "gelu/op takes 1.30 times as long"
    )


def test_budget_is_judged_at_p90_and_includes_it():
    spiky = model("relu/op", 1.0, p90=3.0)
    assert not spiky.meets(2.999)
    assert spiky.meets(3.0)
    assert spiky.meets(None)


def test_fastest_form_speaks_for_gelu_unless_another_is_more_accurate():
    written_out = dataclasses.replace(SLOWER, form="erf", latency=model("a/b", 1.2).latency)
    assert "gelu/erf takes 1.20" in decide([RELU, SLOWER, written_out]).sentence
    assert decide([RELU, written_out, MORE_ACCURATE]).take == "gelu/op"


def test_the_first_of_equally_fast_forms_speaks_so_that_runs_agree():
    for p50 in (1.29, 1.3, 1.31):
        twin = dataclasses.replace(MORE_ACCURATE, form="erf", latency=model("a/b", p50).latency)
        assert decide([RELU, MORE_ACCURATE, twin]).take == "gelu/op"
        assert decide([RELU, twin, MORE_ACCURATE]).take == "gelu/erf"


def test_speed_needs_both_the_ratio_and_the_rounds():
    assert speed_sign(model("gelu/op", 1.3, slower=0.99), RELU) == 1
    assert speed_sign(model("gelu/op", 0.7, slower=0.01), RELU) == -1
    assert speed_sign(model("gelu/op", 1.3, slower=0.52), RELU) == 0
    assert speed_sign(model("gelu/op", 1.02, slower=0.99), RELU) == 0
    assert speed_sign(model("gelu/op", 1.3, slower=1.0, n=4), RELU) == 0  # too few rounds


def test_accuracy_error_counts_the_images_that_tell_the_models_apart():
    assert accuracy_error(model("gelu/op", 1, gained=7, lost=2)) == pytest.approx(3 / 360)
    signs = {gained: accuracy_sign(model("gelu/op", 1, gained=gained)) for gained in (0, 4, 5)}
    assert signs == {0: 0, 4: 0, 5: 1}
    assert accuracy_sign(model("gelu/op", 1, lost=5)) == -1


@pytest.mark.parametrize("models", [[], [RELU], [SLOWER], [SLOWER, MORE_ACCURATE]])
def test_a_verdict_needs_relu_and_another(models):
    with pytest.raises(ValueError, match="needs the ReLU model"):
        decide(models)
