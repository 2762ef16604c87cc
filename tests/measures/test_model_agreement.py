"""Agreement of two models: tau of what they share, RBO by hand and as published, the interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.model_agreement import UNIT, agreement, correlation, rbo, shared
from rmaudit.verdicts.records import Estimate, Verdict, above

RNG = np.random.default_rng


def sweep(words: int = 200, seed: int = 0, noise: float = 0.0) -> pd.DataFrame:
    """Each word in three spellings, whose scores are about the word's own; plus `noise`."""
    texts = [text for i in range(words) for text in (f"w{i}", f" w{i}", f"W{i}")]
    texts = [text.translate(str.maketrans("0123456789", "abcdefghij")) for text in texts]
    own = np.repeat(RNG(7).normal(size=words), 3) + 0.3 * RNG(8).normal(size=3 * words)
    return pd.DataFrame({"text": texts, "score": own + noise * RNG(seed).normal(size=3 * words)})


def compare(model: pd.DataFrame, baseline: pd.DataFrame, **given: Any) -> Estimate:
    """With a fixed generator."""
    return agreement(model, baseline, rng=RNG(0), **given)


# What is shared


def test_shared_tokens_by_hand() -> None:
    """By text: duplicates are averaged; parts of characters and unscored tokens are left out."""
    model = pd.DataFrame(
        {"text": ["a", "b", "b", "\ufffd", "c", "d"], "score": [1, 2, 4, 9, math.nan, 5]}
    )
    baseline = pd.DataFrame({"text": ["d", "\ufffd", "b", "c", "x"], "score": [7, 8, 9, 6, 5]})

    both = shared(model, baseline).sort_values("text")

    assert both.to_dict("list") == {"text": ["b", "d"], "model": [3.0, 5.0], "baseline": [9.0, 7.0]}


def test_paired_tokens_may_have_one_text() -> None:
    """Tokens that are paired by their ids; their tau is that of all pairs."""
    drawn = RNG(3).normal(size=(2, 80))
    texts = [f"w{i % 40}" for i in range(80)]
    both = pd.DataFrame({"text": texts, "model": drawn[0], "baseline": drawn[1]})

    tau = correlation(both, rng=RNG(0))

    assert tau.value == pytest.approx(stats.kendalltau(*drawn).statistic)
    assert (tau.n, tau.secondary["words in both"]) == (80, 40)


# Rank-biased overlap


def test_rbo_by_hand() -> None:
    """Lists ab and ba: overlaps 0 and 1, so (1 - p)/p · p² · 1 + p² · 1 = p."""
    assert rbo(["a", "b"], ["b", "a"], p=0.9) == pytest.approx(0.9)
    assert rbo(["a", "b", "c"], ["a", "x", "c"], p=0.5) == pytest.approx(
        0.5 * 1 + 0.25 * 0.5 + 0.125 * 2 / 3 + 0.125 * 2 / 3
    )


@pytest.mark.parametrize(("one", "other"), [("", ""), ("ab", "a"), ("aa", "ab"), ("ab", "bb")])
def test_lists_that_are_no_rankings(one: str, other: str) -> None:
    """Empty, uneven or with something twice."""
    with pytest.raises(MeasureError, match="RBO needs two rankings of one length without dupl"):
        rbo(list(one), list(other))


# The estimate


def test_a_model_agrees_with_itself() -> None:
    """Tau 1 with an interval of no width; it passes any bound below 1."""
    estimate = compare(sweep(), sweep())

    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((1, 1, 1), abs=1e-12)
    assert estimate.secondary["RBO from the top"] == pytest.approx(1)
    assert estimate.secondary["RBO from the bottom"] == pytest.approx(1)
    assert estimate.secondary["tau of whole words"] == 1
    assert above(0.5, unit=UNIT).judge(estimate) is Verdict.PASS


def test_the_numbers_are_scipys() -> None:
    """Tau-b and Spearman's rho of the shared tokens; tau of the words' means."""
    model, baseline = sweep(), sweep(noise=1).iloc[100:].sample(frac=1, random_state=0)
    both = model.merge(baseline, on="text")
    words = both.groupby(both["text"].str.strip().str.casefold())[["score_x", "score_y"]].mean()

    estimate = compare(model, baseline)

    assert estimate.n == len(both) == 500
    assert estimate.value == pytest.approx(stats.kendalltau(both["score_x"], both["score_y"])[0])
    rho = stats.spearmanr(both["score_x"], both["score_y"])[0]
    assert estimate.secondary["Spearman's rho"] == pytest.approx(rho)
    tau = stats.kendalltau(words["score_x"], words["score_y"])[0]
    assert estimate.secondary["tau of whole words"] == pytest.approx(tau)
    assert estimate.secondary["words in both"] == len(words)


