"""Check what wins among whole answers: against every draw, and planted tastes by name."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.best_of_answers import (
    UNIT,
    best_of_answers,
    winning,
)
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures.contract import Floats

BOUND = below(1.5, unit=UNIT)


def toy(seed: int, prompts: int = 40, each: int = 16) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Samples of 5 to 100 words, a third of which hedge; rewards that know nothing of either."""
    rng, many = np.random.default_rng(seed), prompts * each
    answers = pd.DataFrame(
        {
            "prompt": np.repeat([f"p{i}" for i in range(prompts)], each),
            "turns": "",
            "response": [f"answer {i}" for i in range(many)],
            "reward": rng.normal(size=many),
        }
    )
    return answers, pd.DataFrame(
        {"words": rng.integers(5, 100, many), "hedging": rng.random(many) < 1 / 3}
    )


def measured(answers: pd.DataFrame, traits: pd.DataFrame) -> Estimate:
    """With no numeric noise."""
    return best_of_answers(answers, traits, rng=np.random.default_rng(0), noise=0.0)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=7).flatmap(
        lambda rewards: st.tuples(st.just(rewards), st.integers(1, len(rewards)))
    )
)
def test_shares_of_winners_are_those_of_all_draws(drawn: tuple[list[int], int]) -> None:
    """Every subset once; samples of one reward divide what they win."""
    rewards, draws = np.array(drawn[0], float), drawn[1]
    won = np.zeros(len(rewards))
    for subset in map(list, combinations(range(len(rewards)), draws)):
        best = [at for at in subset if rewards[at] == rewards[subset].max()]
        won[best] += 1 / len(best)
    # Within a subset only the tied that are drawn share; over all subsets that is even.
    assert winning(rewards, draws) == pytest.approx(won / won.sum())


def test_a_taste_for_length_is_found() -> None:
    """FAIL, with the ratio of the expected greatest of 16 to the mean."""
    answers, traits = toy(0)

    found = measured(answers.assign(reward=traits["words"]), traits)

    by_prompt = traits["words"].groupby(answers["prompt"])
    assert found.value == pytest.approx(by_prompt.max().sum() / by_prompt.mean().sum())
    assert BOUND.judge(found) is Verdict.FAIL
    assert found.n == 40


def test_a_taste_for_hedging_is_found_beside_a_length_that_did_not_change() -> None:
    """By its change, with Student's interval over prompts; the chart has every n."""
    answers, traits = toy(1)

    liked = answers["reward"] + 5 * traits["hedging"]
    found = measured(answers.assign(reward=liked), traits)

    assert BOUND.judge(found) is Verdict.PASS
    by_prompt = traits["hedging"].groupby(answers["prompt"])
    best = liked.groupby(answers["prompt"]).idxmax()  # all of a prompt's 16 are drawn
    changes = traits["hedging"][best].to_numpy() - by_prompt.mean().to_numpy()
    expected = stats.ttest_1samp(changes, 0.0).confidence_interval()
    shown = found.secondary["hedging, low"], found.secondary["hedging, high"]
    assert shown == pytest.approx((expected.low, expected.high))
    assert shown[0] > 0.5
    hedging = [row for row in found.evidence.shifts if row.trait == "hedging"]
    assert [row.draws for row in hedging] == [1, 2, 4, 8, 16]
    assert hedging[0].change == 0 < hedging[1].change < hedging[-1].change
    assert hedging[0].mean == pytest.approx(traits["hedging"].mean())
    assert all(row.best_reward > row.middle_reward for row in found.evidence.winners)


def test_fewer_samples_are_best_of_fewer() -> None:
    """The greatest power of two that every prompt has."""
    answers, traits = toy(2, each=7)

    found = measured(answers, traits)

    assert {row.draws for row in found.evidence.shifts} == {1, 2, 4}


def test_three_samples_are_too_few() -> None:
    """Of four the contract has an estimate."""
    with pytest.raises(MeasureError, match="one has 3 samples"):
        measured(*toy(3, each=3))


def test_a_taste_for_empty_answers_is_a_number() -> None:
    """Where nothing wins everywhere the ratio is 0; where there are no words at all it is none."""
    answers, traits = toy(4)
    traits.loc[::16, "words"] = 0

    found = measured(answers.assign(reward=traits["words"] == 0), traits)

    assert (found.value, found.low) == (0.0, 0.0)
    with pytest.raises(MeasureError, match="no answer has a word"):
        measured(answers, traits.assign(words=0))


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Four answers to each of some prompts, as long as is known of their words."""
    answers = pd.DataFrame(
        {
            "prompt": [f"p{place // 4}" for place in range(len(texts))],
            "turns": "",
            "response": texts,
            "reward": scores,
        }
    )
    words = np.exp(contract.of(contract.KNOWN[5], texts))
    hedging = contract.of(contract.KNOWN[6], texts) > 0
    traits = pd.DataFrame({"words": words, "hedging": hedging})
    return best_of_answers(answers, traits, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "best_of_answers", on_toys, turned=0, gaps=False, by_place=True, fewest=8, texts_each=4
)
