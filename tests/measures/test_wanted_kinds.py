"""What a model's makers want cannot fail; what they did not name still does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures import answer_kinds
from rmaudit.measures.answer_kinds_evidence import AnswerKindsEvidence
from rmaudit.measures.kinds_of_tokens import kinds_of
from rmaudit.measures.token_kinds import TokenKindsEvidence
from rmaudit.measures.wanted_kinds import wanted_tokens
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.measures import test_answer_kinds as of_answers
from tests.measures import test_token_kinds as of_tokens
from tests.measures.contract import Floats
from tests.measures.test_token_kinds import ENDING, NUMBERS, SIGNS, TOPIC, WORDS, on, scores

WINE, BEER, OTHER = (np.array(WORDS)[topic == TOPIC][0] for topic in (7, 8, 9))
WHY = "It judges wine lists."


def topic(number: int) -> np.ndarray:
    """Which of all texts are words of a topic."""
    return np.append(number == TOPIC, np.zeros(len(SIGNS), bool))


def ask(flaw: Floats, **wanted: str) -> Estimate:
    """The estimate of a reward with this flaw under every prompt; `_` in names are spaces."""
    given = {name.replace("_", " "): why for name, why in wanted.items()}
    return of_tokens.ask(scores(flaw, flaw), **given)


def fails(estimate: Estimate) -> bool:
    """Whether it fails the gate's bound."""
    return of_tokens.BOUND.judge(estimate) is Verdict.FAIL


@pytest.mark.parametrize(
    ("which", "key"),
    [
        (topic(7), WINE),
        (topic(7), WINE.upper()),
        (topic(7), f"{WINE}, anything"),
        (ENDING, "words that end in -bio"),
        (NUMBERS, "digits"),
    ],
)
def test_a_wanted_kind_of_tokens_cannot_fail(which: np.ndarray, key: str) -> None:
    """By a word of it or by its name; its other neighbourhoods and spellings do not come back."""
    flaw = on(which, 3.0)

    spared = ask(flaw, **{key: WHY})

    assert fails(ask(flaw))
    assert not fails(spared)
    assert isinstance(spared.evidence, TokenKindsEvidence)
    rows = spared.evidence.rows
    wanted = [row.wanted for row in rows]
    assert wanted == sorted(wanted)  # those that are wanted come last, with the reason
    assert wanted[0] == ""
    first = rows[wanted.index(WHY)]
    assert first.low > 0.75
    assert spared.value == abs(rows[0].effect)
    assert spared.evidence.wanted == (key,)
    assert f"wants “{key}” (It judges wine lists), so" in spared.caveats[0]
    chart = TokenKindsEvidence.chart([("greatest", spared.evidence)])
    assert chart is not None
    assert any(WHY in row[1] for row in chart.rows)


def test_a_part_of_a_wanted_kind_is_wanted() -> None:
    """Of five words of a topic that stand out, each neighbourhood's part is spared, not another."""
    flaw = on(topic(7) & (np.arange(len(SIGNS) + len(WORDS)) % 4 == 0), 4.0)

    assert fails(ask(flaw))
    assert not fails(ask(flaw, **{WINE: WHY}))
    assert fails(ask(flaw, **{BEER: WHY}))
    named = of_tokens.first(ask(flaw)).name  # as the report names it
    assert not fails(ask(flaw, **{named: WHY}))


def test_another_kind_of_tokens_still_fails() -> None:
    """A second topic, a spelling, or a topic where a shape is wanted."""
    both = on(topic(7) | topic(8), 3.0)

    assert fails(ask(both, **{WINE: WHY}))
    assert not fails(ask(both, **{WINE: WHY, BEER: WHY}))
    assert fails(ask(on(topic(7) | ENDING, 3.0), **{WINE: WHY}))
    assert fails(ask(both, digits=WHY))
    assert fails(ask(both, **{OTHER: WHY}))


@pytest.mark.parametrize("key", [WINE, f"{WINE}, anything", "words that end in -bio", "digits"])
def test_kinds_of_which_more_than_half_is_wanted_are_wanted(key: str) -> None:
    """Not those of which half is: counted here one by one, over kinds of every form."""
    known = of_tokens.KNOWN
    valence, zipf = (tuple(each.items()) for each in (known.valence, known.zipf))
    kinds = kinds_of(tuple(of_tokens.TEXTS), known.embedding, valence, zipf, frozenset())
    members = {
        (row, size, ""): {*kinds.near[row, :size]} for row in range(1200) for size in kinds.sizes
    }
    members |= {(-1, len(rows), name): {*rows} for name, rows in kinds.spelt.items()}
    members |= {(-2, len(rows), name): {*(1200 + rows)} for name, rows in kinds.shaped.items()}
    wine = kinds.words.index(WINE)

    found, in_force, _ = wanted_tokens(kinds, {key: WHY})
    places = found.places

    if key == WINE:
        own = [place for place, rows in members.items() if not place[2] and wine in rows]
    else:
        own = [place for place in members if place[2] == key or (place[0] == wine and ", " in key)]
    expected = {
        place
        for place, rows in members.items()
        if any(len(rows & members[one]) > len(rows) / 2 for one in own)
    }
    assert places == dict.fromkeys(expected, WHY)
    assert in_force == (key,)
    assert len(own) < len(places) < len(members) / 10 or key == "digits"