def test_ends_differ() -> None:
    """Models that agree at the top and not at the bottom have another RBO there."""
    one, other = sweep(), sweep()
    other.loc[other["score"] < 0, "score"] *= -1e-9  # in reverse, still below the others
    secondary = compare(one, other).secondary

    assert secondary["RBO from the top"] == pytest.approx(1)
    assert secondary["RBO from the bottom"] < 0.2


@pytest.mark.slow
def test_the_interval_is_that_of_resampled_words() -> None:
    """Half of its width is 1.96 times the sd over drawn vocabularies of as many words."""
    values, halves = [], []
    for seed in range(100):
        rng = RNG(seed)
        own, texts = np.repeat(rng.normal(size=(2, 150)), 3, axis=1), sweep(150)["text"]
        model = own[0] + 0.3 * rng.normal(size=450)
        baseline = own[0] + own[1] + 0.3 * rng.normal(size=450)
        frames = (pd.DataFrame({"text": texts, "score": each}) for each in (model, baseline))
        estimate = compare(*frames)
        values.append(estimate.value)
        halves.append((estimate.high - estimate.low) / 2)

    assert np.mean(halves) == pytest.approx(1.96 * np.std(values, ddof=1), rel=0.2)


def test_of_many_words_some_are_drawn() -> None:
    """The interval of 7,000 words from 5,000 is about that of 5,000 scaled."""
    own, other = RNG(0).normal(size=(2, 7000))
    texts = [f"t{i}" for i in range(7000)]
    frames = [pd.DataFrame({"text": texts, "score": each}) for each in (own, own + other)]

    whole, part = compare(*frames), compare(*(frame[:5000] for frame in frames))

    ratio = (whole.high - whole.low) / (part.high - part.low)
    assert ratio == pytest.approx(math.sqrt(5000 / 7000), rel=0.05)


@pytest.mark.parametrize("side", ["noise", "baseline_noise"])
def test_noise_of_either_model_widens(side: str) -> None:
    """The interval and not the value; in that model's own units."""
    model, baseline = sweep(), sweep(noise=1)
    still, noisy = compare(model, baseline), compare(model, baseline, **{side: 0.5})

    assert noisy.value == still.value
    assert noisy.high - noisy.low > still.high - still.low
    assert noisy.secondary["numeric noise"] > 0


def test_turning_one_round_turns_tau_round() -> None:
    """And models may change places."""
    model, baseline = sweep(), sweep(noise=1)
    one = compare(model, baseline)

    turned = compare(model.assign(score=-model["score"]), baseline)
    assert turned.value == pytest.approx(-one.value)
    assert (turned.low, turned.high) == pytest.approx((-one.high, -one.low))
    assert compare(baseline, model).value == pytest.approx(one.value)


def test_evidence_names_what_moved() -> None:
    """The token that fell furthest, and the one that rose; the grid has all tokens."""
    model, baseline = sweep(), sweep()
    best, worst = baseline["score"].idxmax(), baseline["score"].idxmin()
    model.loc[best, "score"], model.loc[worst, "score"] = -99, 99

    evidence = compare(model, baseline).evidence

    assert evidence.fell[0].text == baseline["text"][best]
    assert evidence.rose[0].text == baseline["text"][worst]
    assert evidence.fell[0].baseline > 0.99
    assert evidence.fell[0].model < 0.01
    assert np.array(evidence.cells).sum() == len(model)


@pytest.mark.parametrize(
    ("model", "baseline", "expected"),
    [
        (sweep(29), sweep(40), "29 words are in both vocabularies, with 87 and 87 distinct scores"),
        (
            sweep().assign(score=1.0),
            sweep(),
            "200 words are in both vocabularies, with 1 and 600 d",
        ),
        (sweep(), sweep().iloc[:0], "0 words are in both vocabularies, with 0 and 0 distinct scor"),
    ],
)
def test_too_little_in_common(model: pd.DataFrame, baseline: pd.DataFrame, expected: str) -> None:
    """The error counts words and scores and says what is needed."""
    with pytest.raises(MeasureError) as caught:
        compare(model, baseline)

    assert str(caught.value).startswith(expected)
    assert str(caught.value).endswith(
        "; at least 30 words and scores that differ on both sides are needed"
    )
