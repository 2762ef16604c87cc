"""What an audit does not show is said in its declaration as on its page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from rmaudit.verdicts.declare import Declaration, declared

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "audits").glob("*.md"))


def shipped() -> dict[str, Declaration]:
    """The declarations of audits/, by name."""
    found = {}
    for path in sorted((ROOT / "audits").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"shipped_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        each = [declared(function) for function in vars(module).values()]
        found |= {declaration.name: declaration for declaration in each if declaration}
    return found


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_page_says_them(page: Path) -> None:
    """Word for word, but for Markdown."""
    text = re.sub(r"\[([\w/]+)\]\(\S+?\)", r"\1", page.read_text(encoding="utf-8")).replace("`", "")
    flat = " ".join(text.split())

    limits = shipped()[page.stem].limits
    assert limits
    assert [limit for limit in limits if limit not in flat] == []


def test_every_shipped_audit_has_them() -> None:
    """An audit that shows everything has not been thought about."""
    assert [name for name, declaration in shipped().items() if not declaration.limits] == []
