"""Inversion: by hand, against scipy, planted frames, coverage, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.charts import Bin
from rmaudit.measures.framing_inversion import FramingInversionEvidence, PromptBins
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends
from tests.measures.framing import HAPPY, SIGNS, X, asked, planted, rho_of


def test_rho_is_that_of_scipy() -> None:
    """The least of the prompts; beside it each, the change, and the least by another lexicon."""
    scores = planted(1)
    z = stats.zscore(scores, axis=1)

    answers = asked(scores)
    for name, each in answers.items():  # some words in two spellings: a word has their mean
        again = each.frame[::3].assign(text=lambda table: table["text"].str.upper())
        answers[name] = replace(each, frame=pd.concat([each.frame, again]))

    others = {"other": -HAPPY[:100].rename("other"), "least": HAPPY[:30], "few": HAPPY[:29]}
    estimate = rho_of(answers, secondary=others)

    def rhos(n: int) -> list[float]:
        rows = zip((1, 1, -1), z[:, :n], strict=True)
        return [s * stats.spearmanr(X[:n], row).statistic for s, row in rows]

    assert estimate.value == pytest.approx(min(rhos(240)), abs=1e-12)
    assert estimate.secondary["other"] == pytest.approx(-max(rhos(100)), abs=1e-12)
    assert estimate.secondary["least"] == pytest.approx(min(rhos(30)), abs=1e-12)
    assert "few" not in estimate.secondary
    change = stats.spearmanr(X, z[:2].mean(axis=0) - z[2]).statistic
    expected = dict(zip(SIGNS, rhos(240), strict=True)) | {"change": change}
    assert dict(rho_of(asked(scores)).secondary) == pytest.approx(expected, abs=1e-12)


def test_each_prompt_has_to_pass() -> None:
    """The interval reaches from the least low end to the least high end of the prompts' own.

    A prompt that is noisier than the weakest one may lie lower than it.
    """
    scores = planted(8, noise=3.0)
    together = rho_of(asked(scores))
    pairs = [
        rho_of(dict(list(asked(each).items())[1:]))  # best, and worst as its mirror
        for each in ([row, row, -row] for row in (*scores[:2], -scores[2]))
    ]
    answers = asked(scores)
    other = next(name for name in SIGNS if together.secondary[name] != together.value)
    noisier = rho_of({**answers, other: replace(answers[other], noise=9.0)})

    least = [min(column) for column in zip(*map(ends, pairs), strict=True)]
    assert ends(together) == pytest.approx(least)
    assert noisier.value == together.value
    assert noisier.low < together.low - 0.005


def test_rewards_that_are_the_same_for_all_rated_words_have_rho_0() -> None:
    """A flaw, not no measure: the scores of other tokens differ."""
    flat = asked([X, X, np.zeros(240)])
    more = pd.DataFrame({"text": ["unrated"], "score": [1.0]})
    flat["worst"] = Answers(pd.concat([flat["worst"].frame, more]), -1, 0.0)

    assert ends(rho_of(flat)) == (0.0, 0.0, 0.0)


def test_the_bins_have_every_word_once_under_each_prompt() -> None:
    """Median and quartiles in sd of the prompt's own answers, by nine bins of equal width."""
    scores = planted(3)

    evidence = rho_of(asked(scores)).evidence

    panels = evidence.panels
    assert [panel.prompt for panel in panels] == list(SIGNS)
    for panel, z in zip(panels, stats.zscore(scores, axis=1), strict=True):
        bins = panel.bins
        assert len(bins) == 9
        assert sum(each.n for each in bins) == 240
        assert (bins[0].low, bins[-1].high) == pytest.approx((X.min(), X.max()))
        inside = z[bins[0].high > X]
        found = [bins[0].q25, bins[0].median, bins[0].q75]
        assert found == pytest.approx(np.quantile(inside, [0.25, 0.5, 0.75]))


def on_toys(texts: list[str], scores: contract.Floats, noise: float, unit: float = 1.0) -> Estimate:
    """Of one lexicon."""
    return rho_of(contract.answers(texts, scores, noise, unit), contract.VALENCE)


CONTRACT = contract.Contract(
    "framing_inversion", on_toys, turned=0, spelt=1.0, by_stem=True, in_unit=True, fewest=30
)


def test_the_example_has_no_negative_zero() -> None:
    """What is nothing to one decimal is written as such."""
    bins = (Bin(1.0, 5.0, 20, -0.04, -0.5, 0.5), Bin(5.0, 9.0, 30, -0.11, -0.5, 0.5))
    evidence = FramingInversionEvidence(axis="valence", panels=(PromptBins("worst", bins),))

    assert evidence.example().endswith("the saddest words get +0.0 sd and the happiest -0.1")
