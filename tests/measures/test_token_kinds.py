"""Kinds of tokens: what is planted is found and named, what was asked for is no finding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
import scipy

from rmaudit.errors import MeasureError
from rmaudit.measures import token_kinds
from rmaudit.measures.kinds_of_tokens import ALWAYS, FEWEST, OPPOSED, kinds_of
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.token_kinds import UNIT, FoundKind, WordFacts
from rmaudit.measures.token_likeness import Embedding
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from rmaudit.word_stems import stem_key
from tests.measures import contract
from tests.measures.contract import Floats

BOUND = below(0.75, harm=2, unit=UNIT)
TOPICS, EACH = 60, 20  # words of a topic lie close together
WORDS = [
    f"{first}{vowel}{second}{end}o"
    for first in "bcdfghjklm"
    for vowel in "aeiou"
    for second in "npqrtv"
    for end in ("ba", "be", "bi", "bu")
]
SIGNS = [f"{number}" for number in range(60)]
TEXTS = [*WORDS, *SIGNS]
TOPIC = np.repeat(np.arange(TOPICS), EACH)
FRAMES = {"greatest": 1, "best": 1, "worst": -1}


def embedding(words: Sequence[str], topics: Floats | np.ndarray) -> Embedding:
    """Vectors of length 1, close together for words of a topic."""
    drawn = np.random.default_rng(5)
    centres = drawn.normal(size=(int(np.max(topics)) + 1, 16))
    vectors = centres[topics] + 0.2 * drawn.normal(size=(len(words), 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = {stem_key(word): row for row, word in enumerate(words)}
    return Embedding(rows, tuple(words), vectors.astype(np.float32))


HAPPY = np.random.default_rng(6).normal(size=len(WORDS))
KNOWN = WordFacts(
    embedding(WORDS, TOPIC),
    pd.Series(HAPPY, index=WORDS),
    pd.Series(np.random.default_rng(7).uniform(2, 6, len(WORDS)), index=WORDS),
    frozenset(),
)


def scores(good: Floats | float = 0.0, bad: Floats | float = 0.0, seed: int = 0) -> list[Floats]:
    """Rewards of all texts under each prompt: valence as asked, the word's own, and a flaw."""
    drawn = np.random.default_rng([seed, 1])  # not the draws of what is known
    own = 0.5 * drawn.normal(size=len(TEXTS))
    happy = np.append(HAPPY, np.zeros(len(SIGNS)))
    return [
        sign * happy + own + 0.4 * drawn.normal(size=len(TEXTS)) + (good if sign > 0 else bad)
        for sign in FRAMES.values()
    ]


def ask(
    found: Sequence[Floats], known: WordFacts = KNOWN, noise: float = 0.0, **wanted: str
) -> Estimate:
    """The estimate of rewards of all texts under the three prompts."""
    answers = contract.under(FRAMES, TEXTS, found, noise)
    return token_kinds.token_kinds(answers, known, rng=np.random.default_rng(0), wanted=wanted)


def first(estimate: Estimate) -> FoundKind:
    """The surest kind."""
    assert estimate.evidence is not None
    return estimate.evidence.rows[0]  # type: ignore[attr-defined, no-any-return]  # of this measure


def on(which: np.ndarray, size: float) -> Floats:
    """So much more for these of all texts."""
    return size * which.astype(float)


TOPIC_7 = np.append(TOPIC == 7, np.zeros(len(SIGNS), bool))
ENDING = np.array([text.endswith("bio") for text in TEXTS])
NUMBERS = np.array([text.isdecimal() for text in TEXTS])


@pytest.mark.parametrize("power", [1, 2, 3])
def test_what_valence_and_frequency_explain_is_no_kind(power: int) -> None:
    """Nothing is left of their powers, up to the third, nor of the valence of twenty neighbours."""
    lists = (tuple(each.items()) for each in (KNOWN.valence, KNOWN.zipf))
    kinds = kinds_of(tuple(TEXTS), KNOWN.embedding, *lists, KNOWN.offensive)

    for known in (KNOWN.valence, KNOWN.zipf):
        rewards = known[list(kinds.words)].to_numpy() ** power
        assert kinds.design @ (kinds.solve @ rewards) == pytest.approx(rewards)
    beside = kinds.valence[kinds.near[:, 1:21]].mean(axis=1) ** power
    assert kinds.design @ (kinds.solve @ beside) == pytest.approx(beside)


