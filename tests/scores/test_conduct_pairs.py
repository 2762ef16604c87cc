"""Pairs of conduct for a run: the bundled ones, and the user's own of the same kinds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.references.conduct_answers import OWN, SAME
from rmaudit.scores.conduct_pairs import conduct_pairs
from rmaudit.scores.pair_files import COLUMNS, Pairs, read
from tests.scores.lines import written


def own(folder: Path, *subsets: str) -> Pairs:
    """Pairs of a user, of these subsets."""
    lines = [
        {"prompt": f"p{at}", "chosen": "a", "rejected": "b", "subset": subset}
        for at, subset in enumerate(subsets)
    ]
    return read(written(folder / "own.jsonl", *lines))


def test_own_pairs_join_by_their_subset(tmp_path: Path) -> None:
    """Those whose subset says so, on lines of their own; the rest is left out."""
    bundled = conduct_pairs(None)

    joined = conduct_pairs(own(tmp_path, "conduct: agreement", "agreement"))

    assert len(joined.frame) == len(bundled.frame) + 2
    assert joined.frame["line"].nunique() == bundled.frame["line"].nunique() + 1
    assert "and 1 of the 2 pairs of own.jsonl" in joined.source
    assert list(bundled.frame) == [*COLUMNS, "reward"]
    assert conduct_pairs(None).source == bundled.source


def test_own_pairs_can_be_of_each_kind(tmp_path: Path) -> None:
    """All that have one prompt."""
    joined = conduct_pairs(own(tmp_path, *(f"conduct: {kind}" for kind in OWN)))

    assert joined.frame["subset"].tolist()[-2 * len(OWN) :: 2] == [*OWN]


@pytest.mark.parametrize("kind", ["agrement", *SAME])
def test_a_kind_that_is_none_is_refused(kind: str, tmp_path: Path) -> None:
    """A slip of the pen would leave the pair out without a word; a pair has no second prompt."""
    found = re.escape(repr(f"conduct: {kind}"))
    with pytest.raises(
        SpecError, match=rf"line 1 of .*own.jsonl.*{found}, allowed .* facts, agreement,"
    ):
        conduct_pairs(own(tmp_path, f"conduct: {kind}"))
