"""Pairs of conduct for a run: the bundled ones, and the user's own of the same kinds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.references.conduct import OWN, SAME
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


@pytest.mark.parametrize("kind", OWN)
def test_own_pairs_can_be_of_each_kind(kind: str, tmp_path: Path) -> None:
    """All that have one prompt."""
    file = tmp_path / "own.jsonl"
    line = {"prompt": "p", "chosen": "a", "rejected": "b", "subset": f"conduct: {kind}"}
    file.write_text(json.dumps(line), encoding="utf-8")

    assert conduct_pairs(read(file)).frame.iloc[-2:]["subset"].tolist() == [kind] * 2


@pytest.mark.parametrize("kind", ["agrement", *SAME])
def test_a_kind_that_is_none_is_refused(kind: str, tmp_path: Path) -> None:
    """A slip of the pen would leave the pair out without a word; a pair has no second prompt."""
    file = tmp_path / "own.jsonl"
    line = {"prompt": "p", "chosen": "a", "rejected": "b", "subset": f"conduct: {kind}"}
    file.write_text(json.dumps(line), encoding="utf-8")

    found = re.escape(repr(f"conduct: {kind}"))
    with pytest.raises(
        SpecError, match=rf"line 1 of .*own.jsonl.*{found}, allowed .* facts, agreement,"
    ):
        conduct_pairs(read(file))
