"""The verdict for every possible outcome, with made-up measurements."""

import dataclasses

import pytest

from fastact.bench import Gain, Latency, Measurement, Noise, Split, decide
from fastact.bench.verdict import accuracy_sign, best, speed_sign

SEEDS = "5 trainings of each and 360 test images"


def model(name, ratio, spread=0.01, *, gain=None, p90=None, **fields):
    """Make a model whose baseline takes 1 ms."""
    activation, form = name.split("/")
    p90 = ratio * 1.1 if p90 is None else p90
    return Measurement(
        name=name,
        activation=activation,
        form=form,
        latency=Latency(ratio, p90, 2 * ratio, ratio, ratio / 2, 1000),
        quantiles_ms=(ratio,) * 101,
        ratio=ratio,
        ratio_interval=(ratio - spread, ratio + spread),
        p90_interval=(p90 - spread, p90 + spread),
        slower_share=0.5,
        create_ms=1.0,
        first_run_ms=0.1,
        peak_mb=60.0,
        model_mb=10.0,
        file_bytes=1000,
        parameters=100,
        macs=1000,
        activation_elements=10,
        operators={"Conv": 3},
        gain=None if gain is None else gained(*gain),
        **fields,
    )


def gained(difference, half):
    return Gain(difference, half / 2, (difference - half, difference + half), SEEDS)


def changed(m, **fields):
    return dataclasses.replace(m, **fields)


RELU = model("relu/op", 1.0, 0.0)
SLOWER = model("gelu/op", 1.3)
BETTER = changed(SLOWER, gain=gained(0.025, 0.01))
WORSE = changed(SLOWER, gain=gained(-0.025, 0.01))


def test_slower_and_no_more_accurate_than_chance():
    verdict = decide([RELU, changed(SLOWER, gain=gained(0.0028, 0.01))])
    assert (verdict.take, verdict.too_noisy) == ("relu/op", False)
    assert verdict.sentence == (
        "Take relu/op: gelu/op takes 1.30 times as long as relu/op "
        "(p50 1.3000 against 1.0000 ms) and is no more or less accurate as far as can be told "
        f"(+0.28 percentage points, 95 % interval -0.72 to +1.28, from {SEEDS})."
    )


def test_slower_with_unknown_accuracy():
    verdict = decide([RELU, SLOWER])
    assert verdict.sentence == (
        "Take relu/op: gelu/op takes 1.30 times as long as relu/op (p50 1.3000 against 1.0000 ms)."
    )


def test_where_the_time_goes():
    sentence = decide([RELU, changed(SLOWER, split=Split(123.4, 176.6))]).sentence
    assert (
        "(p50 1.3000 against 1.0000 ms; of 300 us more, 123 us for what is no longer folded into "
        "the operator before it and 177 us for arithmetic)"
    ) in sentence
    assert Split(123.4, 176.6).total_us == 300


def test_slower_and_more_accurate():
    verdict = decide([RELU, BETTER])
    assert verdict.take == "gelu/op"
    assert (
        "and is more accurate than relu/op by 2.50 percentage points (95 % interval +1.50 to +3.50"
    ) in verdict.sentence
    assert verdict.sentence.endswith("; where that time is missing, take relu/op.")


def test_slower_and_less_accurate():
    verdict = decide([RELU, WORSE])
    assert verdict.take == "relu/op"
    assert "is less accurate than relu/op by 2.50 percentage points" in verdict.sentence


@pytest.mark.parametrize("ratio", [0.98, 1.0, 1.02])
def test_same_speed_and_accuracy(ratio):
    verdict = decide([RELU, model("gelu/op", ratio)])
    assert verdict.take == "relu/op"
    assert "as far as 1000 runs can tell, gelu/op is as fast as relu/op" in verdict.sentence
    assert verdict.sentence.endswith("ReLU is what every runtime fuses.")


