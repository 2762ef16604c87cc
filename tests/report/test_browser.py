"""The report in a real browser: it loads nothing, logs nothing, masks, and shuts nobody out."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from rmaudit.report import writers
from rmaudit.verdicts.estimates_and_bounds import Verdict
from tests.findings import but, waived
from tests.report.conftest import as_json, happenings, hostile_results, of, typed, unfold
from tests.report.page.test_training_simulator import simulated, stage
from tests.report.test_hostile import TEXTS, poisoned

pytestmark = pytest.mark.slow


def several() -> dict[str, Any]:
    """Two models with hostile tokens, one of them harsh, and findings of every standing."""
    results = hostile_results()
    (model,) = results["models"]
    sweep = model["sweeps"][0]
    harsh = sweep["top"][0] | {"text": " bullshit", "token_id": 4321}
    sweep |= {"top": [harsh, *sweep["top"]], "bottom": [harsh, *sweep["bottom"]]}
    results["findings"][2]["claim"]["prompt"] = "around_you"
    results["findings"][4]["reason"] = "the token 'bullshit' is not scored"
    results["models"].append(model | {"name": "Other"})
    results["findings"] += [of(finding, "Other") for finding in copy.deepcopy(results["findings"])]
    failing = but(typed(results).findings[-5], verdict=Verdict.FAIL, limits=("Whether it lasts.",))
    waiver = waived("waived", "0.4 rho accepted until 2026-12-01 (me): later")
    results["findings"][-5] = as_json(but(failing, waiver=waiver))
    results["findings"].append(copy.deepcopy(results["findings"][0]))
    results["findings"][-1]["claim"]["audit"] = "another"
    return results


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of these results."""
    folder = tmp_path_factory.mktemp("report")
    writers.write(typed(several()), folder)
    return (folder / "index.html").as_uri()


@pytest.fixture
def opened(page: Page, report: str) -> Page:
    """That page, loaded."""
    page.goto(report)
    return page


def test_nothing_is_requested_or_logged_and_tokens_are_folded(page: Page, report: str) -> None:
    """No request but for the file itself, no console message, tokens hidden until asked for.

    The tables of what pictures show are there, which travelled compressed.
    """
    happened = happenings(page)
    page.goto(report)

    expect(page.locator("[data-packed]")).to_have_count(0)
    assert page.locator("figure > details table td").count() > 0
    assert [what for what in happened if not what.startswith("data:")] == [report]
    fold = page.locator("summary", has_text="with scores").first
    tokens = fold.locator("..").locator("table").first
    page.locator("details.model > summary").first.click()
    assert not tokens.is_visible()
    fold.click()
    assert tokens.is_visible()


def test_hostile_texts_in_a_browser(page: Page, results: dict[str, Any], tmp_path: Path) -> None:
    """All of them at once, in every place: none runs, none loads, all are text."""
    path = tmp_path / "index.html"
    writers.write(typed(poisoned(results, " ".join(TEXTS)[:3000])), path.parent)
    happened = happenings(page)
    page.goto(path.as_uri())
    unfold(page)

    assert [what for what in happened if not what.startswith("data:")] == [path.as_uri()]
    assert page.locator("img, iframe, object, embed, a[href^=javascript]").count() == 0
    assert page.locator("h1").count() == 1
    assert "{{7*7}}" in page.locator("body").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_nobody_is_shut_out(opened: Page, scheme: Any, width: int) -> None:
    """axe-core finds no barrier, folded, unfolded or with all terms shown; a phone does not pan."""
    opened.emulate_media(color_scheme=scheme)
    opened.set_viewport_size({"width": width, "height": 800})

    def barriers() -> list[str]:
        return [f"{v['impact']}: {v['id']}" for v in Axe().run(opened).response["violations"]]

    assert barriers() == []
    unfold(opened)
    opened.get_by_role("switch").click()
    assert barriers() == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


def read(page: Page) -> str:
    """What is read, by eye and by screen reader."""
    return page.locator("body").inner_text() + page.locator("body").aria_snapshot()


def test_a_masked_term_is_shown_when_asked_for(opened: Page) -> None:
    """One by one, by mouse or key, and back; the others stay masked."""
    unfold(opened)
    assert "bullshit" not in read(opened)

    terms = opened.locator(".ends").first.get_by_role("button", name="swear word masked term")
    before = terms.count()
    assert before >= 4
    terms.first.click()
    shown = opened.get_by_role("button", name="␣bullshit", expanded=True)
    expect(shown).to_have_count(1)
    assert terms.count() == before - 1

    shown.focus()
    opened.keyboard.press("Enter")
    expect(shown).to_have_count(0)
    assert "bullshit" not in read(opened)


def test_all_terms_by_one_switch_and_none_on_paper(opened: Page) -> None:
    """Off at first, reached and turned by keys, told to screen readers; print stays masked."""
    unfold(opened)
    switch = opened.get_by_role("switch", name="Show masked terms")
    expect(switch).not_to_be_checked()

    for _ in range(5):
        opened.keyboard.press("Tab")
        if switch.evaluate("each => each === document.activeElement"):
            break
    opened.keyboard.press("Space")
    expect(switch).to_be_checked()
    assert opened.get_by_role("status").inner_text() == "Masked terms are shown."
    assert "swear word" not in read(opened)
    assert opened.locator("html[data-show-terms]").count() == 1

    opened.emulate_media(media="print")
    assert "bullshit" not in opened.locator("main").inner_text()
    opened.emulate_media(media="screen")
    switch.click()
    assert "bullshit" not in read(opened)
    assert opened.locator("html[data-show-terms]").count() == 0


