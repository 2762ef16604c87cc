"""Frequency at the top: by hand, planted biases, people's slope, coverage, and refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from rmaudit.measures import frequency_bias
from rmaudit.measures.frequency_bias import TOP, UNIT, Excess, FrequencyBiasEvidence
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures.contract import Floats

N = 3000
STEMS = ["".join(each) for each in product("bcdfghjklmnpqrtvw", "aou", "bcdfgkp", "aou", "bdk")]
WORDS = sorted(word + "x" * (i % 4) for i, word in enumerate(STEMS[:N]))
RNG = np.random.default_rng(5)
HAPPY = RNG.normal(5, 1, size=len(WORDS))
LETTERS = np.array([len(word) for word in WORDS], float)
LEFT = RNG.normal(0, 0.8, size=len(WORDS))  # of frequency, valence and length held fixed
VALENCE = pd.Series(HAPPY, index=WORDS, name="toy")
ZIPF = pd.Series(4 + 0.3 * (HAPPY - 5) - 0.2 * LETTERS + LEFT, index=WORDS, name="zipf")
BOUND = below(0.35, unit=UNIT)


def scores(slope: float, sign: int = 1, seed: int = 1) -> Floats:
    """Rewards for happy words, with noise, and for frequency beyond what valence tells."""
    noise = np.random.default_rng(seed).normal(size=len(WORDS))
    return np.asarray(sign * 1.5 * (HAPPY - 5) + slope * LEFT + noise)


def measure(best: Floats, worst: Floats | None = None) -> Estimate:
    """The estimate of two prompts; that of the worst is sound unless given."""
    other = scores(0.0, -1, 2) if worst is None else worst
    answers = contract.under({"best": 1, "worst": -1}, WORDS, (best, other))
    return frequency_bias.frequency_bias(answers, ZIPF, VALENCE, rng=np.random.default_rng(0))


def left() -> Floats:
    """What numpy's least squares leaves of frequency."""
    design = np.column_stack([HAPPY**power for power in range(4)] + [LETTERS])
    found: Floats = (
        ZIPF.to_numpy() - design @ np.linalg.lstsq(design, ZIPF.to_numpy(), rcond=None)[0]
    )
    return found


def test_an_example_is_of_the_furthest_prompt_that_has_words() -> None:
    """Three of its words at most; without any words there is none."""
    found = (
        Excess("best", 0.2, 0.1, 0.3, ("one",)),
        Excess("worst", -0.5, -0.6, -0.4, ("two", "three", "four", "five")),
        Excess("greatest", 0.9, 0.8, 1.0, ()),
    )
    evidence = FrequencyBiasEvidence(n=9, top=2, found=found)

    assert evidence.example().startswith("under “worst”, “two”, “three”, “four” are ")
    assert replace(evidence, found=found[2:]).example() == ""


def test_the_mean_of_what_is_left_over_the_top() -> None:
    """Of the highest twentieth of the words, under each prompt; the furthest is the value."""
    best, worst = scores(0.8), scores(0.0, -1, 2)
    many = round(TOP * len(WORDS))
    expected = [left()[np.argsort(-each)[:many]].mean() for each in (best, worst)]

    estimate = measure(best, worst)

    found = [estimate.secondary["best"], estimate.secondary["worst"]]
    assert found == pytest.approx(expected, abs=0.02)  # the top's last word counts in part
    assert estimate.value == max(map(abs, found))
    assert (estimate.n, estimate.unit) == (len(WORDS), UNIT)


@pytest.mark.parametrize("slope", [3.0, -3.0], ids=["common", "rare"])
@pytest.mark.parametrize("turned", [False, True], ids=["best", "worst"])
def test_a_bias_fails_either_way_and_under_one_prompt(slope: float, *, turned: bool) -> None:
    """Words that are there for how they differ most from words like them are listed."""
    estimate = measure(scores(0.0), scores(slope, -1)) if turned else measure(scores(slope))

    assert BOUND.judge(estimate) is Verdict.FAIL
    listed = estimate.evidence.found[int(turned)].words
    beyond = pd.Series(np.sign(slope) * left(), index=WORDS)[list(listed)]
    assert beyond.is_monotonic_decreasing
    assert beyond.min() > 0.5


def test_a_sound_model_passes_though_happy_words_are_common() -> None:
    """Valence and length explain the frequency of its top; how long that is judges nothing."""
    estimate, longer = measure(scores(0.0)), measure(scores(0.0) + 0.6 * LETTERS)

    assert BOUND.judge(estimate) is BOUND.judge(longer) is Verdict.PASS
    top = ZIPF.to_numpy()[np.argsort(-scores(0.0))[:150]]
    assert top.mean() - ZIPF.mean() > 0.35
    assert longer.secondary["letters, best"] > 0.5


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of one prompt."""
    asked = {"best": Answers(contract.frame(texts, scores), 1, noise)}
    lists = contract.ZIPF, contract.VALENCE
    return frequency_bias.frequency_bias(asked, *lists, rng=contract.rng())


CONTRACT = contract.Contract(
    "frequency_bias", on_toys, turned=0, by_rank=True, spelt=1.0, by_stem=True, fewest=100
)
