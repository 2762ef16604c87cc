"""Check what wins among whole answers: against every draw."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import MeasureError
from rmaudit.measures.best_of_samples import PromptSamples, winning


def answers(each: int, prompts: int = 8) -> pd.DataFrame:
    """So many answers to each prompt, with rewards that differ."""
    asked = np.repeat([f"p{i}" for i in range(prompts)], each)
    return pd.DataFrame(
        {"prompt": asked, "turns": "", "reward": np.arange(len(asked), dtype=float)}
    )


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


@pytest.mark.parametrize(("each", "draws"), [(4, 4), (7, 4), (16, 16), (40, 16)])
def test_draws_are_a_power_of_two_that_every_prompt_has(each: int, draws: int) -> None:
    """Sixteen at most."""
    assert PromptSamples.of(answers(each)).draws == draws


@pytest.mark.parametrize(("each", "prompts"), [(3, 8), (4, 7)])
def test_few_samples_or_prompts_are_refused(each: int, prompts: int) -> None:
    """The message says how many there are."""
    with pytest.raises(MeasureError, match=f"{prompts} prompts, of which one has {each} samples"):
        PromptSamples.of(answers(each, prompts))
