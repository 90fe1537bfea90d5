"""Comparisons built by hand, with which pages and pictures are tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from fastact.bench.environment import Environment
from fastact.bench.functions.caches import Caches
from fastact.bench.functions.kernel_cost import KernelCosts
from fastact.bench.functions.properties import distance, properties_of
from fastact.bench.latency import Latency
from fastact.bench.profiles import PROFILES
from fastact.bench.report.html import render
from fastact.bench.results import (
    Accuracy,
    Comparison,
    Distance,
    Gain,
    Measurement,
    Seeds,
    Split,
    Verdict,
)
from fastact.bench.spread import Noise

NASTY = "<script>alert(1)</script> & \"q\" $x_1$ 'é'.onnx"

# Activation, form, p50 in microseconds, images right for each of five seeds, split, operators.
_MODELS = (
    ("relu", "op", 6.59, (353, 354, 351, 353, 352), None, {"Conv": 3, "Gemm": 1, "Reshape": 1}),
    ("gelu", "op", 7.76, (355, 355, 354, 356, 353), (0.62, 0.55), {"Conv": 3, "Gelu": 3}),
    ("gelu", "erf", 7.79, (355, 355, 354, 356, 353), (0.62, 0.58), {"Conv": 3, "Gelu": 3}),
    ("gelu_tanh", "op", 7.71, (354, 355, 354, 356, 353), (0.62, 0.5), {"Conv": 3, "Gelu": 3}),
    ("gelu_tanh", "tanh", 13.34, (354, 355, 354, 356, 353), (0.62, 6.13), {"Conv": 3, "Mul": 15}),
)
_IMAGES = 360


def _times(p50_us: float) -> tuple[float, ...]:
    """Quantiles as a steady machine gives them: a narrow body and a long tail."""
    share = np.linspace(0, 1, 101)
    return tuple(p50_us / 1000 * (0.965 + 0.07 * share + 0.3 * share**24))


def _latency(quantiles_ms: tuple[float, ...]) -> Latency:
    p50, p90, p99 = (quantiles_ms[percent] for percent in (50, 90, 99))
    return Latency(p50, p90, p99, float(np.mean(quantiles_ms)), quantiles_ms[0], 2000)


def _measurement(row: int) -> Measurement:
    activation, form, p50, counts, split, operators = _MODELS[row]
    quantiles = _times(p50)
    latency = _latency(quantiles)
    ratio = p50 / _MODELS[0][2]
    shares = np.array(counts) / _IMAGES
    mean = float(shares.mean())
    half = float(2.776 * shares.std(ddof=1) / np.sqrt(len(counts)))
    base = float(np.mean(_MODELS[0][3])) / _IMAGES
    difference = mean - base
    gain = Gain(difference, 0.0021, (difference - 0.0041, difference + 0.0041), "5 seeds")
    return Measurement(
        name=f"{activation}/{form}",
        activation=activation,
        form=form,
        latency=latency,
        quantiles_ms=quantiles,
        ratio=ratio,
        ratio_interval=(ratio - 0.011 * bool(row), ratio + 0.013 * bool(row)),
        p90_interval=(latency.p90_ms * 0.99, latency.p90_ms * 1.01),
        slower_share=0.5 if row == 0 else 0.98,
        create_ms=0.834 + row / 10,
        first_run_ms=0.069 + row / 100,
        peak_mb=61.2 + row / 4,
        model_mb=1.6 + row / 4,
        file_bytes=58_736 + 517 * row,
        parameters=14_378,
        macs=321_024,
        activation_elements=4_608,
        operators=operators,
        accuracy=Accuracy(_IMAGES, counts[0], 3 * bool(row), 1 * bool(row)),
        seeds=Seeds(counts, _IMAGES, mean, (mean - half, mean + half)),
        gain=gain if row else None,
        split=Split(*split) if split else None,
    )


def _kernel_costs() -> KernelCosts:
    """Costs with what a call adds to small arrays, and what memory adds to large ones."""
    sizes = tuple(64 << 2 * step for step in range(10))
    costs = {
        activation: tuple(in_cache + 380 / n + 0.25 * n / (n + 3e6) for n in sizes)
        for activation, in_cache in (("relu", 0.11), ("gelu", 0.34), ("gelu_tanh", 0.31))
    }
    lower, upper = (
        {name: tuple(factor * ns for ns in medians) for name, medians in costs.items()}
        for factor in (0.97, 1.06)
    )
    caches, runs = Caches(48 << 10, 1 << 20, 32 << 20), (101,) * len(sizes)
    return KernelCosts("avx512", caches, sizes, runs, costs, lower, upper, seconds=2.9)


def _digits() -> Comparison:
    """Return the digits with five models, seeds, a split, and a budget that one model misses."""
    return Comparison(
        network="digits",
        weights="trained",
        data="360 test images of scikit-learn's digits",
        profile=replace(PROFILES["phone-big-core"], cpus=(0,)),
        budget_ms=0.009,
        environment=Environment(
            cpu="AMD EPYC 9R45",
            isa="avx512",
            usable_cpus=2,
            system="Linux x86_64",
            versions={
                "fastact": "0.1.0",
                "python": "3.11.7",
                "numpy": "2.4.6",
                "onnx": "1.23.2",
                "onnxruntime": "1.32.0",
            },
        ),
        measurements=tuple(map(_measurement, range(len(_MODELS)))),
        noise=Noise(0.031, 0.4, 0.8),
        verdict=Verdict(
            "gelu/erf",
            "Take gelu/erf: it meets the budget of 0.009 ms at p90 (0.0082 ms), and so does "
            "relu/op (0.0069 ms); gelu/erf takes 1.18 times as long as relu/op (p50 0.0078 "
            "against 0.0066 ms) and is more accurate by 0.56 percentage points (0.15 to 0.97 "
            "over 5 seeds); where that time is missing, take relu/op.",
        ),
        properties=tuple(map(properties_of, ("relu", "gelu", "gelu_tanh"))),
        distances=tuple(
            Distance(one, other, apart.value, apart.at)
            for one, other in combinations(("relu", "gelu", "gelu_tanh"), 2)
            for apart in [distance(one, other)]
        ),
        kernel_costs=_kernel_costs(),
        notes=("The interval over the seeds does not tell what other data would show.",),
        command="fastact compare --budget-ms 0.009 --profile phone-big-core --html report.html",
        date="2026-11-30",
    )


def _without_accuracy() -> Comparison:
    """Return ResNet-8 with random weights: no accuracy, no split, no memory, no budget."""
    whole = _digits()
    bare = tuple(
        replace(
            m,
            accuracy=None,
            seeds=None,
            gain=None,
            split=None,
            peak_mb=None,
            model_mb=None,
        )
        for m in whole.measurements
    )
    sentence = "Take relu/op: the accuracy is not known, and gelu/erf takes 1.18 times as long."
    return replace(
        whole,
        network="resnet8",
        weights="random",
        data="random inputs",
        profile=PROFILES["custom"],
        budget_ms=None,
        measurements=bare,
        kernel_costs=None,
        verdict=Verdict("relu/op", sentence),
        notes=("The weights are random, so that there is no accuracy.",),
    )


def _too_noisy() -> Comparison:
    """Return what is found on a machine that does other things too."""
    reasons = ("medians over time moved by 34%", "the load is 5.1 on 2 CPUs")
    sentence = (
        "No verdict: the machine was too noisy to tell whether gelu/erf is slower than relu/op "
        f"({'; '.join(reasons)}); run it again on a quiet machine."
    )
    return replace(
        _digits(),
        noise=Noise(0.34, 41.0, 5.1, reasons),
        verdict=Verdict(None, sentence, too_noisy=True),
    )


def _own_model() -> Comparison:
    """Return a user's own model, whose file has a name to beware of; a budget far beyond reach."""
    whole = _without_accuracy()
    own = replace(whole.measurements[0], name="original", activation="", form="")
    others = tuple(
        replace(m, output_change=0.0731 * row, retrain=True)
        for row, m in enumerate(whole.measurements[1:], 1)
    )
    return replace(
        whole,
        network=NASTY,
        weights="given",
        budget_ms=25.0,
        measurements=(own, *others),
        verdict=Verdict("original", f"Take original: {NASTY} meets the budget of 25 ms at p90."),
        command=f"fastact compare --model '{NASTY}' --budget-ms 25",
    )


_COMPARISONS = {
    "digits": _digits,
    "without_accuracy": _without_accuracy,
    "too_noisy": _too_noisy,
    "own_model": _own_model,
}


@cache
def _made(name: str) -> Comparison:
    return _COMPARISONS[name]()


@cache
def _page(name: str) -> str:
    return render(_made(name))


@pytest.fixture
def digits() -> Comparison:
    return _made("digits")


@pytest.fixture
def own_model() -> Comparison:
    return _made("own_model")


@pytest.fixture(params=_COMPARISONS)
def any_comparison(request: pytest.FixtureRequest) -> Comparison:
    return _made(request.param)


@pytest.fixture
def page() -> Callable[[Comparison], str]:
    """Return the page of one of these comparisons, which is rendered once."""

    def page_of(comparison: Comparison) -> str:
        return next(_page(name) for name in _COMPARISONS if _made(name) is comparison)

    return page_of