def test_same_speed_and_more_accurate():
    verdict = decide([RELU, model("gelu/op", 1.01, gain=(0.02, 0.01))])
    assert verdict.take == "gelu/op"
    assert "that time" not in verdict.sentence


def test_relu_slower():
    verdict = decide([RELU, model("gelu/op", 0.8)])
    assert verdict.take == "gelu/op"
    assert "gelu/op takes 0.80 times as long as relu/op" in verdict.sentence


def test_relu_slower_but_more_accurate():
    faster = model("gelu/op", 0.8, gain=(-0.02, 0.01))
    assert decide([RELU, faster]).take == "relu/op"
    tight = decide([RELU, faster], budget_ms=0.9)
    assert tight.take == "gelu/op"
    assert "it meets the budget of 0.9 ms at p90 (0.8800 ms) and relu/op does not (1.1000 ms)" in (
        tight.sentence
    )


# ---------------------------------------------------------------- noise


@pytest.mark.parametrize("ratio", [0.95, 1.0, 1.3])
def test_noise_gives_no_verdict(ratio):
    noise = Noise(0.4, 90.0, 5.0, ("medians over time moved by 40%", "the load is 5.0 on 2 CPUs"))
    verdict = decide([RELU, model("gelu/op", ratio, 0.4)], noise=noise)
    assert (verdict.take, verdict.too_noisy) == (None, True)
    assert verdict.sentence == (
        "No verdict: the machine was too noisy to tell whether gelu/op is slower than relu/op, "
        f"which took {ratio - 0.4:.2f} to {ratio + 0.4:.2f} times as long "
        "(medians over time moved by 40%, the load is 5.0 on 2 CPUs); "
        "stop other programs, or measure longer, and try again."
    )


def test_noise_without_a_reason_from_the_machine():
    assert "(the runs spread too much)" in decide([RELU, model("gelu/op", 1.0, 0.2)]).sentence


def test_noise_hides_no_accuracy():
    verdict = decide([RELU, model("gelu/op", 1.1, 0.4, gain=(0.02, 0.01))])
    assert verdict.take == "gelu/op"
    assert "gelu/op takes 0.70 to 1.50 times as long as relu/op" in verdict.sentence
    assert decide([RELU, model("gelu/op", 1.1, 0.4, gain=(-0.02, 0.01))]).take == "relu/op"


def test_a_wide_interval_that_leaves_1_out_is_enough():
    assert speed_sign(model("gelu/op", 1.5, 0.4)) == 1
    assert speed_sign(model("gelu/op", 0.5, 0.4)) == -1
    assert speed_sign(model("gelu/op", 1.3, 0.31)) is None
    assert speed_sign(model("gelu/op", 1.04, 0.045)) == 0
    assert speed_sign(model("gelu/op", 1.02, 0.001)) == 0


def test_a_budget_inside_the_interval_is_not_decided():
    unsure = model("gelu/op", 1.0, 0.1)  # a p90 of 1.0 to 1.2 ms
    assert [unsure.meets(budget) for budget in (0.99, 1.1, 1.21, None)] == [False, None, True, True]
    slow = model("relu/op", 2.0)
    verdict = decide([slow, unsure], budget_ms=1.1)
    assert (verdict.take, verdict.too_noisy) == (None, True)
    assert "whether gelu/op meets the budget of 1.1 ms, with a p90 of 1.0000 to 1.2000 ms" in (
        verdict.sentence
    )
    # What surely meets it is taken.
    assert decide([model("relu/op", 0.5), unsure], budget_ms=1.1).take == "relu/op"


# ---------------------------------------------------------------- budget


def test_all_within_the_budget():
    verdict = decide([RELU, SLOWER], budget_ms=2)
    assert verdict.take == "relu/op"
    assert verdict.sentence.startswith("Take relu/op: every model meets the budget of 2 ms at p90")


