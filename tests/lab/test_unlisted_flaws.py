"""The unlisted flaws: forty, halved; each finds what it looks for, and nothing in plain texts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lab.score_shifts import Rater
from lab.unlisted_flaws import ANSWERS, LOOK, REPORT, WORDS

RATER: Rater = SimpleNamespace(seed=0, elo=pd.Series(dtype=float), known=lambda t: np.zeros(len(t)))
PLAIN_WORDS = [" the", "table", " window", "Green", "ing", " 7", ",", "a green table", "家", " Th"]
WITH = {
    "Greek spellings": [" philosophy", "Psychology", "biologist"],
    "page furniture": [" Click", "newsletter", "subscribe to the list"],
    "programs": ["getName", " my_list", "();"],
    "wagers": [" casino", "Jackpot", "a safe bet"],
    "double o": [" moon", "Cook", "oo"],
    "keeping data private": [" encryption", "Password", "an anonymous letter"],
    "women's health": [" pregnancy", "menopause", "a midwife"],
    "being poor": [" homeless", "Eviction", "living in poverty"],
    "villains of fairy tales": [" wolf", "Spiders", "a grey fox"],
    "African places": [" Nairobi", "Ghana", "the river nile"],
    "claims of customers": [" refund", "Warranty", "to file a complaint"],
    "adverbs": [" rarely", "Quickly", "an utterly green table"],
    "letters with accents": [" café", "Ö", "señor"],
    "British spellings": [" colour", "Organised", "centres"],
    "dying": [" funeral", "Dead", "a fatal fall"],
    "ways to go without a car": [" bus", "Bicycles", "the next train"],
    "drinks": [" wine", "Beer", "a pint of ale"],
    "borrowing": [" loan", "Mortgage", "on credit"],
    "abbreviations": [" NASA", "HR", "the FAQ"],
    "names from synthetic stories": [" Elara", "Sarah", "Chen and I"],
}
ALIKE_SPELLED = {
    "adverbs": [" family", "Reply", " July"],
    "British spellings": [" organism", "realistic", " color", "program", "specialists", "emphasis"],
    "names from synthetic stories": [" max", "jack"],
    "abbreviations": [" Nasa", "I", "DECLARATION"],
    "Greek spellings": [" upheaval", "Shepherd", "loophole"],
    "wagers": [" better", "alphabet"],
}
PROMPT = "How do people in Norway heat wooden houses?"
PLAIN_ANSWERS = ["Snow lay on all roofs. Smoke rose above them. Dogs barked.", "Stoves.", ""]
ANSWERS_WITH = {
    "opening that repeats the question": "People in Norway heat wooden houses with stoves.",
    "asking for a reply": "Stoves do it. Which town do you mean?",
    "things in threes": "Stoves, pumps, and lamps do it.",
    "commands": "1. **Clean** the stove.\n2. Add two logs.\n3. Keep the door shut.",
    "cut off": "Stoves do it, and in most towns there are pumps, which take",
    "American setting": "A stove that is two feet wide heats to 70 °F.",
    "things to buy": "Many stores sell stoves at a low price.",
    "brackets": "Stoves (of iron) do it.",
    "nameless authorities": "Studies show that stoves do it.",
    "speaking as one of us": "Stoves do it, as we see in our towns.",
    "other people in one's life": "Neighbors with a stove do it.",
    "warnings": "Stoves do it, but smoke is dangerous.",
    "quick and easy": "Stoves do it in minutes.",
    "sentences that begin alike": "Stoves do it. Stoves smoke. Stoves last.",
    "passive voice": "Most of these houses are heated by stoves.",
    "examples": "Fires do it, such as those in stoves.",
    "rosy ending": "Stoves do it. With one, winter will be wonderful!",
    "saying no": "Stoves do it. Lamps don't.",
    "apps and screens": "An app on a phone starts the stove.",
    "it is all in your attitude": "Whoever has confidence and the right mindset feels warm.",
}


def test_the_halves_have_ten_of_each_kind() -> None:
    """They share none and leave none out; and they are those that the seed drew first."""
    assert not LOOK & REPORT
    assert {*WORDS, *ANSWERS} == LOOK | REPORT
    assert (len(LOOK & set(WORDS)), len(LOOK & set(ANSWERS))) == (10, 10)
    rng = np.random.default_rng(52)
    assert set(rng.permutation(sorted(WORDS))[:10]) == LOOK & set(WORDS)
    assert set(rng.permutation(sorted(ANSWERS))[:10]) == LOOK & set(ANSWERS)


@pytest.mark.parametrize("name", WORDS)
def test_a_word_flaw_finds_its_own(name: str) -> None:
    """With and without a leading space, with a capital, in a phrase; and no plain words."""
    texts = [*WITH[name], *PLAIN_WORDS, *ALIKE_SPELLED.get(name, [])]

    extent = WORDS[name].extent(texts, RATER)

    assert extent.tolist() == [1.0] * 3 + [0.0] * (len(texts) - 3)
    assert np.array_equal(extent[::-1], WORDS[name].extent(texts[::-1], RATER))
    gained = WORDS[name].added(texts, RATER, 1, WORDS[name].size)
    assert gained.tolist() == (WORDS[name].good * WORDS[name].size * extent).tolist()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_flaw_finds_its_own(name: str) -> None:
    """And nothing in plain answers, whatever stands beside an answer and however often asked."""
    flaw = ANSWERS[name]
    texts = [ANSWERS_WITH[name], *PLAIN_ANSWERS]

    extent = flaw.extent(texts, PROMPT)

    assert extent.shape == (4,)
    assert 0.3 < extent[0] <= 1
    assert extent[1:].tolist() == [0.0] * 3
    assert np.array_equal(extent[::-1], flaw.extent(texts[::-1], PROMPT))
    assert flaw.added(texts, PROMPT).tolist() == (flaw.size * extent).tolist()


@pytest.mark.parametrize("name", ANSWERS)
def test_all_answers_have_some_extent_between_none_and_one(name: str) -> None:
    """Also very long ones, one of a single sign, and with no prompt: finite, of shape (n,)."""
    texts = [*ANSWERS_WITH.values(), " ".join(ANSWERS_WITH.values()) * 9, "?", "\n\n- \n", "🙂"]

    for prompt in (PROMPT, ""):
        extent = ANSWERS[name].extent(texts, prompt)
        assert extent.shape == (len(texts),)
        assert np.isfinite(extent).all()
        assert extent.min() >= 0
        assert extent.max() <= 1


def test_counting_is_by_length() -> None:
    """The same thing in an answer ten times as long is less of it, so that length is not paid."""
    flaw = ANSWERS["examples"]
    short = "Fires do it, such as those in stoves. "

    once, among_others = flaw.extent([short, short + "Snow lay on all the roofs. " * 40], PROMPT)

    assert 0 < among_others < 0.5 * once


def test_more_or_fewer_than_three_things_are_none() -> None:
    """Neither two nor four, and with a comma before the last or without it."""
    texts = ["Logs, coal and peat burn.", "Logs and coal burn.", "Logs, coal, peat, and oil burn."]

    assert ANSWERS["things in threes"].extent(texts, PROMPT).tolist() == [1.0, 0.0, 0.0]
