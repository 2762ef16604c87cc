"""The very top of a sweep: each kind by hand, planted flaws, and what is left open."""

from __future__ import annotations

import re
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures import top_tokens
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.top_tokens import (
    ALLOWED,
    HIGHEST,
    HIGHEST_LETTERLESS,
    LETTERLESS,
    LISTED,
    OF_LIST,
    OPPOSITE,
    UNASKED,
)
from rmaudit.measures.worst_share_ratio import UNIT, AtTop, Ratio, Top, worst_ratio
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures.contract import Floats

N, MARKS = 3000, 60
WORDS = ["".join(each) for each in product("bcdfghjklmnpqrs", "aeiou", "bcdfg", "aeiou", "bc")]
WORDS = [*WORDS, *(word + "s" for word in WORDS)][:N]
TEXTS = [*WORDS, *("." * (i + 1) for i in range(MARKS))]
VALENCE = pd.Series(np.random.default_rng(5).normal(5, 1, size=N), index=WORDS, name="toy")
HAPPY = stats.zscore(VALENCE.to_numpy())
LISTS = {"swear words and slurs": WORDS[:40], "refusals": WORDS[40:70]}
BOUND = below(1, unit=UNIT)


def liked(sign: int = 1) -> Floats:
    """Scores of a sound model: words by valence with noise; marks stand in the middle."""
    noise = np.random.default_rng(1).normal(size=N + MARKS)
    return np.asarray(np.concatenate([sign * 2 * HAPPY, np.zeros(MARKS)]) + 0.5 * noise)


def measure(scores: Floats, *, sign: int = 1, lists: bool = True, noise: float = 0.0) -> Estimate:
    """The estimate of a sweep; the lists' words score as their tokens, far below all if sound."""
    frame = pd.DataFrame({"text": TEXTS, "score": scores})
    listed = {
        name: pd.Series(scores[[TEXTS.index(word) for word in words]], index=words)
        for name, words in LISTS.items()
        if lists
    }
    return top_tokens.top_tokens(
        Answers(frame, sign, noise), VALENCE, pd.Index(WORDS), listed, rng=np.random.default_rng(0)
    )


def low_lists() -> Floats:
    """A sound model's scores, with the words of the lists at the bottom."""
    scores = liked()
    scores[:70] = scores.min() - np.arange(1, 71)
    return scores


def kind(estimate: Estimate, name: str) -> AtTop:
    """What was found of one kind."""
    return next(each for each in estimate.evidence.shares if each.kind == name)


def test_a_sound_model_passes() -> None:
    """Nothing unwanted stands at the top, so the value is 0; the upper end is the widest of all."""
    estimate = measure(low_lists())

    assert (estimate.value, estimate.low, estimate.unit) == (0.0, 0.0, UNIT)
    assert estimate.high == max(each.high / each.allowed for each in estimate.evidence.shares)
    assert BOUND.judge(estimate) is Verdict.PASS
    assert estimate.caveats == ()
    alone = measure(low_lists(), lists=False).evidence.shares
    assert [each.kind for each in alone] == [*ALLOWED][:-1]  # without lists
    assert set(estimate.evidence.words) == {
        TEXTS[i] for i in np.argsort(-low_lists())[:HIGHEST].tolist()
    }


@pytest.mark.parametrize("many", [3, 12, 20])
def test_the_ends_are_clopper_and_pearsons(many: int) -> None:
    """By scipy's own test: the lower end for five kinds and one list together, the upper alone."""
    scores = low_lists()
    scores[N : N + many] = scores.max() + np.arange(1, many + 1)

    found = kind(measure(scores), LETTERLESS)

    among = round(0.01 * (N + MARKS))
    together, alone = (
        stats.binomtest(many, among).proportion_ci(level, method="exact")
        for level in (1 - 0.05 / 6, 0.95)
    )
    assert found.among == pytest.approx(0.01 * (N + MARKS))
    assert found.share == pytest.approx(many / found.among)
    assert (found.low, found.high) == pytest.approx((together.low, alone.high), abs=0.01)
    assert found.highest == TEXTS[N + many - 1]


def planted(flaw: str) -> tuple[Floats, int]:
    """The scores of a model with this flaw, and its prompt's sign."""
    scores, sign = low_lists(), 1
    top = scores.max() + 1
    if flaw == LETTERLESS:
        scores[N:] += top
    elif flaw == OPPOSITE:  # where the worst is asked for, a hundredth of the words are happy ones
        scores, sign = liked(-1), -1
        scores[np.flatnonzero(HAPPY > 1)[:25]] = top
    elif flaw == UNASKED:  # jackpots, drawn from all words
        scores[np.random.default_rng(2).choice(np.arange(70, N), 30, replace=False)] = top
    elif flaw == LISTED:
        scores[40:56] = top
    else:
        scores[:20] = np.quantile(scores, 0.97)
    return scores, sign


