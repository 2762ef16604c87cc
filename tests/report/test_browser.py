"""The report in a real browser: it loads nothing, logs nothing, masks, and shuts nobody out."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from rmaudit.report import writers
from rmaudit.verdicts.records import Verdict
from tests.findings import but, waived
from tests.report.conftest import as_json, typed
from tests.report.page.test_html import of
from tests.report.test_hostile import TEXTS, poisoned

pytestmark = pytest.mark.slow


def test_report_in_a_browser(page: Page, results: dict[str, Any], tmp_path: Path) -> None:
    """No request but for the file itself, no console message, tokens hidden until asked for."""
    path = tmp_path / "index.html"
    writers.write(typed(results), path.parent)
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(path.as_uri())

    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert messages == []
    fold = page.locator("summary", has_text="with scores").first
    tokens = fold.locator("..").locator("table").first
    assert not tokens.is_visible()
    fold.click()
    assert tokens.is_visible()


def test_hostile_texts_in_a_browser(page: Page, results: dict[str, Any], tmp_path: Path) -> None:
    """All of them at once, in every place: none runs, none loads, all are text."""
    path = tmp_path / "index.html"
    writers.write(typed(poisoned(results, " ".join(TEXTS)[:3000])), path.parent)
    happened: list[str] = []
    page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: happened.append(request.url))
    page.on("console", lambda message: happened.append(message.text))
    page.on("pageerror", lambda error: happened.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    assert [what for what in happened if not what.startswith("data:")] == [path.as_uri()]
    assert page.locator("img, iframe, object, embed, a[href^=javascript]").count() == 0
    assert page.locator("h1").count() == 1
    assert "{{7*7}}" in page.locator("body").inner_text()


@pytest.fixture
def several(results: dict[str, Any]) -> dict[str, Any]:
    """Two models with hostile tokens, one of them harsh, and findings of every standing."""
    (model,) = results["models"]
    sweep = model["sweeps"][0]
    harsh = sweep["top"][0] | {"text": " bullshit", "token_id": 4321}
    sweep |= {"top": [harsh, *sweep["top"]], "bottom": [harsh, *sweep["bottom"]]}
    results["findings"][4]["reason"] = "the token 'bullshit' is not scored"
    results["models"].append(model | {"name": "Other"})
    results["findings"] += [of(finding, "Other") for finding in copy.deepcopy(results["findings"])]
    failing = but(typed(results).findings[-5], verdict=Verdict.FAIL, limits=("Whether it lasts.",))
    waiver = waived("waived", "0.4 rho accepted until 2026-12-01 (me): later")
    results["findings"][-5] = as_json(but(failing, waiver=waiver))
    return results


def opened(page: Page, results: dict[str, Any], tmp_path: Path) -> Page:
    """The page of `results`, loaded."""
    writers.write(typed(results), tmp_path)
    page.goto((tmp_path / "index.html").as_uri())
    return page


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(
    page: Page, several: dict[str, Any], tmp_path: Path, scheme: Any, width: int
) -> None:
    """axe-core finds no barrier, folded, unfolded or with all terms shown; a phone does not pan."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, several, tmp_path)

    def barriers() -> list[str]:
        return [f"{v['impact']}: {v['id']}" for v in Axe().run(page).response["violations"]]

    assert barriers() == []
    unfold(page)
    page.get_by_role("switch").click()
    assert barriers() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_picture_has_text(page: Page, several: dict[str, Any], tmp_path: Path) -> None:
    """What a screen reader is told of images is never nothing."""
    opened(page, several, tmp_path)
    unfold(page)

    images = page.get_by_role("img").all()
    assert len(images) > 6
    assert all(len(image.get_attribute("aria-label") or "") > 20 for image in images)
    assert page.locator("svg:not([role=img]):not([aria-hidden=true])").count() == 0


def read(page: Page) -> str:
    """What is read, by eye and by screen reader."""
    return page.locator("body").inner_text() + page.locator("body").aria_snapshot()


def test_a_masked_term_is_shown_when_asked_for(
    page: Page, several: dict[str, Any], tmp_path: Path
) -> None:
    """One by one, by mouse or key, and back; the others stay masked."""
    opened(page, several, tmp_path)
    unfold(page)
    assert "bullshit" not in read(page)

    ends = page.locator(".ends").first
    terms = ends.get_by_role("button", name="swear word masked term")
    before = terms.count()
    assert before >= 4
    terms.first.click()
    shown = page.get_by_role("button", name="␣bullshit", expanded=True)
    expect(shown).to_have_count(1)
    assert terms.count() == before - 1

    shown.focus()
    page.keyboard.press("Enter")
    expect(shown).to_have_count(0)
    assert "bullshit" not in read(page)


def test_all_terms_by_one_switch_and_none_on_paper(
    page: Page, several: dict[str, Any], tmp_path: Path
) -> None:
    """Off at first, reached and turned by keys, told to screen readers; print stays masked."""
    opened(page, several, tmp_path)
    unfold(page)
    switch = page.get_by_role("switch", name="Show masked terms")
    expect(switch).not_to_be_checked()

    for _ in range(5):
        page.keyboard.press("Tab")
        if switch.evaluate("each => each === document.activeElement"):
            break
    page.keyboard.press("Space")
    expect(switch).to_be_checked()
    assert page.get_by_role("status").inner_text() == "Masked terms are shown."
    assert "swear word" not in read(page)
    assert page.locator("html[data-show-terms]").count() == 1

    page.emulate_media(media="print")
    assert "bullshit" not in page.locator("main").inner_text()
    page.emulate_media(media="screen")
    switch.click()
    assert "bullshit" not in read(page)
    assert page.locator("html[data-show-terms]").count() == 0


