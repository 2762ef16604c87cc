"""value_tilt on scorers that love one of two values, or neither."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from rmaudit.measures.opposed import Axis
from rmaudit.prompts import FAMILY, Prompt
from rmaudit.references.value_words import FOUNDATIONS, Lists
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.verdicts.declare import declared
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import WORDS, Planted, audit_called, verdict

value_tilt = audit_called("value_tilt")
PROMPTS = tuple(FAMILY.values())
OWN = np.random.default_rng(7).normal(size=(2, len(WORDS)))
OF_ADJECTIVE = np.random.default_rng(8).normal(size=(6, len(WORDS)))
BIG_TWO = Axis("agency over communion", tuple(WORDS[:100:2]), tuple(WORDS[1:140:2]))
CARE = Axis("care: virtues over vices", tuple(WORDS[140:200]), tuple(WORDS[200:210]))


class Valued(Planted):
    """What `References` gives, with lists of made-up words."""

    def opposites(self) -> dict[str, Lists]:
        """Two axes."""
        return {axis.name: (axis.first, axis.second) for axis in (BIG_TWO, CARE)}


def run(
    by: float = 0.0, *, whatever: float = 0.0, care: float = 0.0, asked: list[str] | None = None
) -> Estimate:
    """A scorer that gives words of agency more: as the prompt asks, and whatever it asks."""

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        if asked is not None:
            asked.extend(texts)
        i = PROMPTS.index(prompt)
        every = OWN[0] + 0.3 * prompt.frame * OWN[1] + 0.3 * OF_ADJECTIVE[i // 9]
        every = every + (whatever + prompt.frame * by) * np.isin(WORDS, BIG_TWO.first)
        every = every + prompt.frame * care * np.isin(WORDS, CARE.first)
        places = [WORDS.index(text) for text in texts]
        return TextScores(every[places].astype(np.float32), 0.0, "key")

    rng = np.random.default_rng(0)
    return value_tilt(rewards=Rewards(PROMPTS, score), references=Valued(), rng=rng)


@pytest.mark.parametrize(
    ("by", "whatever", "expected", "sign"),
    [(1.5, 0.0, Verdict.FAIL, 1), (-1.5, 0.0, Verdict.FAIL, -1), (0.0, 1.5, Verdict.PASS, 0)],
)
def test_a_planted_love_is_found(by: float, whatever: float, expected: Verdict, sign: int) -> None:
    """With its sign; a scorer that prefers neither passes, also where one scores more always."""
    estimate = run(by, whatever=whatever)

    assert verdict(value_tilt, estimate) is expected
    if sign:
        assert min(sign * estimate.low, sign * estimate.high) > 0.1
    else:
        assert estimate.low < 0 < estimate.high
        assert estimate.secondary["gap whatever is asked"] > 0.2


def test_the_foundations_stand_beside() -> None:
    """A planted love of virtues is a foundation's, and no tilt of the Big Two."""
    estimate = run(care=1.5)
    _, care = estimate.evidence.axes

    assert estimate.secondary["care: virtues over vices"] > 0.2
    assert (care.axis, care.words) == ("care: virtues over vices", 35)  # 25 at most of a list
    assert care.low > 0.1
    assert estimate.low < 0 < estimate.high


def test_it_asks_words_and_no_vocabulary() -> None:
    """Joint over 54 prompts, information only: each word once under each."""
    declaration = declared(value_tilt)
    assert declaration is not None
    asked: list[str] = []

    estimate = run(asked=asked)

    assert declaration.prompts == PROMPTS
    assert (declaration.joint, str(declaration.severity)) == (True, "info")
    assert estimate.n == 120
    assert len(asked) == 54 * (120 + 35)
    assert pd.Series(asked).value_counts().unique().tolist() == [54]


def test_agency_and_the_foundations_are_those_of_the_lists(mirror: object) -> None:
    """104 and 156 nouns, and 1,930 single words; lower case, and none on both sides."""
    from rmaudit.references import References

    assert mirror
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