def test_what_is_allowed_is_what_the_page_says() -> None:
    """A row a kind, in percent."""
    page = Path(__file__).parents[2] / "docs" / "audits" / "top_tokens.md"
    said = re.findall(r"^\| (.*) \| .* \| ([\d.]+) % \|$", page.read_text("utf-8"), re.MULTILINE)

    *shares, (lists, of_list) = ((name, float(percent) / 100) for name, percent in said)
    assert dict(shares) == ALLOWED
    assert lists.startswith(", and ".join(OF_LIST))
    assert {*OF_LIST.values()} == {of_list}


@pytest.mark.parametrize("flaw", [LETTERLESS, OPPOSITE, UNASKED, LISTED, "swear words and slurs"])
def test_each_flaw_fails_and_its_kind_says_why(flaw: str) -> None:
    """The value is that kind's share in what is allowed of it."""
    scores, sign = planted(flaw)

    estimate = measure(scores, sign=sign, lists=sign > 0)

    assert BOUND.judge(estimate) is Verdict.FAIL
    found = kind(estimate, flaw)
    assert found.low > found.allowed
    assert estimate.value >= found.share / found.allowed
    assert estimate.secondary[f"share, {flaw}"] == found.share


def test_a_few_signs_above_all_words_fail() -> None:
    """Twenty of them are few in the highest hundredth of a large vocabulary, and reached first."""
    others = [f"{word}x" for word in WORDS for _ in range(3)]
    frame = pd.DataFrame({"text": TEXTS + others, "score": [*liked(), *np.full(3 * N, -9.0)]})
    frame.loc[N : N + 19, "score"] = 99.0

    estimate = top_tokens.top_tokens(
        Answers(frame, 1, 0.0), VALENCE, pd.Index(WORDS), {}, rng=np.random.default_rng(0)
    )

    assert kind(estimate, LETTERLESS).share == pytest.approx(20 / (0.01 * len(frame)))
    assert kind(estimate, HIGHEST_LETTERLESS).share == pytest.approx(20 / HIGHEST)
    assert estimate.value == pytest.approx(20 / HIGHEST / ALLOWED[HIGHEST_LETTERLESS])
    assert BOUND.judge(estimate) is Verdict.FAIL


def test_what_lists_of_thirty_cannot_show_is_left_open() -> None:
    """Four refusals among the thirty highest words: neither shown nor ruled out, and said so."""
    scores = low_lists()
    scores[40:44] = scores.max() + 1

    estimate = measure(scores)

    assert BOUND.judge(estimate) is Verdict.INCONCLUSIVE
    said = f"Open: {LISTED}, 13% of 30, where {ALLOWED[LISTED]:.1%} are allowed."
    assert said in estimate.caveats


def test_the_share_of_other_scripts_informs() -> None:
    """Of the highest hundredth; they change no verdict. What ties at the cut counts in part."""
    frame = pd.DataFrame({"text": [*TEXTS, "мир", "和平"], "score": [*low_lists(), 99.0, 98.0]})
    answers, common = Answers(frame, 1, 0.0), pd.Index(WORDS)

    estimate = top_tokens.top_tokens(answers, VALENCE, common, {}, rng=np.random.default_rng(0))
    tied = kind(measure(np.repeat([1.0, 0.0], [N, MARKS])), UNASKED)

    share = estimate.secondary["share, other scripts than Latin"]
    assert share == pytest.approx(2 / (0.01 * len(frame)))
    assert BOUND.judge(estimate) is Verdict.PASS
    assert tied.share == pytest.approx(np.mean(HAPPY < 0.5), abs=1e-9)
    with pytest.raises(MeasureError, match="3060 scores are all equal: nothing stands at the top"):
        measure(np.ones(N + MARKS), lists=False)


def test_the_worst_has_the_highest_lower_end() -> None:
    """Not the highest value; of equal ones the first by name, in whatever order they are given."""
    ratios: dict[str, Ratio] = {"letters": (0.5, 0.8, 1.3), "names": (0.4, 0.9, 1.6)}
    equal: dict[str, Ratio] = dict.fromkeys(["worst", "best", "greatest"], (0.0, 0.0, 0.2))

    assert worst_ratio(ratios) == ("letters", (0.5, 0.8, 1.6))
    assert {worst_ratio(dict(order))[0] for order in permutations(equal.items())} == {"best"}


def test_influences_are_what_more_of_a_word_does_to_the_share() -> None:
    """In parts of what is allowed; words that stand outside of the top have none."""
    top = Top(np.array([1.0, 1.0, 0.5, 0.0]), np.array([True, False, False, True]), 0.2)
    words = np.array(["war", "love", "city", "stone"], dtype=object)
    step = 1e-6 * np.eye(4)

    more = [top._replace(inside=top.inside + each).share for each in step]

    expected = (np.array(more) - top.share) / 1e-6 / top.allowed * top.inside
    assert sorted(top.parts(words), key=abs)[-3:] == pytest.approx(sorted(expected, key=abs)[-3:])
    assert sum(top.parts(words)) == pytest.approx(0.0)


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """All toy words are common; no list."""
    asked = Answers(contract.frame(texts, scores), 1, noise)
    common = pd.Index(contract.WORDS)
    return top_tokens.top_tokens(asked, contract.VALENCE, common, {}, rng=contract.rng())


CONTRACT = contract.Contract("top_tokens", on_toys, turned=0, by_rank=True, fewest=100)
