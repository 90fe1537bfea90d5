"""Pictures of a comparison: what is drawn is the data, in colours that can be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import fastact
from fastact.bench.functions.kernel_cost import ELEMENT_BYTES
from fastact.bench.report import kernel_plots, model_plots, plots
from fastact.bench.report.charts import charts
from fastact.bench.report.style import LIGHT, NARROW, PALETTE, TEXT, WIDE, looks, spread, style
from fastact.bench.results import Comparison, Split

Draw = Callable[[Comparison, float], Figure]

PICTURES: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        plots.latencies,
        model_plots.tradeoff,
        model_plots.distributions,
        model_plots.split,
        kernel_plots.kernel_costs,
        kernel_plots.functions,
    )
}


def drawn(draw: Draw, comparison: Comparison, width: float = WIDE) -> list[Axes]:
    with style():
        return draw(comparison, width).axes


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def line_data(axes: Axes) -> list[list[tuple[float, float]]]:
    return [list(zip(*line.get_data(), strict=True)) for line in axes.lines]


def budget_lines(axes: Axes) -> list[float]:
    return [line.get_xdata()[0] for line in axes.lines if list(line.get_ydata()) == [0, 1]]


# --------------------------------------------------------------------------- the data


def check_bars(axes: Axes, comparison: Comparison) -> None:
    models = comparison.measurements
    assert [bar.get_width() for bar in axes.patches] == [m.latency.p50_ms for m in models]
    assert [text.get_text() for text in axes.get_yticklabels()] == [m.name for m in models]
    for row, m in enumerate(models):
        assert [(m.latency.p50_ms, row), (m.latency.p90_ms, row)] in line_data(axes)


def test_latencies(digits: Comparison) -> None:
    (axes,) = drawn(plots.latencies, digits)
    check_bars(axes, digits)
    assert axes.get_xlim()[0] == 0  # a bar that does not start at 0 tells a wrong ratio
    assert budget_lines(axes) == [digits.budget_ms]
    assert "budget 0.009 ms" in texts(axes)


def test_answer(digits: Comparison) -> None:
    with style():
        figure = plots.answer(digits)
    left, right = figure.axes
    check_bars(left, digits)
    for row, m in enumerate(digits.measurements):
        low, high = m.seeds.interval
        assert [(100 * low, row), (100 * high, row)] in line_data(right)
        assert [(100 * m.best_accuracy, row)] in line_data(right)
        assert f"{m.best_accuracy:.2%}" in texts(right)
    assert figure.get_suptitle().split() == digits.verdict.sentence.split()
    bold = [text.get_text() for text in left.get_yticklabels() if text.get_fontweight() == "bold"]
    assert bold == [digits.verdict.take]


def test_answer_when_the_accuracy_is_not_known(own_model: Comparison) -> None:
    with style():
        (axes,) = plots.answer(own_model).axes
    check_bars(axes, own_model)


@pytest.mark.parametrize(("budget", "side"), [(1.0, "right"), (0.0001, "left")])
@pytest.mark.parametrize("draw", [plots.latencies, model_plots.tradeoff])
def test_a_far_budget_is_told(digits: Comparison, draw: Draw, budget: float, side: str) -> None:
    (axes,) = drawn(draw, replace(digits, budget_ms=budget))
    assert budget_lines(axes) == []
    assert f"budget {budget:g} ms, far to the {side}" in texts(axes)


def test_tradeoff(digits: Comparison) -> None:
    (axes,) = drawn(model_plots.tradeoff, digits)
    for m in digits.measurements:
        x, y, (low, high) = m.latency.p50_ms, 100 * m.best_accuracy, m.seeds.interval
        assert [(x, y)] in line_data(axes)
        assert [(x, y), (m.latency.p90_ms, y)] in line_data(axes)
        assert [(x, 100 * low), (x, 100 * high)] in line_data(axes)
        assert m.name in texts(axes)
    assert budget_lines(axes) == [digits.budget_ms]


def test_distributions(digits: Comparison) -> None:
    rows = drawn(model_plots.distributions, digits)
    assert len(rows) == len(digits.measurements)
    for axes, m in zip(rows, digits.measurements, strict=True):
        lines = line_data(axes)
        assert list(zip(m.quantiles_ms[:100], range(100), strict=True)) in lines
        assert [(m.latency.p50_ms, 50)] in lines
        assert [(m.latency.p90_ms, 90)] in lines
        assert axes.get_title(loc="left").startswith(f"{m.name}: ")
        assert axes.get_xscale() == "linear"
        assert budget_lines(axes) == [digits.budget_ms]


def test_distributions_far_apart_are_on_a_logarithmic_axis(digits: Comparison) -> None:
    first, *_, last = digits.measurements
    slow = replace(last, quantiles_ms=tuple(10 * q for q in last.quantiles_ms))
    apart = replace(digits, measurements=(first, slow))
    assert {axes.get_xscale() for axes in drawn(model_plots.distributions, apart)} == {"log"}


@pytest.mark.parametrize("us", [(0.75, 0.5), (-0.25, 0.5), (0.75, -0.125), (-0.25, -0.125)])
def test_split(digits: Comparison, us: tuple[float, float]) -> None:
    base, other, *_ = digits.measurements
    changed = replace(digits, measurements=(base, replace(other, split=Split(*us))))
    (axes,) = drawn(model_plots.split, changed)
    fusion, arithmetic = axes.patches
    assert (fusion.get_x(), fusion.get_width()) == (0, us[0])
    beyond = us[0] if us[0] * us[1] > 0 else 0  # what is saved is drawn to the other side
    assert (arithmetic.get_x(), arithmetic.get_width()) == (beyond, us[1])
    assert fusion.get_hatch() != arithmetic.get_hatch()  # not by colour alone
    assert f"{sum(us):+.2f}" in texts(axes)


def test_kernel_costs(digits: Comparison) -> None:
    (axes,) = drawn(kernel_plots.kernel_costs, digits)
    costs = digits.kernel_costs
    for activation, medians in costs.median_ns.items():
        assert list(zip(costs.sizes, medians, strict=True)) in line_data(axes)
        assert activation in texts(axes)
    caches = {"L1d": costs.caches.l1d, "L2": costs.caches.l2, "L3": costs.caches.l3}
    assert budget_lines(axes) == [size / ELEMENT_BYTES for size in caches.values()]
    assert set(caches) < set(texts(axes))
    assert axes.get_xscale() == "log"


def test_functions(digits: Comparison) -> None:
    whole, near, slope, slope_near = drawn(kernel_plots.functions, digits)
    for axes, zoom in ((near, whole), (slope_near, slope)):
        low, high = axes.get_xlim()
        assert zoom.get_xlim()[0] < low < -0.7525 < 0 < high < zoom.get_xlim()[1]
    for axes in (whole, near):
        for line in axes.lines[: len(digits.properties)]:
            x, y = line.get_data()
            np.testing.assert_array_equal(y, getattr(fastact, line.get_label())(x))
    for axes in (slope, slope_near):
        for line in axes.lines[: len(digits.properties)]:
            x, y = line.get_data()
            drawn_at = ~np.isnan(y)
            exact = getattr(fastact, f"{line.get_label()}_grad")(x)
            assert np.abs(y - exact)[drawn_at].max() < 1e-5
            assert x[~drawn_at].tolist() == ([0.0] if line.get_label() == "relu" else [])


def test_every_picture_of_the_page_is_tested(digits: Comparison, own_model: Comparison) -> None:
    shown = {chart.draw for made in (digits, own_model) for chart in charts(made)}
    assert shown == set(PICTURES.values())


# --------------------------------------------------------------------------- the style


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(
    "role", [role for role in PALETTE if role not in ("paper", "panel", "line")]
)
def test_contrast(role: str, theme: int) -> None:
    color = PALETTE[role][theme]
    assert contrast(color, PALETTE["paper"][theme]) >= 4.5
    assert contrast(color, PALETTE["panel"][theme]) >= 4.5


def test_colors_are_told_apart_by_their_value() -> None:
    assert len(set(LIGHT.values())) == len(PALETTE)  # the page replaces them by it


def test_models_differ_by_more_than_colour(digits: Comparison) -> None:
    look = looks(digits)
    assert len({look[m.name].marker for m in digits.measurements}) == len(digits.measurements)
    activations = [entry.activation for entry in digits.properties]
    assert len({look[name].dashes for name in activations}) == len(activations)


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.01, 0.3))
def test_spread(places: list[float], gap: float) -> None:
    moved = spread(places, gap)
    order = sorted(range(len(places)), key=places.__getitem__)
    steps = np.diff([moved[i] for i in order])
    assert all(steps >= gap - 1e-9)
    if all(np.diff(sorted(places)) > gap):
        assert moved == places


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", [*PICTURES, "answer"])
def test_nothing_is_cut_off(digits: Comparison, name: str, width: float) -> None:
    with style():
        figure = plots.answer(digits) if name == "answer" else PICTURES[name](digits, width)
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
    slack = 2 / 72  # inches; a line has a width
    assert box.x0 >= -slack
    assert box.y0 >= -slack
    assert box.x1 <= figure.get_figwidth() + slack
    assert box.y1 <= figure.get_figheight() + slack


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_labels_do_not_overlap(digits: Comparison, width: float) -> None:
    for draw in (model_plots.tradeoff, kernel_plots.kernel_costs):
        with style():
            figure = draw(digits, width)
            figure.draw_without_rendering()
            names = set(looks(digits))
            labels = [text for text in figure.axes[0].texts if text.get_text() in names]
            heights = sorted(Text.get_window_extent(label).y0 for label in labels)  # no arrow
        assert len(heights) >= 3
        assert min(np.diff(heights)) >= 0.75 * TEXT
