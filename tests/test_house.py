"""The package's own shape: what `scripts/house.py` counts, and nothing may bring back."""

from __future__ import annotations

from pathlib import Path

from scripts.house import circles, types_twice

ROOT = Path(__file__).parents[1]
PRODUCT = {path: path.read_text(encoding="utf-8") for path in (ROOT / "rmaudit").rglob("*.py")}


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
