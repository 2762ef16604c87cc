"""The package's own shape: what `scripts/house.py` counts, and nothing may bring back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from scripts.house import circles, types_twice, words_of_docs

ROOT = Path(__file__).parents[1]
PRODUCT = {path: path.read_text(encoding="utf-8") for path in (ROOT / "rmaudit").rglob("*.py")}

# Files and lines that a room may have. Lower them where a room became smaller; who raises one says
# in the commit what that is worth.
CEILINGS = {
    ".": (10, 1650),
    "checkpoints": (30, 4600),
    "cli": (17, 2800),
    "config": (14, 2375),
    "distributed": (7, 1300),
    "integrations": (3, 450),
    "layout": (12, 1950),
    "measures": (60, 10800),
    "models": (24, 4550),
    "plugin": (16, 3150),
    "references": (27, 3575),
    "outputs": (3, 300),
    "report": (36, 6350),
    "runs": (18, 3125),
    "scores": (25, 4325),
    "scoring": (13, 2025),
    "search": (6, 1025),
    "sources": (10, 2000),
    "verdicts": (11, 2325),
}
SLACK = 150  # lines that a ceiling may be above its room
WORDS = 44_250  # of the pages that a user reads: all but evidence and design notes


def test_no_room_grows_unseen() -> None:
    """Nor keeps a ceiling that it no longer needs."""
    files, lines = Counter[str](), Counter[str]()
    for path, text in PRODUCT.items():
        room = ([*path.relative_to(ROOT / "rmaudit").parent.parts] or ["."])[0]
        files[room] += 1
        lines[room] += len(text.splitlines())

    assert {*files} == {*CEILINGS}
    over = {
        room: (files[room], lines[room])
        for room, (modules, most) in CEILINGS.items()
        if files[room] > modules or lines[room] > most
    }
    assert over == {}, "take as much away, or raise the ceiling and say why"
    low = {room for room, (_, most) in CEILINGS.items() if lines[room] < most - SLACK}
    assert low == set(), "lower the ceiling"


def test_no_two_modules_import_each_other() -> None:
    """Neither at the top, nor in a function, nor for types; by way of others neither."""
    assert circles(ROOT, PRODUCT) == []


def test_a_type_name_is_defined_once() -> None:
    """One noun, one meaning."""
    assert types_twice(ROOT, PRODUCT) == []


def test_a_circle_and_a_second_definition_are_found(tmp_path: Path) -> None:
    """Where two modules import each other, and both define a class."""
    product = {
        tmp_path / "room" / "one.py": "from room import two\nclass Plan: ...",
        tmp_path / "room" / "two.py": "def f():\n    import room.one\nclass Plan: ...",
        tmp_path / "room" / "three.py": "from room.one import Plan",
    }

    assert circles(tmp_path, product) == ["room.one, room.two"]
    assert types_twice(tmp_path, product) == ["Plan: room/one.py, room/two.py"]


def test_the_pages_for_users_stay_short() -> None:
    """Say it on one page and link to it; what was found belongs to evidence."""
    words = sum(words_of_docs(ROOT).values())

    assert words <= WORDS, "take as many words away"
    assert words >= WORDS - 5 * SLACK, "lower the ceiling"


def test_evidence_and_design_notes_are_not_counted(tmp_path: Path) -> None:
    """Evidence is known by the site's menu or by its folder."""
    (tmp_path / "zensical.toml").write_text(
        '[project]\nnav = [{ "A" = "a.md" }, { "Evidence" = [{ "B" = "b.md" }] },'
        ' { "Design notes" = [{ "C" = "design/c.md" }] }]\n'
    )
    for page in ("a.md", "b.md", "design/c.md", "evidence/d.md", "how-to/e.md"):
        (tmp_path / "docs" / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / page).write_text("two\n words")

    assert words_of_docs(tmp_path) == {"a.md": 2, "how-to/e.md": 2}
