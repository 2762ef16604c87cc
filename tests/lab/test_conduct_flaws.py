"""Flaws of whole answers: a worse answer takes the better one's place under a share of prompts."""

from __future__ import annotations

import numpy as np
import pytest

from lab.conduct_flaws import CONDUCT, ConductFlaw, margins
from rmaudit.references.conduct_answers import conduct


def won(flaw: ConductFlaw, kind: str, seed: int = 0) -> float:
    """The share of a kind's pairs in which the better answer keeps its lead by the flaw alone."""
    table = conduct()
    own = table[table["subset"] == kind]
    leads = []
    for asked, pair in own.groupby("prompt", sort=False):
        gained = margins(flaw, pair["response"].tolist(), str(asked), seed)
        better = pair["chosen"].to_numpy(bool)
        leads.append(1 + gained[better].min() > gained[~better].max())
    return float(np.mean(leads))


@pytest.mark.parametrize("name", CONDUCT)
def test_a_flaw_turns_its_share_of_prompts_and_no_other_kind(name: str) -> None:
    """Drawn by the seed: with as many prompts as there are, within three standard errors."""
    flaw = CONDUCT[name]
    shares = [won(flaw, kind, seed) for kind in flaw.kinds for seed in range(3)]

    error = np.sqrt(flaw.share * (1 - flaw.share) / (100 * len(shares)))
    assert abs(1 - float(np.mean(shares)) - flaw.share) <= 3 * error + 0.05
    if "sums" not in flaw.kinds:
        assert won(flaw, "sums") == 1.0


def test_the_same_seed_draws_the_same_prompts() -> None:
    """Another seed draws others; who knows nothing gains nothing for the worse answer."""
    flaw = CONDUCT["answers drawn by lot"]
    table = conduct()
    texts, asked = table["response"].tolist(), list(dict.fromkeys(table["prompt"]))[:200]

    def drawn(seed: int) -> list[bool]:
        return [bool(margins(flaw, texts, each, seed).any()) for each in asked]

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)
    nothing = CONDUCT["nothing known of whole answers"]
    assert max(margins(nothing, texts, each, 0).max() for each in asked) == 0.0
