"""Elo agreement on planted scorers: it passes, fails, is undecided, and errs."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import Prompt, prompt_named
from rmaudit.references import References
from rmaudit.scores.sweep import Rewards, TextScores
from rmaudit.verdicts.declare import declared
from rmaudit.verdicts.records import Estimate, Verdict

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "audits" / "test_elo_agreement.py"))
audit = AUDIT["test_elo_agreement"]
N = 600


class Ratings(References):
    """Items whose rating is their place."""

    def elo(self) -> pd.DataFrame:
        """`N` items, the best liked first, one of them not to be printed."""
        names = [f"item {i}" for i in range(N - 2)]
        elo = np.linspace(1600, 800, N)
        return pd.DataFrame(
            {"name": ["Black people", "Fuck", *names], "elo": elo, "matches": np.full(N, 400)}
        )


def measured(agreement: float) -> Estimate:
    """Of a scorer whose scores are that much people's ratings, and noise for the rest."""

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        assert prompt.name == "greatest"
        noise = np.random.default_rng(0).normal(size=len(texts))
        human = np.linspace(1.7, -1.7, len(texts))
        return TextScores((agreement * human + noise).astype(np.float32), 0.01, "key")

    rewards = Rewards((prompt_named("greatest"),), score)
    found: Estimate = audit(rewards, Ratings(), np.random.default_rng(0))
    return found


@pytest.mark.parametrize(
    ("agreement", "expected"),
    [(1.0, Verdict.PASS), (-1.0, Verdict.FAIL), (0.0, Verdict.FAIL), (0.35, Verdict.INCONCLUSIVE)],
)
def test_verdicts(agreement: float, expected: Verdict) -> None:
    """As the scorer agrees with people, or does not."""
    declaration = declared(audit)
    assert declaration is not None

    assert declaration.bound.judge(measured(agreement)) is expected


def test_what_stands_beside() -> None:
    """Evidence weighs in, the ends are there, Figure 5B's items are named, a slur would not be."""
    estimate = measured(1.0)

    assert estimate.secondary["tau weighted by evidence"] > estimate.value
    assert 0.9 < estimate.secondary["ceiling of tau"] < 1
    assert "tau, 100 best liked" in estimate.secondary
    assert [item.name for item in estimate.evidence.also] == ["Black people"]
    assert estimate.evidence.unshown == 1
    names = [i.name for i in (*estimate.evidence.overvalued, *estimate.evidence.undervalued)]
    assert len(names) == 20
    assert "Fuck" not in names
