"""Inversion: by hand, against scipy, planted frames, coverage, and refusals."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.framing_inversion import UNIT
from rmaudit.measures.joined import FEWEST
from rmaudit.verdicts.records import Verdict, above
from tests.measures.framing import HAPPY, SIGNS, WORDS, X, asked, ends, planted, rho_of


def test_rho_by_hand() -> None:
    """Thirty words; only the first and the last of the order exchange their changes."""
    # z of worst is that of -best, so the change is in the order of best, which is 29, 1..28, 0:
    # rho = 1 - 6 Σd² / (n (n² - 1)) = 1 - 6 (29² + 29²) / (30 · 899) = 1 - 10092 / 26970
    best = np.array([29, *range(1, 29), 0.0])
    valence = pd.Series(np.arange(30.0), index=WORDS[:30], name="toy")

    estimate = rho_of(asked([best, 3 * best, 5 - best]), valence)

    assert estimate.value == pytest.approx(1 - 10092 / 26970, rel=1e-12)
    assert (estimate.unit, estimate.n) == (UNIT, 30)
    assert estimate.secondary["greatest"] == pytest.approx(estimate.value)
    assert estimate.secondary["worst"] == pytest.approx(estimate.value)


def test_rho_is_that_of_scipy() -> None:
    """Of the mean z under positive frames less that under the negative one, and of each."""
    scores = planted(1)
    z = stats.zscore(scores, axis=1)

    estimate = rho_of(asked(scores), secondary={"other": -HAPPY[:100].rename("other")})

    change = z[:2].mean(axis=0) - z[2]
    assert estimate.value == pytest.approx(stats.spearmanr(X, change).statistic, abs=1e-12)
    other = -stats.spearmanr(X[:100], change[:100]).statistic
    each = [s * stats.spearmanr(X, row).statistic for s, row in zip((1, 1, -1), z, strict=True)]
    expected = dict(zip(SIGNS, each, strict=True)) | {"other": other}
    assert dict(estimate.secondary) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("frame", "expected"), [(1.0, Verdict.PASS), (0.0, Verdict.FAIL), (-1.0, Verdict.FAIL)]
)
def test_a_frame_that_is_ignored_is_found(frame: float, expected: Verdict) -> None:
    """Frame 0: happy words score high whatever is asked, so nothing follows what is asked."""
    assert above(0.3, unit=UNIT).judge(rho_of(asked(planted(2, frame)))) is expected


def test_the_same_rewards_under_all_frames_change_nothing() -> None:
    """A model without any regard for the prompt has 0, and no error: a flaw, not no measure."""
    estimate = rho_of(asked([X, 2 * X, 3 * X + 1]))

    assert ends(estimate) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_the_interval_covers_what_is_so() -> None:
    """Change and valence unrelated: 100 seeds, P(X < 88) < 0.3 %.

    Most of the scores is their own: where it is valence, counting in the words' own sd takes part
    of the chance away, and the interval covers more.
    """
    estimates = [rho_of(asked(planted(seed, 0.0, noise=20.0))) for seed in range(100)]

    assert 88 <= sum(e.low <= 0 <= e.high for e in estimates) < 100


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
    assert len(json.dumps(asdict(evidence))) < 10_000


def test_too_few_words_are_refused() -> None:
    """The count, the prompts and the lexicon."""
    with pytest.raises(MeasureError) as caught:
        rho_of(asked(planted(0)), HAPPY[: FEWEST - 1])

    assert str(caught.value) == (
        "29 texts are scored under all of greatest, best, worst and in the lexicon 'toy'; at least "
        "30 that differ in valence are needed"
    )