def test_terms_in_pictures_follow_the_switch(
    page: Page, several: dict[str, Any], tmp_path: Path
) -> None:
    """Labels of a picture are masked like all else, on paper always."""
    opened(page, several, tmp_path)
    page.evaluate(
        "document.querySelector('figure svg').insertAdjacentHTML('beforeend',"
        " '<text id=mark data-term=bullshit>b•••</text>')"
    )
    mark = page.locator("#mark")

    page.get_by_role("switch").click()
    assert mark.text_content() == "bullshit"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert mark.text_content() == "b•••"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert mark.text_content() == "bullshit"
    page.get_by_role("switch").click()
    assert mark.text_content() == "b•••"


def test_the_keyboard_skips_to_the_summary(
    page: Page, several: dict[str, Any], tmp_path: Path
) -> None:
    """The first stop is the link that leads past all that repeats; what has focus shows it."""
    opened(page, several, tmp_path)

    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the verdict")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    assert skip.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_be_focused()


def test_without_scripts_all_is_there_but_the_masked(
    page: Page, several: dict[str, Any], tmp_path: Path
) -> None:
    """The page says so, and has no switch that does nothing."""
    writers.write(typed(several), tmp_path)
    assert page.context.browser is not None
    silent = page.context.browser.new_context(java_script_enabled=False).new_page()
    silent.goto((tmp_path / "index.html").as_uri())

    assert silent.get_by_role("switch").count() == 0
    assert "Scripts are off here: masked terms stay masked." in read(silent)
    assert "Blocks the release" in read(silent)
    assert "bullshit" not in read(silent)


def test_a_link_opens_its_audit(page: Page, several: dict[str, Any], tmp_path: Path) -> None:
    """From the verdict, and by the page's address; numbers and how to repeat it are in sight."""
    opened(page, several, tmp_path)
    row = page.locator("#framing--Other")
    assert not row.locator(".body").is_visible()

    page.locator(".verdict a[href='#framing--Other']").first.click()
    expect(row.locator(".body")).to_be_visible()
    assert "How to repeat it" in row.inner_text()
    page.reload()
    expect(row.locator(".body")).to_be_visible()


def test_columns_sort(page: Page, several: dict[str, Any], tmp_path: Path) -> None:
    """By a click or a key on their heads, and back; said to screen readers."""
    opened(page, several, tmp_path)
    names = page.locator("table.models tbody th")
    assert names.all_inner_texts() == ["Toy", "Other"]

    head = page.locator("table.models th[data-sort]").first
    head.get_by_role("button").press("Enter")
    assert names.all_inner_texts() == ["Other", "Toy"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert names.all_inner_texts() == ["Toy", "Other"]


def test_on_paper_it_is_a_scorecard_and_an_appendix(
    page: Page, several: dict[str, Any], tmp_path: Path
) -> None:
    """What rows open stays on the screen, but for failures; models and the rest are unfolded.

    Each finding has a row of the appendix, which is not on the screen.
    """
    several["findings"].append(copy.deepcopy(several["findings"][0]))
    several["findings"][-1]["claim"]["audit"] = "another"
    opened(page, several, tmp_path)
    failing = page.locator(".row:is(.blocks, .accepted)")
    other = page.locator(".row:not(.blocks, .accepted)")
    assert page.locator("#appendix").is_hidden()
    assert failing.first.locator(".lanes").is_hidden()
    other.first.evaluate("row => row.open = true")
    page.emulate_media(media="print")

    assert failing.first.locator(".lanes").is_visible()
    assert failing.first.locator("> .body table").first.is_visible()
    assert other.locator("> .body").first.is_hidden()
    assert page.locator(".ends details table").first.is_visible()
    assert page.locator("#appendix tbody tr").count() == len(several["findings"]) > 0


@pytest.mark.parametrize(("media", "width"), [("screen", 390), ("print", 700)])
def test_no_table_is_cut_and_no_name_breaks_inside_a_word(
    media: Literal["screen", "print"],
    width: int,
    page: Page,
    several: dict[str, Any],
    tmp_path: Path,
) -> None:
    """On a phone a wide table scrolls inside its box, on A4 (186 mm) it fits; a name is whole."""
    for finding in several["findings"]:
        finding["claim"]["prompt"] = finding["claim"]["prompt"].replace("worst", "around_you")
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, several, tmp_path)
    unfold(page)
    page.emulate_media(media=media)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = "[...document.querySelectorAll('table')].map(each => each.closest('.scroll') ?? each)"
    ends = page.evaluate(f"{boxes}.map(each => each.getBoundingClientRect().right)")
    assert max(ends) <= width
    wide = page.evaluate(f"{boxes}.map(each => getComputedStyle(each).overflowX)")
    assert "auto" in wide if media == "screen" else "auto" not in wide
    lines = "each => each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight)"
    name = page.locator(".lanes .prompt", has_text="around_you").first
    assert 0.9 < name.evaluate(lines) < 1.9
