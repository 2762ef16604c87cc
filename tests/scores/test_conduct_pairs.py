"""Pairs of conduct for a run: the bundled ones, and the user's own of the same kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.scores.conduct_pairs import conduct_pairs
from rmaudit.scores.pair_files import COLUMNS, read


def test_own_pairs_join_by_their_subset(tmp_path: Path) -> None:
    """Those whose subset says so, on lines of their own; the rest is left out."""
    file = tmp_path / "own.jsonl"
    lines = [
        {"prompt": "p", "chosen": "a", "rejected": "b", "subset": "conduct: agreement"},
        {"prompt": "q", "chosen": "a", "rejected": "b", "subset": "agreement"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    bundled, joined = conduct_pairs(None), conduct_pairs(read(file))

    assert len(joined.frame) == len(bundled.frame) + 2
    assert joined.frame.iloc[-2:]["subset"].tolist() == ["agreement"] * 2
    assert joined.frame["line"].nunique() == bundled.frame["line"].nunique() + 1
    assert "and 1 of the 2 pairs of own.jsonl" in joined.source
    assert list(bundled.frame) == [*COLUMNS, "reward"]
    assert conduct_pairs(None).source == bundled.source


def test_a_kind_that_is_none_is_refused(tmp_path: Path) -> None:
    """A slip of the pen would leave the pair out without a word."""
    file = tmp_path / "own.jsonl"
    line = {"prompt": "p", "chosen": "a", "rejected": "b", "subset": "conduct: agrement"}
    file.write_text(json.dumps(line), encoding="utf-8")

    with pytest.raises(
        SpecError, match=r"line 1 of .*own.jsonl.*'conduct: agrement', allowed .* facts, agreement,"
    ):
        conduct_pairs(read(file))
