"""Steepness: by hand, and against the regressions of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.framing_steepness import UNIT as SLOPES
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends
from tests.measures.framing import HAPPY, X, asked, planted, slopes_of


def kinked(up: float, down: float) -> np.ndarray:
    """Valence with a slope of its own on either side."""
    return np.where(X > 0, up * X, down * X)


def test_slopes_by_hand() -> None:
    """Under good frames 2 and 1 sd a point, under the worst 1 and 3: (2 - 1) - (1 - 3) = 3."""
    good, bad = kinked(2, 1), -kinked(1, 3)
    sds = good.std(), bad.std()

    estimate = slopes_of(asked([good, good, bad]))

    assert ends(estimate) == pytest.approx(((2 - 1) / sds[0] - (1 - 3) / sds[1],) * 3)
    assert estimate.unit == SLOPES
    expected = {"greatest": (2 / sds[0], 1 / sds[0]), "worst": (1 / sds[1], 3 / sds[1])}
    for prompt, sides in expected.items():
        found = [estimate.secondary[f"{prompt}, {side} words"] for side in ("positive", "negative")]
        assert found == pytest.approx(sides)


def test_the_evidence_has_the_slopes_as_they_are() -> None:
    """Not turned as the frame asks, each with the interval of its own regression by statsmodels."""
    scores = planted(4)
    z = stats.zscore(scores, axis=1)
    negative = X < 0
    fit = sm.OLS(z[2][negative], sm.add_constant(X[negative])).fit(cov_type="HC3", use_t=True)

    evidence = slopes_of(asked(scores)).evidence

    assert len(evidence.slopes) == 6
    last = evidence.slopes[-1]
    assert (last.prompt, last.words, last.n) == ("worst", "negative", negative.sum())
    low, high = fit.conf_int()[1]
    assert [last.low, last.slope, last.high] == pytest.approx([low, fit.params[1], high], rel=1e-9)


def test_the_error_is_that_of_one_regression_with_an_interaction() -> None:
    """Of the sum of the frames' rewards on side, valence and both, with HC3 of statsmodels."""
    scores = planted(4) * (1 + np.abs(X))
    z = stats.zscore(scores, axis=1)
    positive = (X > 0).astype(float)
    design = np.column_stack([np.ones(240), positive, X, positive * X])
    fit = sm.OLS(z[:2].mean(axis=0) + z[2], design).fit(cov_type="HC3", use_t=True)

    estimate = slopes_of(asked(scores))

    low, high = fit.conf_int()[3]
    assert ends(estimate) == pytest.approx((low, fit.params[3], high), rel=1e-9)
    assert estimate.n == 240


def test_neutral_words_are_on_neither_side() -> None:
    """A valence of 0 counts nowhere."""
    neutral = HAPPY.where(HAPPY.abs() > 1, 0.0)

    assert slopes_of(asked(planted(5)), neutral).n == int((HAPPY.abs() > 1).sum())


def test_slopes_by_further_lexicons_stand_beside() -> None:
    """In sd a point of theirs; one with too few words on a side is left out."""
    scores = asked(planted(6))
    secondary = {"half": HAPPY / 2, "few": HAPPY[:40]}

    estimate = slopes_of(scores, secondary=secondary)

    assert estimate.secondary["half"] == pytest.approx(2 * estimate.value)
    assert "few" not in estimate.secondary


def test_too_few_words_on_a_side_are_refused() -> None:
    """Both counts, of one too few."""
    up, ranked = int((HAPPY > 0).sum()), HAPPY.sort_values().rename("toy")
    with pytest.raises(MeasureError, match=rf"^{up} positive and 29 negative words .* 30 "):
        slopes_of(asked(planted(0)), ranked[-up - 29 :])
    assert slopes_of(asked(planted(0)), ranked[-up - 30 :]).n


def on_toys(texts: list[str], scores: contract.Floats, noise: float, unit: float = 1.0) -> Estimate:
    """Of one lexicon."""
    return slopes_of(contract.answers(texts, scores, noise, unit), contract.VALENCE)


CONTRACT = contract.Contract("framing_steepness", on_toys, turned=-1, spelt=1.0, in_unit=True)
