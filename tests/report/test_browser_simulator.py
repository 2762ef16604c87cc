"""The simulator in headless Chromium: by the keyboard, for a screen reader, on a phone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from rmaudit.report import writers
from tests.report.conftest import happenings, hostile_results, typed, unfold
from tests.report.page.test_html_page import simulated, stage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with a simulator."""
    stages = [
        *(stage(0, "the", "fucking"), stage(4.0, "love", "the"), stage(8.0, "joy", "love")),
        *(stage(1.94, "good", draws=16), stage(0, "no", prompt="worst")),
        stage(4.0, "war", prompt="worst"),
    ]
    folder = tmp_path_factory.mktemp("report")
    writers.write(replace(typed(hostile_results()), figures=(simulated(*stages),)), folder)
    return (folder / "index.html").as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_a_slider_trains_the_policy(page: Page, report: str, width: int, scheme: Any) -> None:
    """Arrows move it; words, figures and what is read aloud follow; axe finds no barrier."""
    happened = happenings(page)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(report)
    unfold(page)
    shown = page.locator("[data-simulator]")
    slider, words = shown.get_by_role("slider"), shown.locator("li")

    expect(words).to_have_count(2)
    expect(words.nth(1)).not_to_contain_text("fucking")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(shown.locator("output")).to_have_text("4 nats")
    expect(words.nth(0)).to_contain_text("love")
    expect(slider).to_have_attribute("aria-valuetext", "4 nats: love 50 %, the 33 %")
    page.keyboard.press("End")
    expect(shown.locator("dd").nth(1)).to_have_text("7.67")
    shown.get_by_label("best of n").check()
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    expect(shown.locator("output")).to_have_text("best of 16")
    shown.get_by_label("Prompt").select_option("worst")
    expect(words.nth(0)).to_contain_text("no")
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [n["html"][:200] for n in each["nodes"]]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [what for what in happened if not what.startswith("data:")] == [report]


def test_without_scripts_the_still_picture_stands(browser: Browser, report: str) -> None:
    """The simulator is hidden; the chart's table has the words."""
    with browser.new_context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(report)
        expect(plain.locator("[data-simulator]")).to_have_count(1)
        expect(plain.locator("[data-simulator]")).to_be_hidden()
        figures = plain.locator("[aria-labelledby$=-figures] figure")
        expect(figures.filter(has_text="war")).to_have_count(1)
