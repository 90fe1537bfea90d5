"""The page of a comparison in a real browser: at two widths, light and dark, by key, and printed.

Needs Chromium and its driver (Debian: chromium, chromium-driver), and skips without them.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from fastact.bench.report.style import PALETTE
from fastact.bench.results import Comparison

Render = Callable[[Comparison], str]
Browser = webdriver.Chrome

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs chromium and chromedriver (Debian: chromium-driver)"
)

PHONE, DESK = 360, 1280
THEMES = ("light", "dark")

# What a reader sees: for each text its colour, and the first opaque colour behind it.
CONTRASTS = """
const rgb = color => color.match(/[\\d.]+/g).map(Number);
const behind = e => {
  for (; e; e = e.parentElement) {
    const [r, g, b, a = 1] = rgb(getComputedStyle(e).backgroundColor);
    if (a == 1) return [r, g, b];
  }
  return [255, 255, 255];
};
const luminance = color => color.map(c => c / 255)
  .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = [];
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !e.checkVisibility()) continue;
  const style = getComputedStyle(e), svg = e.closest("svg");
  const ink = rgb(svg ? style.fill : style.color).slice(0, 3);
  const [low, high] = [luminance(ink), luminance(behind(svg || e))].sort((a, b) => a - b);
  found.push([walker.currentNode.data.trim(), (high + 0.05) / (low + 0.05), !!svg]);
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless=new",
        "--no-sandbox",  # root has none, as in a container
        "--disable-dev-shm-usage",
        "--hide-scrollbars",  # which would take a part of the width
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # With the driver's path, selenium looks for none and downloads none.
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def show(browser: Browser, page: Render, tmp_path: Path) -> Callable[..., Browser]:
    def load(comparison: Comparison, width: int = DESK, theme: str = "light") -> Browser:
        path = tmp_path / "report.html"
        path.write_text(page(comparison), encoding="utf-8")
        media = [{"name": "prefers-color-scheme", "value": theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get_log("performance")  # forget what came before
        browser.get(path.as_uri())
        return browser

    return load


def focused(browser: Browser) -> WebElement:
    return browser.switch_to.active_element


def press(browser: Browser, key: str) -> None:
    focused(browser).send_keys(key)


def requests(browser: Browser) -> list[str]:
    events: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"] for entry in browser.get_log("performance")
    ]
    sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_it_fits_and_is_quiet(
    any_comparison: Comparison, show: Callable[..., Browser], width: int, theme: str
) -> None:
    browser = show(any_comparison, width, theme)
    assert browser.get_log("browser") == []
    assert [url for url in requests(browser) if not url.startswith("data:")] == [
        browser.current_url
    ]
    browser.execute_script("document.querySelectorAll('details').forEach(e => e.open = true)")
    inner, scroll = browser.execute_script(
        "return [innerWidth, document.documentElement.scrollWidth]"
    )
    assert (inner, scroll) == (width, width)
    # What is too wide scrolls by itself; everything else ends within the screen.
    beyond = browser.execute_script(
        "return [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() &&"
        " !e.closest('table, svg, .skip') && e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_one_picture_for_each_width(
    digits: Comparison, show: Callable[..., Browser], width: int
) -> None:
    browser = show(digits, width)
    shown = browser.execute_script(
        "return [...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('svg')]"
        ".filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().width))"
    )
    assert len(shown) == 5
    assert {len(widths) for widths in shown} == {1}
    assert {round(widths[0]) for widths in shown} == ({336} if width == PHONE else {760})


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_contrast(
    any_comparison: Comparison, show: Callable[..., Browser], width: int, theme: str
) -> None:
    browser = show(any_comparison, width, theme)
    browser.execute_script("document.querySelectorAll('details').forEach(e => e.open = true)")
    found = browser.execute_script(CONTRASTS)
    assert len(found) > 200
    assert sum(in_picture for _, _, in_picture in found) > 50
    assert [(text, ratio) for text, ratio, _ in found if ratio < 4.5] == []
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    expected = PALETTE["paper"][THEMES.index(theme)]
    assert "#" + "".join(f"{int(c):02x}" for c in re.findall(r"\d+", paper)) == expected


def test_by_keyboard(digits: Comparison, show: Callable[..., Browser]) -> None:
    browser = show(digits)
    reachable = browser.execute_script(
        "return [...document.querySelectorAll('a, summary, [tabindex]')]"
        ".filter(e => e.checkVisibility()).length"
    )
    press(browser, Keys.TAB)
    skip = focused(browser)
    assert skip.text == "Skip to the table of models"
    assert skip.rect["x"] >= 0  # seen as soon as it has the focus

    tags, summaries = [], 0
    for _ in range(reachable):
        element = focused(browser)
        tags.append(element.tag_name)
        outline = element.value_of_css_property("outline-style")
        assert outline == "solid", f"{tags} has the focus, and does not show it"
        if element.tag_name == "summary":
            summaries += 1
            element.send_keys(Keys.ENTER)
            assert element.find_element("xpath", "..").get_property("open")
            element.send_keys(Keys.ENTER)
            assert not element.find_element("xpath", "..").get_property("open")
        press(browser, Keys.TAB)
    assert summaries == len(browser.find_elements("tag name", "details")) == 7
    assert tags.count("div") >= 5  # the tables
    assert set(tags) == {"a", "summary", "div"}

    browser.execute_script("document.activeElement.blur()")
    browser.refresh()
    press(browser, Keys.TAB)
    press(browser, Keys.ENTER)
    assert browser.current_url.endswith("#models")


def test_a_wide_table_scrolls_by_key(digits: Comparison, show: Callable[..., Browser]) -> None:
    browser = show(digits, PHONE)
    box = browser.find_element("css selector", "#models .scroll")
    assert box.get_property("scrollWidth") > box.get_property("clientWidth")
    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    browser.execute_script("arguments[0].focus()", box)
    for _ in range(5):
        press(browser, Keys.ARROW_RIGHT)
    for _ in range(50):  # it moves in the course of some frames
        if box.get_property("scrollLeft"):
            break
        browser.execute_async_script("requestAnimationFrame(() => arguments[0]())")
    assert box.get_property("scrollLeft") > 0
    first = browser.find_element("css selector", "#models tbody th")
    assert first.rect["x"] == box.rect["x"]  # the names stay where they are


def test_names_for_a_screen_reader(digits: Comparison, show: Callable[..., Browser]) -> None:
    browser = show(digits)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and "role" in node
    ]
    for role in ("image", "region", "table", "figure", "navigation", "DisclosureTriangle", "link"):
        names = [name for kind, name in named if kind == role]
        assert names, f"no {role}"
        if role != "figure":  # named by its caption, which some versions do not tell here
            assert all(names), f"a {role} without a name"
    assert [kind for kind, _ in named].count("main") == 1


def test_print(any_comparison: Comparison, show: Callable[..., Browser]) -> None:
    browser = show(any_comparison, theme="dark")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    data = base64.b64decode(printed["data"])
    assert data.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    assert 3 <= pages <= 12

    # As on A4 paper between the margins, at 96 pixels for each inch.
    a4 = {"width": 688, "height": 1017, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", a4)
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    found = browser.execute_script(
        "const box = e => e.getBoundingClientRect();"
        "return [getComputedStyle(document.body).backgroundColor,"
        " document.documentElement.scrollWidth,"
        " [...document.querySelectorAll('.wide, table')].filter(e => e.checkVisibility())"
        ".filter(e => box(e).right > innerWidth + 1).length,"
        " [...document.querySelectorAll('.narrow, nav, details')]"
        ".filter(e => e.checkVisibility()).length]"
    )
    assert found == ["rgb(255, 255, 255)", 688, 0, 0]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
