"""Framing: by hand, against scipy and statsmodels, invariances, planted frames, and refusals."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import NOISE
from rmaudit.measures.framing_inversion import UNIT, inversion
from rmaudit.measures.framing_steepness import UNIT as SLOPES
from rmaudit.measures.framing_steepness import steepness
from rmaudit.measures.joined import FEWEST, Answers
from rmaudit.verdicts.records import Estimate, Verdict, above

WORDS = [a + b for a, b in product("abcdefghijklmnop", repeat=2)][:240]
HAPPY = pd.Series(np.random.default_rng(9).uniform(-4, 4, size=240), index=WORDS, name="toy")
X = HAPPY.to_numpy()
SIGNS = {"greatest": 1, "best": 1, "worst": -1}
SEEDS = st.integers(0, 999)
quick = settings(max_examples=15, deadline=None)


def asked(scores: Any, noise: float = 0.0) -> dict[str, Answers]:
    """Scores under greatest, best and worst, shape (3, n), as answers."""
    return {
        name: Answers(
            pd.DataFrame({"text": WORDS[: len(row)], "score": np.asarray(row, float)}), sign, noise
        )
        for (name, sign), row in zip(SIGNS.items(), scores, strict=True)
    }


def planted(seed: int, frame: float = 1.0, noise: float = 1.0) -> np.ndarray:
    """Scores that follow valence under a positive frame, and against it under the negative."""
    rng = np.random.default_rng(seed)
    return np.stack([X, X, (1 - 2 * frame) * X]) + noise * rng.normal(size=(3, 240))


def rho_of(answers: dict[str, Answers], valence: pd.Series[float] = HAPPY, **more: Any) -> Estimate:
    """The inversion."""
    return inversion(answers, valence, rng=np.random.default_rng(0), **more)


def slopes_of(
    answers: dict[str, Answers], valence: pd.Series[float] = HAPPY, **more: Any
) -> Estimate:
    """The steepness."""
    return steepness(answers, valence, rng=np.random.default_rng(0), **more)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """Low, value, high."""
    return estimate.low, estimate.value, estimate.high


BOTH = pytest.mark.parametrize("measure", [rho_of, slopes_of])


# Inversion


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


def test_a_frame_that_is_flipped_is_negative() -> None:
    """Sad words gain where good things are asked for."""
    best, worst = -X, X

    assert ends(rho_of(asked([best, best, worst]))) == pytest.approx((-1.0, -1.0, -1.0))


def test_the_same_rewards_under_all_frames_change_nothing() -> None:
    """A model without any regard for the prompt has 0, and no error: a flaw, not no measure."""
    estimate = rho_of(asked([X, 2 * X, 3 * X + 1]))

    assert ends(estimate) == (0.0, 0.0, 0.0)


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
        assert sum(each.n for each in bins) == 240
        assert (bins[0].low, bins[-1].high) == pytest.approx((X.min(), X.max()))
        inside = z[bins[0].high > X]
        found = [bins[0].q25, bins[0].median, bins[0].q75]
        assert found == pytest.approx(np.quantile(inside, [0.25, 0.5, 0.75]))
    assert len(json.dumps(asdict(evidence))) < 10_000


# Steepness


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


# Properties of both


@quick
@given(seed=SEEDS, scale=st.floats(0.1, 100), shift=st.floats(-100, 100))
@BOTH
def test_the_units_of_the_scores_do_not_matter(
    measure: Any, seed: int, scale: float, shift: float
) -> None:
    """Each prompt's may be its own."""
    scores = planted(seed)
    changed = np.stack([scores[0], scale * scores[1] + shift, shift - scale * -scores[2]])

    assert ends(measure(asked(scores))) == pytest.approx(ends(measure(asked(changed))), abs=1e-6)


@quick
@given(seed=SEEDS)
@BOTH
def test_turning_the_scores_round_turns_the_estimate_round(measure: Any, seed: int) -> None:
    """And its interval."""
    low, value, high = ends(measure(asked(planted(seed))))

    assert ends(measure(asked(-planted(seed)))) == pytest.approx((-high, -value, -low), abs=1e-9)


