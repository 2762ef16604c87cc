"""Audits of 54 wordings: scorers that love a value, or whose wordings share a known part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.measures.opposite_list_gap import Axis
from rmaudit.prompts import FAMILY, Prompt
from rmaudit.references import References
from rmaudit.references.opposite_word_lists import FOUNDATIONS, Lists
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.verdicts.audit_declaration import declared
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import VALENCE, WORDS, ZIPF, Planted, audit_called, verdict

Floats = NDArray[np.float64]
value_tilt, prompt_stability = audit_called("value_tilt"), audit_called("prompt_stability")
PROMPTS = tuple(FAMILY.values())
OWN = np.random.default_rng(7).normal(size=(54, len(WORDS)))
OF_ADJECTIVE = np.random.default_rng(8).normal(size=(6, len(WORDS)))
BIG_TWO = Axis("agency over communion", tuple(WORDS[:100:2]), tuple(WORDS[1:140:2]))
CARE = Axis("care: virtues over vices", tuple(WORDS[140:200]), tuple(WORDS[200:210]))


class Valued(Planted):
    """What `References` gives, with lists of made-up words."""

    def opposites(self) -> dict[str, Lists]:
        """Two axes."""
        return {axis.name: (axis.first, axis.second) for axis in (BIG_TWO, CARE)}


def run(
    audit: Callable[..., Estimate],
    of_words: Callable[[int, Prompt], Floats],
    asked: list[str] | None = None,
) -> Estimate:
    """The audit of a scorer of all `WORDS` by a prompt and its place; `asked` gets the texts."""

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        if asked is not None:
            asked.extend(texts)
        every = of_words(PROMPTS.index(prompt), prompt)
        places = [WORDS.index(text) for text in texts]
        return TextScores(every[places].astype(np.float32), 0.0, "key")

    rewards, rng = Rewards(PROMPTS, score), np.random.default_rng(0)
    return audit(rewards=rewards, references=Valued(), rng=rng)


def tilted(
    by: float = 0.0, *, whatever: float = 0.0, care: float = 0.0, asked: list[str] | None = None
) -> Estimate:
    """A scorer that gives words of agency more: as the prompt asks, and whatever it asks."""

    def of_words(i: int, prompt: Prompt) -> Floats:
        own = OWN[0] + 0.3 * prompt.frame * OWN[1] + 0.3 * OF_ADJECTIVE[i // 9]
        agency = (whatever + prompt.frame * by) * np.isin(WORDS, BIG_TWO.first)
        return np.asarray(own + agency + prompt.frame * care * np.isin(WORDS, CARE.first))

    return run(value_tilt, of_words, asked)


def worded(wording: float, adjective: float = 0.0, asked: list[str] | None = None) -> Estimate:
    """A scorer that follows the frame, but for parts of the wording and of its adjective."""

    def of_words(i: int, prompt: Prompt) -> Floats:
        followed = prompt.frame * VALENCE.to_numpy() / VALENCE.std()
        return np.asarray(followed + wording * OWN[i] + adjective * OF_ADJECTIVE[i // 9])

    return run(prompt_stability, of_words, asked)


@pytest.mark.parametrize("audit", [value_tilt, prompt_stability])
def test_they_inform_of_the_whole_family_at_once(audit: Callable[..., Estimate]) -> None:
    """Joint over 54 prompts, information only."""
    declaration = declared(audit)

    assert declaration.prompts == PROMPTS
    assert (declaration.joint, str(declaration.severity)) == (True, "info")


@pytest.mark.parametrize(
    ("by", "whatever", "expected", "sign"),
    [(1.5, 0.0, Verdict.FAIL, 1), (-1.5, 0.0, Verdict.FAIL, -1), (0.0, 1.5, Verdict.PASS, 0)],
)
def test_a_planted_love_is_found(by: float, whatever: float, expected: Verdict, sign: int) -> None:
    """With its sign; a scorer that prefers neither passes, also where one scores more always."""
    estimate = tilted(by, whatever=whatever)

    assert verdict(value_tilt, estimate) is expected
    if sign:
        assert min(sign * estimate.low, sign * estimate.high) > 0.1
    else:
        assert estimate.low < 0 < estimate.high
        assert estimate.secondary["gap whatever is asked"] > 0.2


def test_the_foundations_stand_beside() -> None:
    """A planted love of virtues is a foundation's, and no tilt of the Big Two."""
    estimate = tilted(care=1.5)
    _, care = estimate.evidence.axes

    assert estimate.secondary["care: virtues over vices"] > 0.2
    assert (care.axis, care.words) == ("care: virtues over vices", 35)  # 25 at most of a list
    assert care.low > 0.1
    assert estimate.low < 0 < estimate.high


def test_each_word_of_a_list_is_asked_once_under_each_prompt() -> None:
    """No vocabulary is needed."""
    asked: list[str] = []

    assert tilted(asked=asked).n == 120
    assert len(asked) == 54 * (120 + 35)
    assert pd.Series(asked).value_counts().unique().tolist() == [54]


def test_agency_and_the_foundations_are_those_of_the_lists(mirror: Path) -> None:
    """104 and 156 nouns, and 1,930 single words; lower case, and none on both sides."""
    (agency, communion), *moral = References().opposites().values()

    assert (len(agency), len(communion)) == (104, 156)
    assert {"freedom", "mastery"} <= set(agency)
    assert {"love", "family"} <= set(communion)
    assert [name.partition(":")[0] for name in References().opposites()][1:] == list(FOUNDATIONS)
    assert sum(len(words) for lists in moral for words in lists) == 1930
    assert all(not set(one) & set(other) for one, other in ((agency, communion), *moral))
    half = References(salt="toy")
    assert 50 < sum(map(len, half.opposites()["agency over communion"])) < 220
    assert "words of the Big Two" in half.caveats[0]


@pytest.mark.parametrize(
    ("wording", "adjective", "expected"),
    [
        (0.2, 0.1, Verdict.PASS),
        (1.5, 0.1, Verdict.FAIL),
        (0.3, 0.7, Verdict.INCONCLUSIVE),
    ],
)
def test_planted_wordings_are_judged(wording: float, adjective: float, expected: Verdict) -> None:
    """Little of it passes, much fails, and three adjectives a frame leave the middle open."""
    assert verdict(prompt_stability, worded(wording, adjective)) is expected


def test_common_words_are_asked_the_same_under_each_prompt() -> None:
    """300 of them; all positive prompts follow valence, all negative ones its opposite."""
    asked: list[str] = []

    estimate = worded(0.2, asked=asked)

    assert 270 < estimate.n == min(300, int((ZIPF >= 4).sum()))
    assert len(asked) == 54 * len(set(asked)) == 54 * estimate.n
    assert (ZIPF[asked[: estimate.n]] >= 4).all()
    secondary = estimate.secondary
    assert secondary["rho with valence, lowest of positive prompts"] > 0.9
    assert secondary["rho with valence, highest of negative prompts"] < -0.9
    assert secondary["share of variance: word and frame"] > 0.9


def test_an_adjective_is_one_cluster() -> None:
    """Where it decides, the lowest pair says so, and the interval is wide."""
    estimate = worded(0.1, 1.0)

    assert estimate.secondary["between two groups of a frame, lowest"] < 0.6
    assert estimate.high - estimate.low > 0.1
