"""The report in a real browser: it loads nothing, logs nothing, and hides the tokens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from rmaudit.report import html
from tests.conftest import unavailable
from tests.report.test_hostile import TEXTS, poisoned

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of headless Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        unavailable("no chromium here: install Debian's package `chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser.new_page()
        browser.close()


def test_report_in_a_browser(page: Page, results: dict[str, Any], tmp_path: Path) -> None:
    """No request but for the file itself, no console message, tokens hidden until asked for."""
    path = tmp_path / "index.html"
    html.write(results, path)
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(path.as_uri())

    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert messages == []
    warning = page.locator("summary", has_text="ontent warning").first
    tokens = warning.locator("..").locator("table").first
    assert not tokens.is_visible()
    warning.click()
    assert tokens.is_visible()


def test_hostile_texts_in_a_browser(page: Page, results: dict[str, Any], tmp_path: Path) -> None:
    """All of them at once, in every place: none runs, none loads, all are text."""
    path = tmp_path / "index.html"
    html.write(poisoned(results, " ".join(TEXTS)[:3000]), path)
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
