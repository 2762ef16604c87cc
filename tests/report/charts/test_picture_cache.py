"""Pictures that are remembered are, to the byte, those that would be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmaudit.references import offensive_text_masks
from rmaudit.report.charts import svg_compiler
from rmaudit.report.charts.picture_cache import cached_in
from tests.report.charts.conftest import EVERY, finding, of_findings


def one(kind: str) -> list[Any]:
    """The pictures of the example of this kind."""
    return of_findings([finding(EVERY[kind])])


@pytest.mark.parametrize("kind", list(EVERY))
def test_the_second_time_nothing_is_drawn(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a chart nor an SVG: a compiler of other SVGs is not asked, and masks neither."""
    monkeypatch.setattr(
        svg_compiler, "_compile", lambda specs: ["<svg x='1'></svg>" for _ in specs]
    )
    fresh = one(kind)
    with cached_in(tmp_path):
        assert one(kind) == fresh
        monkeypatch.setattr(svg_compiler, "_compile", lambda specs: [None for _ in specs])
        monkeypatch.setattr(offensive_text_masks, "label", lambda text: "other")
        assert one(kind) == fresh
    if fresh[0].svg:
        assert one(kind) != fresh


def test_damaged_ones_are_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the files hold now; a compiler that failed is tried again."""
    failed: list[str | None] = [None]
    monkeypatch.setattr(svg_compiler, "_compile", lambda specs: [failed[0] for _ in specs])
    with cached_in(tmp_path):
        assert "could not be drawn" in one("funnel")[0].svg
        failed[0] = "<svg></svg>"
        whole = one("funnel")
        assert "could not be drawn" not in whole[0].svg
        for path in (tmp_path / "kept").iterdir():
            path.write_bytes(path.read_bytes()[:-5])
        with pytest.warns(UserWarning, match="made anew"):
            assert one("funnel") == whole