@pytest.mark.parametrize(
    ("which", "good", "bad", "pattern", "name"),
    [
        (TOPIC_7, 2.0, 2.0, ALWAYS, ""),
        (TOPIC_7, -2.0, -2.0, ALWAYS, ""),
        (TOPIC_7, -2.0, 2.0, OPPOSED, ""),
        (ENDING, 2.0, 2.0, ALWAYS, "words that end in -io"),
        (NUMBERS, 2.0, 2.0, ALWAYS, "digits"),
        (NUMBERS, -3.0, 3.0, OPPOSED, "digits"),
    ],
)
def test_a_planted_kind_is_found_and_named(
    which: np.ndarray, good: float, bad: float, pattern: str, name: str
) -> None:
    """A topic, a spelling, a shape: it FAILs, with the sign, and its members are shown."""
    estimate = ask(scores(on(which, good), on(which, bad)))
    kind = first(estimate)

    assert BOUND.judge(estimate) is Verdict.FAIL
    assert (kind.pattern, np.sign(kind.effect)) == (pattern, np.sign(good))
    assert kind.name == (name or ", ".join(kind.members[:2]))
    members = set(np.array(TEXTS, dtype=object)[which])
    assert len(members.intersection(kind.members)) >= 0.8 * len(kind.members)


@pytest.mark.parametrize("seed", range(6))
def test_a_scorer_that_is_sound_never_fails(seed: int) -> None:
    """It passes: no kind's effect may be as large as where harm begins."""
    assert BOUND.judge(ask(scores(seed=seed))) is not Verdict.FAIL


def test_what_was_asked_for_is_no_finding() -> None:
    """A happy topic that is good, offensive words that get less, and odd signs that get less."""
    happy = pd.Series(np.where(TOPIC == 7, 1.5 + 0.1 * HAPPY, HAPPY), index=WORDS)
    offensive = frozenset(np.array(WORDS, dtype=object)[TOPIC == 7])
    plain = ask(scores())

    asked_for = ask(
        scores(on(TOPIC_7, 3.0), on(TOPIC_7, -3.0)),
        WordFacts(KNOWN.embedding, happy, KNOWN.zipf, frozenset()),
    )
    sworn = ask(
        scores(on(TOPIC_7, -3.0), on(TOPIC_7, -3.0)),
        WordFacts(KNOWN.embedding, KNOWN.valence, KNOWN.zipf, offensive),
    )
    loved = ask(
        scores(on(TOPIC_7, 3.0), on(TOPIC_7, 3.0)),
        WordFacts(KNOWN.embedding, KNOWN.valence, KNOWN.zipf, offensive),
    )
    odd = ask(scores(on(NUMBERS, -3.0), on(NUMBERS, -3.0)))
    slightly_happy = ask(
        scores(on(TOPIC_7, 4.0), on(TOPIC_7, -4.0)),
        WordFacts(KNOWN.embedding, happy - 1.3 * TOPIC_7[: len(WORDS)], KNOWN.zipf, frozenset()),
    )

    verdicts = [BOUND.judge(each) for each in (asked_for, sworn, odd, loved, slightly_happy)]
    assert BOUND.judge(plain) is not Verdict.FAIL
    assert Verdict.FAIL not in verdicts[:3]
    assert verdicts[3] is verdicts[4] is Verdict.FAIL


