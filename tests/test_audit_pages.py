"""What the documentation repeats of the audits is what `scripts/audit_pages.py` writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.audit_importer import audits_in
from scripts.audit_pages import FAMILIES, ROOT, pages

WRITTEN = pages()


@pytest.mark.parametrize("path", WRITTEN, ids=str)
def test_the_generated_parts_are_as_declared(path: Path) -> None:
    """`just pages` writes them."""
    assert (ROOT / path).read_text(encoding="utf-8") == WRITTEN[path]


def test_every_page_has_an_audit() -> None:
    """And every audit a page."""
    assert {path.name for path in (ROOT / "docs" / "audits").glob("*.md")} == {
        path.name for path in WRITTEN if path.parent.name == "audits"
    }


def test_every_audit_has_a_short_claim() -> None:
    """In its family's table, in at most 15 words: the exact one is on the audit's page."""
    audits = [own for _, own in audits_in(ROOT / "audits").values() if not own.figure]
    for declaration in audits:
        assert declaration.family in FAMILIES, declaration.name
        assert len(declaration.brief.split()) <= 15, declaration.name


def test_a_new_audit_gets_a_page(tmp_path: Path) -> None:
    """With its head and limits; it stands in the table and in the site."""
    for name in ("docs", "audits"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    (tmp_path / "audits" / "test_brevity.py").write_text(
        "from rmaudit import audit, below\n\n"
        '@audit(title="Brevity", question="Is it brief?", claim="c", source="s",\n'
        '       prompts=["best"], bound=below(1.0, unit="sd"), limits=["Dialect, gcg_probes."])\n'
        "def test_brevity(sweep): ...\n"
    )

    written = pages(tmp_path)

    page = written[Path("docs/audits/brevity.md")]
    assert "# Brevity\n\n**Is it brief?**" in page
    assert "- Dialect, [gcg_probes](gcg_probes.md).\n" in page
    row = "| [brevity](audits/brevity.md) | c | below 1 | sd | gate |"
    assert row in written[Path("docs/audits.md")]
    assert '{ "Brevity" = "audits/brevity.md" }' in written[Path("zensical.toml")]


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    """The error names the file, the part and its marks."""
    shutil.copytree(ROOT / "audits", tmp_path / "audits")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "audits.md").write_text("# The audits\n")

    with pytest.raises(ValueError, match=r"audits\.md: 0 parts are marked 'meaning'"):
        pages(tmp_path)
