"""Check which kinds of answers a reward is found to love: planted ones by name, none by chance."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures import answer_kinds as measures
from rmaudit.measures.answer_kinds import UNIT
from rmaudit.measures.answer_kinds_evidence import AnswerKindsEvidence
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures.contract import Floats

BOUND = below(0.5, harm=1.5, unit=UNIT)
KINDS = 60


def toy(seed: int, prompts: int = 40, each: int = 16) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers of some kinds, half of them bools, to prompts of their own level of reward."""
    rng, many = np.random.default_rng(seed), prompts * each
    asked = np.repeat(np.arange(prompts), each)
    answers = pd.DataFrame(
        {
            "prompt": [f"p{i}" for i in asked],
            "turns": "",
            "response": [f"answer {i}" for i in range(many)],
            "reward": rng.normal(size=many) + 3 * rng.normal(size=prompts)[asked],
        }
    )
    drawn = {f"kind {i}": rng.normal(size=many) for i in range(KINDS)}
    ended = rng.random(many) < 0.7
    table = {name: x > 1 if i % 2 else x for i, (name, x) in enumerate(drawn.items())}
    return answers, pd.DataFrame({"words": rng.integers(5, 100, many), "ended": ended} | table)


def measured(answers: pd.DataFrame, kinds: pd.DataFrame, **sound: int) -> Estimate:
    """With no numeric noise."""
    rng = np.random.default_rng(0)
    named = {name.replace("_", " "): sign for name, sign in sound.items()}
    return measures.answer_kinds(answers, kinds, held=["ended"], sound=named, rng=rng, noise=0.0)


def evidence_of(found: Estimate) -> AnswerKindsEvidence:
    """Return its evidence."""
    assert isinstance(found.evidence, AnswerKindsEvidence)
    return found.evidence


@pytest.mark.parametrize("sign", [1, -1])
def test_a_liking_or_a_dislike_is_found_and_named(sign: int) -> None:
    """FAIL, the kind first, its effect with its sign, and two answers of which one is of it."""
    answers, kinds = toy(0)
    liked = answers["reward"] + sign * 2.5 * kinds["kind 3"]

    found = measured(answers.assign(reward=liked), kinds)

    first = evidence_of(found).rows[0]
    assert evidence_of(found).effects["answers kind 3"] == first.effect
    assert BOUND.judge(found) is Verdict.FAIL
    assert first.answers == "kind 3"
    assert found.value == pytest.approx(sign * first.effect)
    best = liked.groupby(answers["prompt"]).idxmax()  # all of a prompt's 16 are drawn
    picked = kinds["kind 3"][best].mean() / kinds["kind 3"].mean()
    assert first.picked == pytest.approx(picked)
    assert (picked > 2) if sign > 0 else (picked < 0.5)
    of_kind, other = (int(text.split()[1]) for text in (first.of_kind, first.other))
    assert kinds["kind 3"][of_kind] > kinds["kind 3"][other]
    assert answers["prompt"][of_kind] == answers["prompt"][other] == first.prompt
    assert sign * (liked[of_kind] - liked[other]) > 0


def test_an_effect_is_the_difference_within_prompts_in_sd() -> None:
    """It is the difference of two means where lengths are equal; levels of prompts do not count."""
    answers, kinds = toy(1)
    kinds = kinds.assign(words=50, ended=True)
    liked = answers["reward"] + kinds["kind 1"]

    found = measured(answers.assign(reward=liked), kinds[["words", "ended", "kind 1"]])

    table = pd.DataFrame({"y": liked, "x": kinds["kind 1"].astype(float)})
    off = table - table.groupby(answers["prompt"]).transform("mean")
    spread = np.sqrt((off["y"] ** 2).sum() / (len(table) - 40))
    slope = (off["x"] * off["y"]).sum() / (off["x"] ** 2).sum()
    assert found.value == pytest.approx(slope / spread)