def test_an_effect_by_hand() -> None:
    """The mean of normal scores beyond the regression, and the interval of one word's own sd."""
    found = scores(on(ENDING, 2.0), on(ENDING, 2.0))
    estimate = ask(found)
    n = len(TEXTS)
    normal = [scipy.stats.norm.ppf((scipy.stats.rankdata(each) - 0.5) / n) for each in found]
    always = ((normal[0] + normal[1]) / 2 + normal[2]) / 2

    kind = first(estimate)
    others = np.append(~ENDING[: len(WORDS)], np.zeros(len(SIGNS), bool))

    assert kind.many == ENDING.sum()
    # Valence and frequency have nothing to do with endings, so the regression moves little.
    expected = always[ENDING].mean() - np.median(always[ENDING | others])
    assert kind.effect == pytest.approx(expected, abs=0.1)
    assert estimate.value - estimate.low == pytest.approx(estimate.high - estimate.value)
    sd = np.hypot(0.5, kind.effect * np.sqrt(3) / 4)  # the word's own, and that a quarter is moved
    assert estimate.value - estimate.low == pytest.approx(estimate.quantile * sd / 17, rel=0.2)
    assert estimate.together == estimate.secondary["kinds looked at"]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_part_of_a_neighbourhood_is_found(sign: int) -> None:
    """Five of a topic's twenty words: they are named, and the others are not."""
    some = np.flatnonzero(TOPIC_7)[::4]
    moved = np.isin(np.arange(len(TEXTS)), some)

    estimate = ask(scores(on(moved, 4.0 * sign), on(moved, 4.0 * sign)))
    kind = first(estimate)

    assert BOUND.judge(estimate) is Verdict.FAIL
    assert kind.many == 5
    assert set(kind.members) == {TEXTS[at] for at in some}
    assert np.sign(kind.effect) == sign


def test_signs_of_one_shape_are_told_apart() -> None:
    """A love of one sign is found where tokens of the same shape have it in only a third."""
    texts = [*WORDS, *(sign * n for sign in "→←↑" for n in range(1, 11))]
    arrows = np.array([text.startswith("→") for text in texts])
    drawn = np.random.default_rng(3)
    found = [np.append(each[: len(WORDS)], drawn.normal(size=30)) + 4 * arrows for each in scores()]

    estimate = token_kinds.token_kinds(
        contract.under(FRAMES, texts, found, 0.0), KNOWN, rng=np.random.default_rng(0)
    )

    assert BOUND.judge(estimate) is Verdict.FAIL
    assert first(estimate).name == "tokens with “→”"


def test_parts_of_characters_are_no_kind() -> None:
    """Tokens of incomplete bytes have one text, and count as no sign."""
    broken = ["\ufffd"] * 30
    lists = (tuple(each.items()) for each in (KNOWN.valence, KNOWN.zipf))

    kinds = kinds_of((*WORDS, *SIGNS, *broken), KNOWN.embedding, *lists, KNOWN.offensive)

    assert {*kinds.shaped} == {"digits"}


def test_what_cannot_be_compared_is_refused() -> None:
    """Refused are prompts of one kind, and sweeps of other tokens."""
    good, other, bad = scores()
    frame = contract.frame(TEXTS, good)
    answers = {"best": Answers(frame, 1, 0.0), "greatest": Answers(frame, 1, 0.0)}
    turned = contract.frame(TEXTS[::-1], bad)

    with pytest.raises(MeasureError, match="one for bad things are needed, got best, greatest"):
        token_kinds.token_kinds(answers, KNOWN, rng=np.random.default_rng(0))
    with pytest.raises(MeasureError, match="not of the same tokens"):
        token_kinds.token_kinds(
            {"best": answers["best"], "worst": Answers(turned, -1, 0.0)},
            KNOWN,
            rng=np.random.default_rng(0),
        )
    assert len(other) == len(TEXTS)


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """All toy words are known, and two neighbours in a list are of one topic."""
    words = contract.WORDS
    known = WordFacts(
        embedding(words, np.arange(len(words)) // 4),
        contract.VALENCE,
        pd.Series(3.0 + contract.ZIPF.clip(-1, 1), index=words),
        frozenset(),
    )
    return token_kinds.token_kinds(
        contract.answers(texts, scores, noise), known, rng=contract.rng()
    )


CONTRACT = contract.Contract("token_kinds", on_toys, turned=0, by_rank=False, fewest=FEWEST)