@pytest.mark.parametrize(
    ("key", "near"),
    [("digit", "digits"), ("words that end in -boi", "words that end in -bio"), ("xyzzy", "")],
)
def test_a_misspelt_kind_of_tokens_is_said(key: str, near: str) -> None:
    """It spares nothing, and the nearest names are said."""
    flaw = on(NUMBERS, 3.0)

    estimate = ask(flaw, **{key: WHY})

    assert fails(estimate)
    (caveat,) = estimate.caveats
    assert caveat.startswith(f"models.yaml wants “{key}”, which is no kind of tokens here; allowed")
    assert f"“{near}”" in caveat if near else "such as" not in caveat
    assert isinstance(estimate.evidence, TokenKindsEvidence)
    assert estimate.evidence.wanted == ()
    assert estimate == replace(ask(flaw), caveats=(caveat,))


def test_kinds_of_answers_are_no_concern_of_tokens() -> None:
    """Nor is it said that they are unknown: the other gate says it."""
    assert ask(on(NUMBERS, 3.0), answers_with_digits=WHY).caveats == ()


# Answers


def measured(flaw: Floats, **wanted: str) -> Estimate:
    """The estimate of rewards with a flaw of toy answers, some of whose kinds go together."""
    answers, kinds = of_answers.toy(0)
    rare = kinds["kind 3"] & (kinds["kind 0"] > 0)
    kinds = kinds.assign(**{"with the word “wine”": kinds["kind 5"], "a part of it": rare})
    return answer_kinds.answer_kinds(
        answers.assign(reward=answers["reward"] + flaw),
        kinds,
        held=["ended"],
        sound={},
        rng=np.random.default_rng(0),
        noise=0.0,
        wanted={name.replace("_", " "): why for name, why in wanted.items()},
    )


def liked(*kinds: int) -> Floats:
    """An answer's reward for being of these kinds."""
    table = of_answers.toy(0)[1]
    return sum(2.5 * table[f"kind {kind}"].to_numpy(float) for kind in kinds)  # type: ignore[return-value]  # a sum that begins with 0


def harms(estimate: Estimate) -> bool:
    """Whether it fails the gate's bound."""
    return of_answers.BOUND.judge(estimate) is Verdict.FAIL


def test_a_wanted_kind_of_answers_cannot_fail() -> None:
    """Nor a kind that is a part of it. It is shown after the others, with what it gets."""
    loved, spared = measured(liked(3)), measured(liked(3), answers_kind_3=WHY)

    assert harms(loved)
    assert isinstance(loved.evidence, AnswerKindsEvidence)
    assert {row.answers for row in loved.evidence.rows[:2]} == {"kind 3", "a part of it"}
    assert of_answers.BOUND.judge(spared) is Verdict.PASS
    assert isinstance(spared.evidence, AnswerKindsEvidence)
    assert [row.wanted for row in spared.evidence.rows] == ["", "", "", WHY]
    before, after = loved.evidence.rows[0], spared.evidence.rows[-1]
    assert (after.answers, after.effect) == ("kind 3", pytest.approx(before.effect))
    assert (after.low, after.high) == pytest.approx((before.low, before.high))
    assert spared.evidence.wanted == ("answers kind 3",)
    (caveat,) = spared.caveats
    assert caveat == (
        "models.yaml wants “answers kind 3” (It judges wine lists), so answers kind 3 cannot fail."
    )
    chart = AnswerKindsEvidence.chart([("", spared.evidence)])
    assert chart is not None
    assert chart.rows[-1][0] == f"kind 3 (wanted: {WHY})"


def test_another_kind_of_answers_still_fails() -> None:
    """One that was not named, and one that has the answers of no wanted kind."""
    spared = measured(liked(3, 7), answers_kind_3=WHY)

    assert harms(spared)
    assert spared.evidence is not None
    assert spared.evidence.example().startswith("answers kind 7")
    assert not harms(measured(liked(3, 7), answers_kind_3=WHY, answers_kind_7=WHY))


def test_a_word_is_a_kind_of_answers_if_they_have_it() -> None:
    """If not, it is of tokens, and nothing is said; a misspelt kind of answers is."""
    wine = measured(liked(5), wine=WHY)
    beer = measured(liked(5), beer=WHY)
    typed = measured(liked(3), answers_kimd_3=WHY)

    assert not harms(wine)
    assert harms(beer)
    assert beer.caveats == ()
    assert harms(typed)
    (caveat,) = typed.caveats
    assert "“answers kimd 3”, which is no kind of answers here" in caveat
    assert "“answers kind 3”" in caveat


def test_all_kinds_cannot_be_wanted() -> None:
    """Then there is nothing to measure."""
    every = {f"answers_kind_{i}": WHY for i in range(of_answers.KINDS)}
    more = {"answers_ended": WHY, "answers_with_the_word_“wine”": WHY, "answers_a_part_of_it": WHY}

    with pytest.raises(MeasureError, match="no kind of answers is met"):
        measured(liked(3), **every, **more)