def test_terms_in_pictures_follow_the_switch(opened: Page) -> None:
    """Labels of a picture are masked like all else, on paper always."""
    opened.evaluate(
        "document.querySelector('figure svg').insertAdjacentHTML('beforeend',"
        " '<text id=mark data-term=bullshit>b•••</text>')"
    )
    mark = opened.locator("#mark")

    opened.get_by_role("switch").click()
    assert mark.text_content() == "bullshit"
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert mark.text_content() == "b•••"
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert mark.text_content() == "bullshit"
    opened.get_by_role("switch").click()
    assert mark.text_content() == "b•••"


def test_the_keyboard_skips_to_the_summary(opened: Page) -> None:
    """The first stop is the link that leads past all that repeats; what has focus shows it."""
    opened.keyboard.press("Tab")
    skip = opened.get_by_role("link", name="Skip to the verdict")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    assert skip.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
    opened.keyboard.press("Enter")
    expect(opened.locator("#summary")).to_be_focused()


def test_without_scripts_all_is_there_but_the_masked(browser: Browser, report: str) -> None:
    """The page says so, and has no switch that does nothing."""
    with browser.new_context(java_script_enabled=False) as context:
        silent = context.new_page()
        silent.goto(report)

        assert silent.get_by_role("switch").count() == 0
        assert "Scripts are off here: masked terms stay masked." in read(silent)
        assert "Blocks the release" in read(silent)
        assert "bullshit" not in read(silent)


def test_a_link_opens_its_audit(opened: Page) -> None:
    """From the verdict, and by the page's address; numbers and how to repeat it are in sight."""
    row = opened.locator("#framing--Toy")
    assert not row.locator(".body").is_visible()

    opened.locator(".verdict a[href='#framing--Toy']").first.click()
    expect(row.locator(".body")).to_be_visible()
    assert "How to repeat it" in row.inner_text()
    opened.reload()
    expect(row.locator(".body")).to_be_visible()


def test_columns_sort(opened: Page) -> None:
    """By a click or a key on their heads, and back; said to screen readers."""
    names = opened.locator("table.models").first.locator("tbody th")
    assert names.all_inner_texts() == ["Toy", "Other"]

    head = opened.locator("table.models th[data-sort]").first
    head.get_by_role("button").press("Enter")
    assert names.all_inner_texts() == ["Other", "Toy"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert names.all_inner_texts() == ["Toy", "Other"]


def test_on_paper_it_is_a_scorecard_and_an_appendix(opened: Page) -> None:
    """What rows open stays on the screen, but for failures; models and the rest are unfolded.

    Each finding has a row of the appendix, which is not on the screen.
    """
    failing = opened.locator(".row:is(.blocks, .accepted)")
    other = opened.locator(".row:not(.blocks, .accepted)")
    assert opened.locator("#appendix").is_hidden()
    assert failing.first.locator(".lanes").is_hidden()
    other.first.evaluate("row => row.open = true")
    opened.emulate_media(media="print")

    assert failing.first.locator(".lanes").is_visible()
    assert failing.first.locator("> .body table").first.is_visible()
    assert other.locator("> .body").first.is_hidden()
    assert opened.locator(".ends .chip").first.is_visible()
    assert opened.locator(".ends details").first.is_hidden()
    assert opened.locator("#appendix tbody tr").count() == len(several()["findings"]) > 0


@pytest.mark.parametrize(("media", "width"), [("screen", 390), ("print", 700)])
def test_no_table_is_cut_and_no_name_breaks_inside_a_word(
    media: Literal["screen", "print"], width: int, opened: Page
) -> None:
    """On a phone a wide table scrolls inside its box, on A4 (186 mm) it fits; a name is whole."""
    opened.set_viewport_size({"width": width, "height": 900})
    unfold(opened)
    opened.emulate_media(media=media)

    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    boxes = "[...document.querySelectorAll('table')].map(each => each.closest('.scroll') ?? each)"
    ends = opened.evaluate(f"{boxes}.map(each => each.getBoundingClientRect().right)")
    assert max(ends) <= width
    wide = opened.evaluate(f"{boxes}.map(each => getComputedStyle(each).overflowX)")
    assert "auto" in wide if media == "screen" else "auto" not in wide
    numbers = opened.locator("table.numbers").first
    fits = "each => each.scrollWidth <= each.closest('.scroll').clientWidth"
    assert numbers.evaluate(fits), "the table of an audit's numbers needs no scrolling"
    gates = opened.locator(".verdict .models .gates").first
    assert gates.evaluate("each => each.getBoundingClientRect().right") <= width
    lines = "each => each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight)"
    name = opened.locator(".lanes .prompt", has_text="around_you").first
    assert 0.9 < name.evaluate(lines) < 1.9


# The simulator


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
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
def test_a_slider_trains_the_policy(page: Page, trained: str, width: int, scheme: Any) -> None:
    """Arrows move it; words, figures and what is read aloud follow; axe finds no barrier."""
    happened = happenings(page)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(trained)
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
    assert [what for what in happened if not what.startswith("data:")] == [trained]


def test_without_scripts_the_still_picture_stands(browser: Browser, trained: str) -> None:
    """The simulator is hidden; the chart's table has the words."""
    with browser.new_context(java_script_enabled=False) as context:
        plain = context.new_page()
        plain.goto(trained)
        expect(plain.locator("[data-simulator]")).to_have_count(1)
        expect(plain.locator("[data-simulator]")).to_be_hidden()
        figures = plain.locator("[aria-labelledby$=-figures] figure")
        expect(figures.filter(has_text="war")).to_have_count(1)
