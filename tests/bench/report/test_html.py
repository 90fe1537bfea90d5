"""The page of a comparison: complete, well-formed, self-contained, and with the data in it."""

from __future__ import annotations

import html
import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fastact.bench.latency import milliseconds
from fastact.bench.profiles import NOT_EMULATED
from fastact.bench.report import html as html_page
from fastact.bench.report.style import PALETTE
from fastact.bench.results import Comparison, Verdict
from fastact.export import FORMS, TARGETS

Render = Callable[[Comparison], str]

VOID = {"meta", "link", "br"}
# What the page of every comparison holds, in this order; the pictures come after the models.
SECTIONS = ["verdict", "models", "properties", "runtimes", "profile", "environment", "notes"]
PICTURES = ["split", "distributions", "tradeoff", "latencies", "kernels", "functions"]


@dataclass
class Element:
    """An element of a page, with what is inside of it."""

    tag: str
    attrs: dict[str, str | None] = field(default_factory=dict)
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    def all(self, *tags: str) -> list[Element]:
        inside = [child for child in self.children if isinstance(child, Element)]
        return [e for child in inside for e in (child, *child.all()) if not tags or e.tag in tags]

    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text() for c in self.children).strip()


class Tree(HTMLParser):
    """Reads a page, and is content only with tags that are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = self.at = Element("")
        self.feed(page)
        self.close()
        assert self.at is self.root, f"<{self.at.tag}> is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs), self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.at.children.append(Element(tag, dict(attrs), self.at))

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.at.tag, f"</{tag}> in <{self.at.tag}>"
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


@pytest.fixture
def tree(any_comparison: Comparison, page: Render) -> Element:
    return Tree(page(any_comparison)).root


def section(tree: Element, key: str) -> Element:
    (found,) = [e for e in tree.all("section") if e.attrs["id"] == key]
    return found


def rows(table: Element) -> list[list[str]]:
    return [[cell.text() for cell in row.all("th", "td")] for row in table.all("tr")]


# --------------------------------------------------------------------------- structure


def test_landmarks(tree: Element) -> None:
    (root,) = tree.all("html")
    assert root.attrs["lang"] == "en"
    for tag in ("title", "h1", "header", "main", "nav"):
        assert len(tree.all(tag)) == 1
    assert tree.all("title")[0].text()
    assert tree.all("nav")[0].attrs["aria-label"]
    (skip,) = [a for a in tree.all("a") if a.attrs.get("class") == "skip"]
    assert skip is tree.all("body")[0].all()[0]  # what the first tab reaches


def test_headings_skip_no_level(tree: Element) -> None:
    levels = [int(e.tag[1]) for e in tree.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_sections(any_comparison: Comparison, tree: Element) -> None:
    keys = [e.attrs["id"] for e in tree.all("section")]
    assert [key for key in keys if key in SECTIONS] == SECTIONS
    drawn = [key for key in keys if key not in SECTIONS]
    assert keys == [*SECTIONS[:2], *drawn, *SECTIONS[2:]]
    known = any(m.best_accuracy is not None for m in any_comparison.measurements)
    missing = {"latencies"} if known else {"tradeoff"}
    missing |= set() if any(m.split for m in any_comparison.measurements) else {"split"}
    missing |= set() if any_comparison.kernel_costs else {"kernels"}
    assert drawn == [key for key in PICTURES if key not in missing]


def test_ids_are_unique_and_references_lead_to_them(tree: Element) -> None:
    ids = [e.attrs["id"] for e in tree.all() if "id" in e.attrs]
    assert len(set(ids)) == len(ids)
    values = [(name, value or "") for e in tree.all() for name, value in e.attrs.items()]
    used = [value[1:] for name, value in values if name == "href" and value.startswith("#")]
    used += [value for name, value in values if name == "aria-labelledby"]
    used += [ref for _, value in values for ref in re.findall(r"url\(#([^)]*)\)", value)]
    assert len(used) > 50
    assert set(used) <= set(ids)


def test_tables(tree: Element) -> None:
    for table in tree.all("table"):
        assert table.all("caption")[0].text()
        assert {th.attrs["scope"] for th in table.all("thead")[0].all("th")} == {"col"}
        assert len({len(row) for row in rows(table)}) == 1
        for row in table.all("tbody")[0].all("tr"):
            assert [th.attrs["scope"] for th in row.all("th")] == ["row"]
        box = table.parent.attrs
        assert (box["role"], box["tabindex"]) == ("region", "0")
        assert box["aria-label"] == table.all("caption")[0].text()


def test_pictures(tree: Element) -> None:
    for figure in tree.all("figure"):
        (image,) = [e for e in figure.all("div") if e.attrs.get("role") == "img"]
        assert len(image.attrs["aria-label"]) > 40
        assert [e.attrs["class"] for e in image.all("div")] == ["wide", "narrow"]
        assert {e.attrs["aria-hidden"] for e in image.all("svg")} == {"true"}
        assert len(figure.all("figcaption")[0].text()) > 40
        (details,) = figure.parent.all("details")
        assert details.all("summary")[0].text()
        assert len(details.all("table")) == 1


# --------------------------------------------------------------------------- self-contained


def test_nothing_is_loaded(any_comparison: Comparison, page: Render, tree: Element) -> None:
    for e in tree.all():
        assert e.tag not in ("script", "img", "iframe", "object", "embed", "base", "form")
        for name, value in e.attrs.items():
            assert not name.startswith("on")
            if name in ("href", "src", "srcset", "action", "data"):
                assert value.startswith("#") or value == "data:,"
    text = page(any_comparison)
    assert "://" not in text
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) == {"#"}
    policy = [e.attrs["content"] for e in tree.all("meta") if "http-equiv" in e.attrs]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_every_colour_follows_the_theme(tree: Element) -> None:
    (style,) = tree.all("style")
    for role, colors in PALETTE.items():
        for color in colors:
            assert style.text().count(f"--{role}: {color};") == 1
    values = [
        value or "" for svg in tree.all("svg") for e in svg.all() for value in e.attrs.values()
    ]
    assert not [value for value in values if re.search(r"(?<!url\()#[0-9a-f]{3,8}\b", value)]
    used = {name for value in values for name in re.findall(r"var\(--(\w+)\)", value)}
    assert {"ink", "muted", "line", "hue1"} <= used <= set(PALETTE)


def test_without_properties(own_model: Comparison) -> None:
    bare = replace(own_model, properties=(), distances=())
    keys = [e.attrs["id"] for e in Tree(html_page.render(bare)).root.all("section")]
    assert not {"functions", "properties", "runtimes"} & set(keys)
    assert {"models", "latencies", "notes"} < set(keys)


def test_names_are_escaped(own_model: Comparison, page: Render) -> None:
    text, name = page(own_model), own_model.network
    assert "<script" in name
    assert name not in text
    assert "<script" not in text
    (heading,) = Tree(text).root.all("h1")
    assert heading.text() == f"Which activation for {name}?"
    assert html.escape(name, quote=False).split(" ")[0] in text


def test_the_same_bytes_again(digits: Comparison, page: Render, tmp_path: Path) -> None:
    html_page.save(digits, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == page(digits).encode()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_not_there(digits: Comparison, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        html_page.save(digits, tmp_path / "nowhere" / "report.html")


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_without_a_library(
    digits: Comparison, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"'{module}' is not installed.*'fastact\[html\]'"):
        html_page.render(digits)


# --------------------------------------------------------------------------- the data


def test_verdict(any_comparison: Comparison, tree: Element) -> None:
    shown, verdict = section(tree, "verdict"), any_comparison.verdict
    classes = {e.attrs.get("class"): e.text() for e in shown.all("p")}
    head = f"Take {verdict.take}" if verdict.take else "No verdict"
    assert classes["answer"] == head
    whole = f"{head}: {classes['reasons']}"
    assert whole.lower() == verdict.sentence.lower()  # a sentence begins with a capital
    warned = bool(any_comparison.noise.reasons) and not verdict.too_noisy
    assert ("warning" in classes) == warned
    for reason in any_comparison.noise.reasons:  # told above and below
        assert reason in shown.text()
        assert reason in section(tree, "notes").text()


def test_a_verdict_in_spite_of_noise(own_model: Comparison) -> None:
    noisy = replace(own_model, noise=replace(own_model.noise, reasons=("the load is 5.1",)))
    shown = section(Tree(html_page.render(noisy)).root, "verdict")
    (warning,) = [e for e in shown.all("p") if e.attrs.get("class") == "warning"]
    assert warning.text() == "Noisy machine: the load is 5.1."


def test_no_model_meets_the_budget(digits: Comparison) -> None:
    sentence = "No model meets the budget of 0.009 ms at p90, the nearest is relu/op."
    none = replace(digits, verdict=Verdict(None, sentence))
    assert html_page.answer(none) == ("No model meets the budget", sentence)


def test_models(any_comparison: Comparison, tree: Element) -> None:
    table, _ = section(tree, "models").all("table")
    head, *body = rows(table)
    cells = [dict(zip([" ".join(name.split()) for name in head], row, strict=True)) for row in body]
    base, budget = any_comparison.baseline.name, any_comparison.budget_ms
    for m, row in zip(any_comparison.measurements, cells, strict=True):
        chosen = m.name == any_comparison.verdict.take
        assert row.pop("model") == m.name + ("(taken)" if chosen else "")
        assert row.pop("p50, ms") == milliseconds(m.latency.p50_ms)
        assert row.pop("p90, ms") == milliseconds(m.latency.p90_ms)
        assert row.pop("p99, ms") == milliseconds(m.latency.p99_ms)
        low, high = m.ratio_interval
        spread = f"\n{low:.2f} to {high:.2f}" if low < high else ""
        assert row.pop(f"p50 / {base}") == f"{m.ratio:.2f}{spread}"
        if m.seeds:
            low, high = m.seeds.interval
            assert row.pop("accuracy") == f"{m.seeds.mean:.2%}\n{low:.2%} to {high:.2%}"
        if m.peak_mb is not None:
            assert row.pop("peak memory, MB") == f"{m.peak_mb:.1f}"
            assert row.pop("added by model, MB") == f"{m.model_mb:.1f}"
        assert row.pop("file, kB") == f"{m.file_bytes / 1000:.1f}"
        assert row.pop("nodes") == str(m.nodes)
        if budget is not None:
            words = {True: "pass", False: "FAIL", None: "unsure"}
            assert row.pop(f"budget {budget:g} ms at p90") == words[m.meets(budget)]
        if any(other.output_change for other in any_comparison.measurements):
            changed = row.pop("change of outputs")
            assert changed == (f"{m.output_change:.2g}" if m.output_change else "not known")
        assert row == {}


def test_more_figures_of_the_models(digits: Comparison, page: Render) -> None:
    _, table = section(Tree(page(digits)).root, "models").all("table")
    for m, (name, *cells) in zip(digits.measurements, rows(table)[1:], strict=True):
        assert name == m.name
        times = (m.create_ms, m.first_run_ms, m.latency.mean_ms, m.latency.min_ms)
        counts = (m.parameters, m.macs, m.activation_elements)
        assert cells[:4] == [milliseconds(time_ms) for time_ms in times]
        assert cells[4] == f"{m.slower_share:.1%}"
        assert cells[5:8] == [f"{count:,}" for count in counts]
        operators = [f"{n} {name}" for name, n in sorted(m.operators.items())]
        assert " ".join(cells[8].split()) == ", ".join(operators)


def test_the_numbers_behind_the_pictures(digits: Comparison, page: Render) -> None:
    tree = Tree(page(digits)).root
    _, *split = rows(section(tree, "split").all("table")[0])
    for m, (name, *cells) in zip(digits.measurements[1:], split, strict=True):
        assert name == m.name
        figures = (m.split.fusion_us, m.split.arithmetic_us, m.split.total_us)
        assert cells == [f"{us:+.2f}" for us in figures]
    _, *quantiles = rows(section(tree, "distributions").all("table")[0])
    for m, (name, *cells, runs) in zip(digits.measurements, quantiles, strict=True):
        percents = (1, 10, 25, 50, 75, 90, 95, 99)
        assert (name, runs) == (m.name, str(m.latency.n))
        assert cells == [milliseconds(m.quantiles_ms[percent]) for percent in percents]
    _, *accuracies = rows(section(tree, "tradeoff").all("table")[0])
    for m, (name, _, share, right, gained, source) in zip(
        digits.measurements, accuracies, strict=True
    ):
        assert name == m.name
        assert share.startswith(f"{m.seeds.mean:.2%}\n")
        assert right == f"{' '.join(map(str, m.seeds.counts))} of {m.seeds.images}"
        if m.gain:
            assert gained.startswith(f"{100 * m.gain.difference:+.2f}\n")
            assert source == m.gain.source
    costs = digits.kernel_costs
    _, *sizes = rows(section(tree, "kernels").all("table")[0])
    assert sizes == [
        [f"{n:,}", *(f"{medians[i]:.3f}" for medians in costs.median_ns.values())]
        for i, n in enumerate(costs.sizes)
    ]
    _, *pairs = rows(section(tree, "functions").all("table")[0])
    assert pairs == [
        [f"{d.one} and {d.other}", f"{d.value:.4g}", f"{d.at:.4g}"] for d in digits.distances
    ]


def test_properties(digits: Comparison, page: Render) -> None:
    head, *body = rows(section(Tree(page(digits)).root, "properties").all("table")[0])
    assert head[1:] == [entry.activation for entry in digits.properties]
    for column, entry in enumerate(digits.properties, 1):
        shown = {row[0]: row[column] for row in body}
        assert {"activation": entry.activation, **shown} == entry.cells()


def test_runtimes(digits: Comparison, page: Render) -> None:
    short, long = section(Tree(page(digits)).root, "runtimes").all("table")
    for table in (short, long):
        head, *body = rows(table)
        compared = [entry.activation for entry in digits.properties]
        forms = [f"{activation}/{form}" for activation in compared for form in FORMS[activation]]
        assert head[1 : len(forms) + 1] == forms
        assert [row[0] for row in body] == [target.runtime for target in TARGETS.values()]
    facts = {row[0]: dict(zip(head, row, strict=True)) for row in body}
    words = {row[0]: dict(zip(head, row, strict=False)) for row in rows(short)}
    oldest = "onnxruntime from 1.15 on"
    assert (words[oldest]["gelu/op"], words[oldest]["gelu/erf"]) == ("no", "fused")
    assert facts[oldest]["gelu/op"] == "needs opset 20 and it reads up to 19"
    assert words["MNN"]["gelu/op"] == "wrong"
    assert facts["MNN"]["how it is known"] == TARGETS["mnn"].source


def test_profile_and_environment(any_comparison: Comparison, tree: Element) -> None:
    shown = [item.text() for item in section(tree, "profile").all("li")]
    assert shown == [*any_comparison.profile.settings(), *NOT_EMULATED]
    facts = dict(rows(section(tree, "environment").all("table")[0]))
    where = any_comparison.environment
    assert (facts["processor"], facts["kernels of fastact"]) == (where.cpu, where.isa)
    assert {name: facts[name] for name in where.versions} == where.versions
    assert facts["date"] == any_comparison.date
    assert section(tree, "environment").all("code")[0].text() == any_comparison.command
    for note in any_comparison.notes:
        assert note in section(tree, "notes").text()
