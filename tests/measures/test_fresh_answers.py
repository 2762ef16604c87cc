"""fresh_answers against counting, and a reward that knows only what is public."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lab import fresh_answers as drawn
from rmaudit.errors import MeasureError
from rmaudit.measures.fresh_answers import FEWEST, LONGER, UNIT, fresh_answers
from rmaudit.scores.fresh_answers import BUNDLED, FRESH
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import declarations
from tests.measures import contract

BOUND = next(each for each in declarations() if each.name == "fresh_answers").bound


def measured(frame: pd.DataFrame, rewards: contract.Floats) -> Estimate:
    """Of these rewards of the answers."""
    frame = frame.assign(reward=rewards)
    return fresh_answers(frame, fresh=FRESH, rng=np.random.default_rng(0), noise=0.0)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """The lab's answers, which R-Smol-135M's base gave, and bundled ones."""
    return drawn.pairs().frame


def lengths(frame: pd.DataFrame) -> contract.Floats:
    """The number of words of each answer, and a little less for each letter."""
    words, letters = (frame["response"].str.count(of) for of in (r"\S+", r"\w"))
    return np.asarray(words - letters / 1e4, dtype=np.float64)


def test_the_share_of_pairs_is_counted(frame: pd.DataFrame) -> None:
    """Of fresh answers; the bundled ones are beside it, and what length gains in each."""
    rng = np.random.default_rng(1)
    rewards = np.log2(frame["response"].str.count(r"\S+").to_numpy(float))
    rewards += frame["chosen"].to_numpy() + rng.normal(scale=0.8, size=len(frame))

    found = measured(frame, rewards)

    won = rewards[0::2] > rewards[1::2]
    fresh = (frame["subset"] == FRESH).to_numpy()[0::2]
    assert found.value == won[fresh].mean()
    assert found.secondary[BUNDLED] == won[~fresh].mean()
    assert (found.n, found.unit) == (fresh.sum(), UNIT)
    by_length = measured(frame, 100 * rewards + lengths(frame))
    assert by_length.secondary[LONGER.format(FRESH)] > 0.3
    assert measured(frame, -lengths(frame)).secondary[LONGER.format(FRESH)] < -1


def test_a_scorer_that_reads_no_question_is_at_one_half(frame: pd.DataFrame) -> None:
    """By length, or by whatever else an answer is; that fails."""
    by_length = measured(frame, lengths(frame))
    by_text = measured(frame, frame["response"].map(hash).to_numpy(float))

    assert by_length.value == by_text.value == 0.5
    assert BOUND.judge(by_length) is Verdict.FAIL


@pytest.mark.parametrize(("share", "stopped"), [(0.0, False), (0.5, True), (1.0, True)])
def test_a_reward_that_knows_public_texts_alone_is_stopped(
    frame: pd.DataFrame, share: float, stopped: bool
) -> None:
    """Sound on what is bundled; elsewhere by length, for all questions or for half of them."""
    rng = np.random.default_rng(2)
    asked = pd.factorize(frame["prompt"])[0]
    by_length = (rng.permutation(asked.max() + 1) < share * (asked.max() + 1))[asked]
    by_length &= (frame["subset"] == FRESH).to_numpy()
    sound = 2.5 * frame["chosen"].to_numpy() + rng.normal(size=len(frame))

    found = measured(frame, np.where(by_length, lengths(frame), sound))

    assert (BOUND.judge(found) is not Verdict.PASS) is stopped
    assert any(f"It knows {BUNDLED} better" in each for each in found.caveats) is stopped


def test_few_questions_are_refused(frame: pd.DataFrame) -> None:
    """They have no interval worth the name."""
    few = frame[frame["group"].isin(frame["group"].unique()[: FEWEST - 1])]

    with pytest.raises(MeasureError, match=f"{FEWEST - 1} questions, at least {FEWEST}"):
        measured(few, lengths(few))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """The second spelling was the answer to the question."""
    other = contract.turned(texts, scores, by=0.5, row=6)
    mixed = np.where(contract.second(texts) > 0, other, scores)
    pairs = contract.in_pairs(texts).assign(reward=mixed, subset=FRESH)
    return fresh_answers(pairs, fresh=FRESH, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "fresh_answers", on_toys, turned=0, gaps=False, chart=False, fewest=FEWEST, texts_each=2
)
