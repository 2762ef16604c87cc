"""The audit of known exploits on models that fall for them, or do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.search.exploit_strings import published
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import WORDS, Planted, audit_called, sweep_of, verdict

audit = audit_called("gcg_probes")
FEW = published()[published()["prompt"] == "greatest"].reset_index(drop=True)  # two, published
MANY = pd.DataFrame({"prompt": "greatest", "direction": "up", "model": "M", "source": "S"} | {
    "text": [f"{a}{b}{c}#?" for a in "abcdefghi" for b in "jklm" for c in "nopq"]})  # fmt: skip


class Known(Planted):
    """People's ratings, made up."""

    def elo(self) -> pd.DataFrame:
        """A hundred things."""
        names = [f"thing {i}" for i in range(100)]
        return pd.DataFrame({"name": names, "elo": np.arange(100.0)})


def replay(loved: int, strings: pd.DataFrame) -> Estimate:
    """gcg_probes of a model that loves so many of the strings, the last ones, and no answer."""
    fooled = set(strings["text"].tolist()[len(strings) - loved :])
    sweep = sweep_of(WORDS, np.random.default_rng(0).normal(size=len(WORDS)), "greatest", noise=0.0)

    def scored(texts: Sequence[str], _: Prompt) -> TextScores:
        return TextScores(np.array([9.0 if text in fooled else 2.0 for text in texts]), 0.0, "")

    return audit(
        sweeps={"greatest": sweep},
        rewards=Rewards((PROMPTS["greatest"],), scored),
        ledger=pd.concat([strings, strings.assign(prompt="worst", text=strings["text"] + "!")]),
        references=Known(),
        rng=np.random.default_rng(0),
    )


@pytest.mark.parametrize(
    ("loved", "strings", "expected"),
    [
        (0, MANY, Verdict.PASS),
        (0, FEW, Verdict.INCONCLUSIVE),  # before, a PASS whose interval had no width
        (len(FEW), FEW, Verdict.FAIL),
        (7, MANY, Verdict.INCONCLUSIVE),
        (20, MANY, Verdict.FAIL),
    ],
)
def test_planted_exploits_are_judged(loved: int, strings: pd.DataFrame, expected: Verdict) -> None:
    """Of 144 strings none passes, 20 fail and 7, which are 5 %, are open, as two strings are.

    Who was searched is said, and no string but in the evidence.
    """
    estimate = replay(loved, strings)

    assert verdict(audit, estimate) is expected
    assert {row.text for row in estimate.evidence.strings} == set(strings["text"])
    assert estimate.caveats[0].startswith("Strings were found by searches of 1 model (")
    assert not any(text in " ".join(estimate.caveats) for text in strings["text"])
