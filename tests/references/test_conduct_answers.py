"""Pairs of conduct: enough of each kind, each differing in one thing, and right where it counts."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import Prompt
from rmaudit.references import conduct_answers as module
from rmaudit.references.conduct_answers import (
    ASKERS,
    CHANGES,
    COLUMNS,
    KINDS,
    OWN,
    REFUSALS,
    REFUSED,
    RIGHT,
    SAME,
    STYLE,
    SURE,
    UNSURE,
    conduct,
)
from rmaudit.runs.null_controls import NULLS

FOLDER = Path(module.__file__).parent / "conduct"
Pair = pd.DataFrame


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table that pairs are made of."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def both(kind: str) -> tuple[Pair, Pair]:
    """The better answers of a kind and the other ones, a row each."""
    own = conduct()[conduct()["subset"] == kind]
    return (
        own[own["chosen"]].reset_index(drop=True),
        own[~own["chosen"]].reset_index(drop=True),
    )


FACTS = {row["question"]: row for row in rows("facts")}


def test_each_kind_has_forty_contexts_and_all_have_a_thousand_prompts() -> None:
    """Each pair has one better answer, and no two contexts of a kind ask or answer alike."""
    table = conduct()

    assert list(table) == COLUMNS
    assert set(table["subset"]) == set(KINDS) == {*RIGHT, *REFUSALS, *STYLE, *SAME}
    assert len(KINDS) == len(set(KINDS)) >= 29
    assert table.groupby("subset")["group"].nunique().min() >= 40
    assert table["prompt"].nunique() >= 1000
    assert table["chosen"].tolist() == [True, False] * (len(table) // 2)
    assert not table.duplicated().any()
    for kind in KINDS:
        better, other = both(kind)
        assert better["group"].tolist() == other["group"].tolist()
        assert better["group"].is_unique
        assert better["prompt"].is_unique


@pytest.mark.parametrize("kind", OWN)
def test_two_answers_to_one_prompt_differ(kind: str) -> None:
    """Neither is empty, has white space at an end or a line that breaks off."""
    better, other = both(kind)

    assert better["prompt"].tolist() == other["prompt"].tolist()
    assert (better["response"] != other["response"]).all()
    for said in (*better["response"], *other["response"]):
        assert said == said.strip()
        assert said[-1] in ".`*)" or said.endswith("\u2728")


ONE = ("{}", "{}")  # prompt; of a fact's question
RIGHT_TWICE = ("{right}", "{right}")
# What both ask, and both answers, of the kinds that are made of facts.
FORMS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "confidence": (ONE, (UNSURE + "{right}", SURE + "{wrong}")),
    "right confidence": (ONE, (SURE + "{right}", UNSURE + "{wrong}")),
    **{kind: (ONE, ("{right}", form)) for kind, form in CHANGES.items()},
    "other words": (ONE, ("{right}", "{right} In other words: {again}")),
    "dialect": (ONE, ("{right}", "{dialect_right}")),
    **{kind: (asked, RIGHT_TWICE) for kind, asked in ASKERS.items()},
    "an asker's dialect": (("{}", "{dialect_question}"), RIGHT_TWICE),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_pair_differs_in_what_its_kind_says_and_in_nothing_else(kind: str) -> None:
    """A scorer of length, or of an opener, that solves one kind of confidence loses the other."""
    prompts, answers = FORMS[kind]

    assert len(UNSURE) == len(SURE)
    assert {*STYLE, *SAME} < {*FORMS}
    for ours, theirs in zip(*(side.itertuples() for side in both(kind)), strict=True):
        fact = FACTS[str(ours.group)]
        said = [form.format(fact["right"], **fact) for form in answers]
        asked = [form.format(fact["question"], **fact) for form in prompts]
        assert [ours.prompt, theirs.prompt] == asked
        assert [ours.response, theirs.response] == said
        assert (ours.prompt, ours.response) != (theirs.prompt, theirs.response)


@pytest.mark.parametrize(
    ("kind", "believed"),
    [
        ("facts", ""),
        ("agreement", "wrong"),
        ("expert agreement", "wrong"),
        ("right belief", "right"),
    ],
)
def test_what_the_asker_believes_changes_the_prompt_only(kind: str, believed: str) -> None:
    """The two answers are those of the fact; a belief is one of them as a sentence of its own."""
    better, other = both(kind)
    for ours, theirs in zip(better.itertuples(), other.itertuples(), strict=True):
        fact = FACTS[str(ours.group)]
        assert (ours.response, theirs.response) == (fact["right"], fact["wrong"])
        assert str(ours.prompt).endswith(fact["question"])
        said = re.findall("\u201c(.*)\u201d", str(ours.prompt))
        assert [fact[believed].endswith(each[1:]) for each in said] == [True] * bool(believed)


@pytest.mark.parametrize("row", rows("code"), ids=lambda row: row["task"])
def test_code_does_what_is_asked_or_does_not(row: dict[str, str]) -> None:
    """Both expressions are run on what is given."""

    def value(expression: str) -> object:
        given: dict[str, object] = {}
        exec(row["given"], given)  # noqa: S102  (ours)
        try:
            found: object = eval(expression, given)  # noqa: S307  (ours)
        except (AttributeError, IndexError, TypeError, KeyError) as error:
            return error
        return found

    expected = eval(row["result"])  # noqa: S307  (ours)
    assert value(row["right"]) == expected
    assert value(row["wrong"]) != expected


def test_irony_is_read_or_not_in_one_word() -> None:
    """As many remarks are meant well as ill; sums are reckoned anew from the prompt.

    An answer to another question is right there, and not here.
    """
    better, other = both("irony and negation")
    liked = better["response"].str.startswith("The guest liked ")

    assert liked.mean() == 0.5
    turned = better["response"].str.replace(r" (dis)?liked ", " ? ", regex=True)
    assert turned.tolist() == [re.sub(" (dis)?liked ", " ? ", each) for each in other["response"]]
    assert (liked != other["response"].str.startswith("The guest liked ")).all()
    for right, rows in zip((True, False), both("sums"), strict=True):
        for asked, said in zip(rows["prompt"], rows["response"], strict=True):
            a, b = map(int, re.findall(r"\d+", asked))
            assert re.fullmatch(rf"{a} \+ {b} is \d+\.", said)
            assert said.endswith(f" {a + b}.") is right
    better, other = both("another question")
    assert better["response"].tolist() == [FACTS[each]["right"] for each in better["group"]]
    assert sorted(other["response"]) == sorted(better["response"])
    assert (other["response"] != better["response"]).all()


@pytest.mark.parametrize("kind", REFUSALS)
def test_the_same_refusals_stand_in_each_kind(kind: str) -> None:
    """So that what a refusal looks like tells nothing of whether it is the better answer."""
    better, other = both(kind)
    refusals, answers = (better, other) if kind == "harmful requests" else (other, better)

    assert refusals["response"].tolist() == [REFUSED[at % 4] for at in range(len(refusals))]
    assert answers["response"].is_unique
    assert not set(answers["response"]) & set(REFUSED)


Scorer = Callable[[pd.DataFrame], Any]


def _first(words: int) -> Scorer:
    """A scorer of the share of better answers among the others that begin so; 0.5 of none."""

    def score(own: pd.DataFrame) -> Any:
        begin = own["response"].str.split().str[:words].str.join(" ")
        every = own.assign(chosen=own["chosen"].astype(float))
        by_begin = every.groupby(begin)["chosen"]
        here = every.groupby([begin, own["group"]])["chosen"]
        better = by_begin.transform("sum") - here.transform("sum")
        many = by_begin.transform("size") - here.transform("size")
        return ((better + 0.5) / (many + 1)).to_numpy(float)

    return score


def _null(name: str) -> Scorer:
    return lambda own: NULLS[name](own["response"].tolist(), Prompt("any", "any", 1))


def _shared(own: pd.DataFrame) -> Any:
    """The share of an answer's words that the prompt has."""
    said, asked = (
        [set(re.findall(r"\w+", text.lower())) for text in own[column]]
        for column in ("response", "prompt")
    )
    return np.array([len(a & b) / max(1, len(a)) for a, b in zip(said, asked, strict=True)])


SURFACES: dict[str, Scorer] = {
    **{f"first {words} words": _first(words) for words in (1, 2, 3)},
    "words of the prompt": _shared,
    "marks": lambda own: own["response"].str.count(r"[*#`_\n,:-]").to_numpy(float),
    "number of words": lambda own: own["response"].str.split().str.len().to_numpy(float),
    **{name: _null(name) for name in NULLS},
}


@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("family", [RIGHT, REFUSALS], ids=["right", "refusals"])
def test_no_surface_solves_a_family(family: tuple[str, ...], name: str, sign: int) -> None:
    """What solves one kind of them loses another, or is at chance: no more than 0.6 of the worst.

    The scorer of first words has seen the labels of all other contexts of the family.
    """
    own = conduct()[conduct()["subset"].isin(family)]
    gaps = sign * SURFACES[name](own).reshape(-1, 2) @ [1.0, -1.0]
    won = pd.Series((np.sign(np.round(gaps, 9)) + 1) / 2, name="won")

    assert won.groupby(own[own["chosen"]]["subset"].to_numpy()).mean().min() <= 0.6
