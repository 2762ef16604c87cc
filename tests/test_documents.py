"""What the documents point to is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import rmaudit

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("rmaudit/**/*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:tests|scripts|lab|rmaudit|docs|audits)/[a-z_0-9/.-]+)`")
NAME = re.compile(r"`(rmaudit(?:\.\w+)+)[`(]")
JUNIT = {
    "rmaudit.high",
    "rmaudit.low",
    "rmaudit.n",
    "rmaudit.unit",
    "rmaudit.value",
    "rmaudit.bound",
}
YOURS = {"audits/test_capitals.py"}  # what a reader is told to write
PRESENT = [page for page in DOCUMENTS if "design" not in page.parts and page.stem != "CHANGELOG"]
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


def test_the_first_page_is_short() -> None:
    """What a reader of ten minutes needs; the rest is on the site."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_every_public_name_is_in_the_reference() -> None:
    """From its docstring."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")

    assert sorted(re.findall(r"^::: rmaudit\.(\w+)$", page, re.MULTILINE)) == sorted(
        rmaudit.__all__
    )


def test_every_page_is_in_the_navigation() -> None:
    """A page that no menu names is not found."""
    site = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]

    assert [page for page in pages if f'"{page}"' not in site] == []


@pytest.mark.parametrize("document", PRESENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_names_is_there(document: Path) -> None:
    """Files of the repository, and names of the package; design notes tell of their day."""
    text = document.read_text(encoding="utf-8")

    assert [name for name in {*FILE.findall(text)} - YOURS if not (ROOT / name).exists()] == []
    assert [name for name in {*NAME.findall(text)} - JUNIT if not imports(name)] == []


def imports(name: str) -> bool:
    """Whether a dotted name is a module, or something that one has."""
    home, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        return bool(home) and imports(home) and hasattr(found(home), last)
    return True


def found(name: str) -> object:
    """The module or the object of a dotted name that `imports`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        home, _, last = name.rpartition(".")
        return getattr(found(home), last)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("rmaudit.prompts", True),
        ("rmaudit.prompts.FAMILY", True),
        ("rmaudit.nosuch", False),
        ("rmaudit.prompts.NOSUCH", False),
        ("rmaudit.nosuch.run", False),
    ],
)
def test_a_name_that_is_not_there_is_found(name: str, there: bool) -> None:
    """A module, something in one, and neither."""
    assert imports(name) == there


def test_the_map_begins_at_modules_that_are_there() -> None:
    """Each row of ARCHITECTURE.md's table names packages, and a module of one of them."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| .+ \| `(\w+\.py)` \|$", text, re.MULTILINE)

    assert len(rows) > 10
    for packages, module in rows:
        folders = [ROOT / "rmaudit" / name for name in re.findall(r"`(\w+/)`", packages)]
        assert any((folder / module).is_file() for folder in folders or [ROOT / "rmaudit"]), module