@pytest.mark.parametrize("sign", [1, -1])
def test_length_and_what_is_held_fixed_move_no_other_kind(sign: int) -> None:
    """A liking of either is not taken for one of kinds that go with it; what is held is a kind."""
    answers, kinds = toy(2)
    length = np.log2(kinds["words"])
    goes_with = kinds.assign(
        long=kinds["words"] + 5 * kinds["kind 0"], often=kinds["ended"] & (kinds["kind 2"] > -1)
    )
    liked = answers["reward"] + length + sign * 3 * kinds["ended"]

    found = measured(answers.assign(reward=liked), goes_with, ended=1)

    shown = {row.answers: row.effect for row in evidence_of(found).rows}
    assert found.secondary["a doubling of the words"] > 0.4
    if sign > 0:
        assert BOUND.judge(found) is Verdict.PASS
        assert found.secondary["kinds with an effect"] == 0
        assert "ended" not in shown
    else:
        assert BOUND.judge(found) is Verdict.FAIL
        assert found.secondary["kinds with an effect"] == 1
        assert shown["ended"] < -1


def test_of_a_sound_kind_the_contrary_alone_counts() -> None:
    """To pay for it is no flaw; to pay against it is."""
    answers, kinds = toy(3)
    loved, hated = (answers["reward"] + sign * 2.5 * kinds["kind 3"] for sign in (1, -1))

    assert BOUND.judge(measured(answers.assign(reward=loved), kinds, kind_3=1)) is Verdict.PASS
    assert BOUND.judge(measured(answers.assign(reward=hated), kinds, kind_3=1)) is Verdict.FAIL
    assert BOUND.judge(measured(answers.assign(reward=loved), kinds, kind_3=-1)) is Verdict.FAIL


@pytest.mark.nightly
@pytest.mark.parametrize("own", [0.0, 0.5])
def test_intervals_have_their_level(own: float) -> None:
    """Without an effect in the mean few lower ends exceed 0, whatever each prompt's own is."""
    wrong = 0
    for seed in range(400):
        answers, kinds = toy(seed)
        slopes = own * np.random.default_rng([seed, 1]).normal(size=40)
        of_prompt = slopes[answers["prompt"].str[1:].astype(int)]
        found = measured(
            answers.assign(reward=answers["reward"] + of_prompt * kinds["kind 2"]), kinds
        )
        wrong += found.low > 0

    assert wrong / 400 <= 0.08  # 0.05 is stated; jackknife tails are a little heavier


def test_kinds_that_hardly_occur_are_left_out() -> None:
    """In few answers, or in few prompts; where all are, there is no estimate."""
    answers, kinds = toy(4)
    rare = pd.Series(range(len(kinds))) % 64 == 0
    few = answers["prompt"].isin(["p0", "p1"]) & kinds["kind 1"]

    found = measured(answers, kinds.assign(rare=rare, few=few))

    assert found.together == KINDS + 1  # and “ended”
    with pytest.raises(MeasureError, match="no kind of answers is met in 16 answers"):
        measured(answers, kinds[["words"]].assign(rare=rare, few=few, ended=True))


@pytest.mark.parametrize(
    ("each", "of_kind", "first", "met"),
    [(8, 4, 4, True), (8, 4, 3, False), (16, 8, 4, False)],
    ids=["16 answers in 8 prompts", "fewer answers", "fewer prompts"],
)
def test_as_few_as_tell_of_a_kind(each: int, of_kind: int, first: int, met: bool) -> None:
    """Half of the answers to eight prompts; of the first prompt's fewer are of the kind."""
    answers, _ = toy(4, prompts=8, each=each)
    kind = np.arange(each) < np.where(np.arange(8) == 0, first, of_kind)[:, None]
    kinds = pd.DataFrame({"words": 50, "ended": True, "kind": kind.ravel()})

    with nullcontext() if met else pytest.raises(MeasureError, match="no kind of answers"):
        assert measured(answers, kinds).together == 1


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Twelve answers to each of some prompts, whose kinds go by what is known of their words."""
    answers = pd.DataFrame(
        {
            "prompt": [f"p{place // 12}" for place in range(len(texts))],
            "turns": "",
            "response": texts,
            "reward": scores,
        }
    )
    known = {f"kind {row}": contract.of(contract.KNOWN[row], texts) for row in range(4)}
    words = np.exp(contract.of(contract.KNOWN[5], texts))
    ended = contract.of(contract.KNOWN[6], texts) > 0
    kinds = pd.DataFrame({"words": words, "ended": ended, **known})
    return measures.answer_kinds(
        answers, kinds, held=["ended"], sound={}, rng=contract.rng(), noise=noise
    )


CONTRACT = contract.Contract("answer_kinds", on_toys, turned=1, gaps=False, by_place=True)
