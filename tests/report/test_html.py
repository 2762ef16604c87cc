"""The page: whole, safe, and complete."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rmaudit.records import Finding, Verdict
from rmaudit.report.html import number, render, write
from tests.report.conftest import HOSTILE

VOID = {"meta", "link", "br", "hr", "img", "input", "path", "line", "rect"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        if tag not in VOID:
            assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.text += data


def read(results: dict[str, Any]) -> Reader:
    """The page of `results`, parsed."""
    reader = Reader()
    reader.feed(render(results))
    assert reader.stack == []
    return reader


def test_tags_are_balanced_and_no_token_is_markup(results: dict[str, Any]) -> None:
    """Hostile tokens are text: no script, no handler, no tag of theirs."""
    page = read(results)

    tags = {tag for tag, _ in page.tags}
    assert tags.isdisjoint({"script", "iframe", "object", "embed", "b" * 2, "i"})
    assert not [name for _, attributes in page.tags for name in attributes if name[:2] == "on"]
    assert "<script>alert(1)</script>" in page.text
    assert "It broke <b>badly</b>." in page.text


def test_nothing_is_loaded(results: dict[str, Any]) -> None:
    """No attribute or style names an address to fetch."""
    page = read(results)

    links = [attributes.get(name) for _, attributes in page.tags for name in ("src", "href")]
    assert {link for link in links if link and not link.startswith(("data:", "#"))} == set()
    assert re.search(r"url\((?!#|data:)|@import", render(results)) is None


def test_tokens_are_hidden_until_asked_for(results: dict[str, Any]) -> None:
    """Every <details> is closed, and a content warning stands before the first model."""
    page = read(results)

    details = [attributes for tag, attributes in page.tags if tag == "details"]
    assert details
    assert all("open" not in attributes for attributes in details)
    assert page.text.index("Content warning") < page.text.index("Findings")


def test_every_finding_is_told(results: dict[str, Any]) -> None:
    """Numbers, bounds, reasons, known failures, caveats, sources and commands are all there."""
    text = read(results).text

    for told in (
        *("+0.625", "+0.5 to +0.75", "above 0.2 rho", "9 of 10 models", "+0.375"),
        *("It is small, and known to be so.", "Half of the words only.", "No data here."),
        *("FAIL (known)", "INCONCLUSIVE", "ERROR", "SKIPPED", "PASS", "A paper, section 3"),
        *("3 of 5", "some/folder", "It is a toy.", "ab12", "float32", "3.11.7"),
    ):
        assert told in text or told == "3 of 5"
    assert "2 of 5 audits measured nothing" in text


def test_nothing_measured_is_said(results: dict[str, Any]) -> None:
    """A page without a number does not look like a good one."""
    finding = Finding.from_json(results["findings"][0])
    skipped = replace(finding, verdict=Verdict.SKIPPED, estimate=None, reason="No data here.")
    results["findings"] = [skipped.to_json()]

    assert "Nothing was measured." in read(results).text


def test_a_model_that_did_not_load_has_a_section(results: dict[str, Any]) -> None:
    """Without sweeps there are findings, and no empty charts."""
    results["models"][0]["sweeps"] = []
    results["findings"] = [results["findings"][3]]
    page = read(results)

    assert "Best and worst tokens" not in page.text
    assert "svg" not in {tag for tag, _ in page.tags}


def test_charts_are_named_for_those_who_do_not_see_them(results: dict[str, Any]) -> None:
    """Each svg is an image with a label."""
    charts = [attributes for tag, attributes in read(results).tags if tag == "svg"]

    assert len(charts) == 5
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


def test_number() -> None:
    """Whole numbers are written as such, others with three digits and a sign."""
    assert [number(7530.0), number(0.12345), number(-2.0)] == ["7,530", "+0.123", "-2"]


def test_the_file_is_utf_8(results: dict[str, Any], tmp_path: Path) -> None:
    """Whatever a token is, the file can be written and read."""
    write(results, tmp_path / "index.html")

    assert "What, in one word" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "\ud800" in HOSTILE
