"""What the documents point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("rmaudit/**/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")  # https:, mailto:


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def broken(document: Path, root: Path = ROOT) -> list[str]:
    """Its links to files that are not there, or to headings that they do not have."""
    links = LINK.findall(document.read_text(encoding="utf-8"))
    return [link for link in links if not ELSEWHERE.match(link) and not leads(link, document, root)]


def leads(link: str, document: Path, root: Path) -> bool:
    """Whether this is a file of the repository, and has the heading."""
    name, _, anchor = link.partition("#")
    target = (document.parent / name).resolve() if name else document
    if not target.is_relative_to(root) or not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    """Those to files of this repository, and to headings in them."""
    assert broken(document) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    """To no file, to no heading, out of the repository; a page of the web is not looked at."""
    document = tmp_path / "a.md"
    document.write_text("# One: two\n[a](#one-two) [b](https://x.y/z) [c](none.md) [d](#no) [e](/)")

    assert broken(document, tmp_path) == ["none.md", "#no", "/"]