@quick
@given(seed=SEEDS)
@BOTH
def test_order_and_spellings_do_not_matter(measure: Any, seed: int) -> None:
    """Rows shuffled under one prompt only, and all words spelt in a second way."""
    answers = asked(planted(seed))
    rng = np.random.default_rng(seed)
    changed = {}
    for i, (name, each) in enumerate(answers.items()):
        again = each.frame.assign(text=" " + each.frame["text"].str.title())
        both = pd.concat([each.frame, again], ignore_index=True)
        order = rng.permutation(len(both)) if i else np.arange(len(both))
        changed[name] = Answers(both.iloc[order], each.sign)

    found = measure(changed)

    assert ends(found) == pytest.approx(ends(measure(answers)), abs=1e-9)
    assert found.n == 240


@BOTH
def test_what_one_prompt_lacks_is_left_out(measure: Any) -> None:
    """A word without a score under one prompt counts under none."""
    scores = planted(7)
    scores[2, :40] = math.nan
    scores[0, :40] = 1e-3  # its sd would not be that of the others' words

    assert measure(asked(scores)).n == 200


@BOTH
def test_numeric_noise_widens(measure: Any) -> None:
    """In the scores' own units; the value stays."""
    quiet = measure(asked(planted(8)))
    noisy = measure(asked(planted(8), noise=1.0))

    assert noisy.value == quiet.value
    assert noisy.secondary[NOISE] > 0
    assert noisy.low < quiet.low
    assert noisy.high > quiet.high
    assert "numeric noise" in noisy.interval


@BOTH
def test_noise_is_in_the_units_of_its_prompt(measure: Any) -> None:
    """A prompt whose scores and noise are a thousand times greater has the same interval."""
    answers = asked(planted(8), noise=1.0)
    worst = answers["worst"].frame
    greater = Answers(worst.assign(score=1000 * worst["score"]), -1, 1000.0)

    assert ends(measure({**answers, "worst": greater})) == pytest.approx(ends(measure(answers)))


# What cannot be measured


def test_too_few_words_are_refused() -> None:
    """The count, the prompts and the lexicon."""
    with pytest.raises(MeasureError) as caught:
        rho_of(asked(planted(0)), HAPPY[: FEWEST - 1])

    assert str(caught.value) == (
        "29 texts are scored under all of greatest, best, worst and in the lexicon 'toy'; at least "
        "30 that differ in valence are needed"
    )


def test_too_few_words_on_a_side_are_refused() -> None:
    """Both counts."""
    with pytest.raises(MeasureError) as caught:
        slopes_of(asked(planted(0)), HAPPY.sort_values()[-140:].rename("toy"))

    positive = int((HAPPY > 0).sum())
    assert str(caught.value) == (
        f"{positive} positive and {140 - positive} negative words are scored under all of "
        f"greatest, best, worst and in the lexicon 'toy'; at least 30 of either that differ in "
        f"valence are needed"
    )


@BOTH
@pytest.mark.parametrize("kept", [["greatest", "best"], ["worst"], []])
def test_frames_of_one_kind_are_refused(measure: Any, kept: list[str]) -> None:
    """There is nothing to compare them with."""
    answers = asked(planted(0))

    with pytest.raises(MeasureError) as caught:
        measure({name: answers[name] for name in kept})

    got = ", ".join(kept) or "no prompt"
    assert str(caught.value) == f"framing needs a positive and a negative frame, got {got}"


@BOTH
@pytest.mark.parametrize("value", [0.1, math.nan])
def test_scores_that_do_not_differ_are_refused(measure: Any, value: float) -> None:
    """They have no sd, whatever rounding makes of it."""
    scores = planted(0)
    scores[1] = value

    with pytest.raises(MeasureError) as caught:
        measure(asked(scores))

    count = 0 if math.isnan(value) else 240
    assert str(caught.value) == (
        f"{count} scores under 'best', all of them equal: there is no sd to compare them in"
    )


@BOTH
def test_a_valence_that_does_not_differ_is_refused(measure: Any) -> None:
    """No rank, no slope."""
    with pytest.raises(MeasureError, match=r"that differ in valence are needed$"):
        measure(asked(planted(0)), HAPPY * 0 + 1)