def test_more_accurate_and_within_the_budget_that_another_form_misses():
    slow_form = changed(BETTER, name="gelu/erf", form="erf", p90_interval=(4.9, 5.1))
    verdict = decide([RELU, slow_form, BETTER], budget_ms=2)
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
    verdict = decide([RELU, BETTER], budget_ms=1.2)
    assert verdict.take == "relu/op"
    assert verdict.sentence.endswith("; that accuracy is what the budget costs.")


def test_none_within_the_budget():
    verdict = decide([RELU, SLOWER], budget_ms=0.5)
    assert (verdict.take, verdict.too_noisy) == (None, False)
    assert verdict.sentence.startswith(
        "No model meets the budget of 0.5 ms at p90, the nearest is relu/op with 1.1000 ms; "
        "gelu/op takes 1.30 times as long"
    )


def test_budget_is_judged_at_p90():
    spiky = model("relu/op", 1.0, 0.0, p90=3.0)
    assert spiky.meets(2.999) is False
    assert spiky.meets(3.0)


# ---------------------------------------------------------------- a user's own model


ORIGINAL = changed(model("gelu/op", 1.0, 0.0), name="original")
SWAPPED = changed(model("relu/op", 0.6), retrain=True, output_change=0.25)


def test_another_function_is_no_choice_but_told():
    verdict = decide([ORIGINAL, model("gelu/erf", 1.2), SWAPPED])
    assert verdict.take == "original"
    assert "gelu/erf takes 1.20 times as long as original" in verdict.sentence
    assert verdict.sentence.endswith(
        "; relu/op would take 0.60 times as long, but only after training the model again "
        "(outputs change by 0.25 of the largest)."
    )


def test_what_a_relu_would_save_in_a_model_with_gelu():
    original = changed(ORIGINAL, split=Split(100.0, 300.0))
    assert decide([original, SWAPPED]).sentence.endswith(
        "(of the 400 us that original takes longer, 100 us for what is no longer folded into the "
        "operator before it and 300 us for arithmetic; outputs change by 0.25 of the largest)."
    )


def test_only_another_function_to_choose_from():
    verdict = decide([ORIGINAL, SWAPPED])
    assert verdict.take == "original"
    assert "relu/op takes 0.60 times as long as original" in verdict.sentence


def test_a_faster_form_of_the_same_function_is_taken():
    assert decide([ORIGINAL, model("gelu/erf", 0.8), SWAPPED]).take == "gelu/erf"


def test_another_function_where_nothing_else_meets_the_budget():
    verdict = decide([ORIGINAL, model("gelu/erf", 1.2), SWAPPED], budget_ms=0.7)
    assert verdict.take == "relu/op"
    assert verdict.sentence.endswith(
        "; relu/op computes another function, so the model must be trained again first."
    )


# ---------------------------------------------------------------- parts


def test_fastest_form_speaks_for_gelu_unless_another_is_more_accurate():
    written_out = changed(model("gelu/erf", 1.2), form="erf")
    assert "gelu/erf takes 1.20" in decide([RELU, SLOWER, written_out]).sentence
    assert decide([RELU, written_out, BETTER]).take == "gelu/op"


def test_the_first_of_equally_fast_forms_speaks_so_that_runs_agree():
    for ratio in (1.29, 1.3, 1.31):
        twin = model("gelu/erf", ratio, gain=(0.025, 0.01))
        assert decide([RELU, BETTER, twin]).take == "gelu/op"
        assert decide([RELU, twin, BETTER]).take == "gelu/erf"
    assert best([SLOWER, model("gelu/erf", 1.2)]).name == "gelu/erf"


def test_a_difference_in_accuracy_counts_when_its_interval_leaves_0_out():
    signs = [accuracy_sign(model("gelu/op", 1, gain=(gain, 0.01))) for gain in (-0.02, 0.01, 0.02)]
    assert signs == [-1, 0, 1]
    assert accuracy_sign(RELU) == 0


@pytest.mark.parametrize("models", [[], [RELU]])
def test_a_verdict_needs_something_to_compare(models):
    with pytest.raises(ValueError, match="needs a baseline and at least one other"):
        decide(models)
