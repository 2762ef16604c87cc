"""Pairs of conduct: enough of each kind, each differing in one thing, and right where it counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import Prompt
from rmaudit.references.conduct_answers import (
    AGREES,
    ASKERS,
    CHANGES,
    COLUMNS,
    CONTEXTS,
    DIALECT,
    DISAGREES,
    HEEDING,
    INFORMING,
    KINDS,
    LISTED,
    LONG,
    OWN,
    REFUSALS,
    RIGHT,
    SAME,
    STYLE,
    SURE,
    UNSURE,
    changed,
    conduct,
)
from rmaudit.references.written_contexts import claims, words
from rmaudit.runs.null_controls import NULLS

Pair = pd.DataFrame
CLAIMS = {each.name: each for each in claims()}


def both(kind: str) -> tuple[Pair, Pair]:
    """The better answers of a kind and the other ones, a row each."""
    own = conduct()[conduct()["subset"] == kind]
    return (
        own[own["chosen"]].reset_index(drop=True),
        own[~own["chosen"]].reset_index(drop=True),
    )


def test_kinds_have_the_contexts_that_their_gates_need() -> None:
    """Each pair has one better answer, and no two contexts of a kind ask alike."""
    table = conduct()
    contexts = table.groupby("subset")["group"].nunique()

    assert list(table) == COLUMNS
    assert set(table["subset"]) == set(KINDS) == {*RIGHT, *REFUSALS, *HEEDING, *STYLE, *SAME}
    assert len(KINDS) == len(set(KINDS))
    assert contexts[[*RIGHT, *REFUSALS]].unique() == [CONTEXTS] == [200]
    assert contexts[[*HEEDING, DIALECT, SAME[-1]]].min() >= INFORMING == 60
    assert contexts[[*CHANGES, LISTED, *ASKERS]].min() == INFORMING
    assert len(table[["prompt", "turns"]].drop_duplicates()) >= 1000
    assert table["chosen"].tolist() == [True, False] * (len(table) // 2)
    assert not table.duplicated().any()
    for kind in KINDS:
        better, other = both(kind)
        assert better["group"].tolist() == other["group"].tolist()
        assert better["group"].is_unique
        assert not better.duplicated(["prompt", "turns"]).any()


def test_answers_are_as_long_as_policies_write_them() -> None:
    """Short ones, and ones of some hundred words."""
    table = conduct()
    truth = table[table["subset"].isin(RIGHT[:4])]["response"].map(words)

    assert truth.quantile(0.1) <= 50
    assert truth.median() >= 80
    assert truth.quantile(0.9) >= 180


@pytest.mark.parametrize("kind", OWN)
def test_two_answers_to_one_prompt_differ(kind: str) -> None:
    """Neither is empty or has white space at an end."""
    better, other = both(kind)

    for column in ("prompt", "turns"):
        assert better[column].tolist() == other[column].tolist()
    assert (better["response"] != other["response"]).all()
    for said in (*better["response"], *other["response"]):
        assert said == said.strip() != ""


TWO = ("{right}", "{wrong}")
RIGHT_TWICE = ("{right}", "{right}")
FORMS: dict[str, tuple[str, str]] = {  # both answers, of the kinds that are made of claims
    **dict.fromkeys(("short answers", "long answers", "later turns"), TWO),
    "agreement": ("{no}{right}", "{yes}{wrong}"),
    "right belief": ("{yes}{right}", "{no}{wrong}"),
    "confidence": ("{unsure}{right}", "{sure}{wrong}"),
    "right confidence": ("{sure}{right}", "{unsure}{wrong}"),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_pair_differs_in_what_its_kind_says_and_in_nothing_else(kind: str) -> None:
    """Openers take turns, and each stands in a mirrored kind as well."""
    openers = {"yes": AGREES, "no": DISAGREES, "sure": SURE, "unsure": UNSURE}
    seen = set()
    for at, (ours, theirs) in enumerate(
        zip(*(side.itertuples() for side in both(kind)), strict=True)
    ):
        claim = CLAIMS[str(ours.group)]
        said = {side: claim.answer(getattr(claim, side)) for side in ("right", "wrong")}
        for form, row in zip(FORMS[kind], (ours, theirs), strict=True):
            response = str(row.response)
            for name, of in openers.items():
                if "{" + name + "}" in form:
                    opener = of[at % len(of)]
                    seen.add(opener)
                    assert response.startswith(opener)
                    response = response.removeprefix(opener).lstrip()
            assert response == said[re.findall("{(right|wrong)}", form)[0]]
    assert len(seen) in {0, 8}


@pytest.mark.parametrize("kind", ["agreement", "right belief"])
def test_what_the_asker_believes_stands_before_the_question(kind: str) -> None:
    """In the user's last turn, whatever came before."""
    for row in both(kind)[0].itertuples():
        claim = CLAIMS[str(row.group)]
        belief = claim.thinks_wrong if kind == "agreement" else claim.thinks_right
        ask = claim.asked if isinstance(claim.asked, str) else claim.asked[-1][1]
        assert str(row.prompt).endswith(f"{belief} {ask}")
        assert (row.turns == "") == isinstance(claim.asked, str)


def test_long_answers_are_laid_out_in_two_ways() -> None:
    """The same sentences, as paragraphs and as lists under headings."""
    plain, listed = both("long answers"), both("headings and lists")

    for one, other in zip(plain, listed, strict=True):
        assert one["group"].tolist() == other["group"].tolist()
        assert one["response"].map(words).min() > LONG - 10  # the wrong answer may be shorter
        for text, markdown in zip(one["response"], other["response"], strict=True):
            assert re.search("(?m)^## .+\n\n- ", markdown)
            bare = re.sub("(?m)^## .+$|^- ", "", markdown)
            assert bare.split() == text.split()
    assert both("short answers")[0]["response"].map(words).max() <= LONG


def test_sums_are_reckoned_anew() -> None:
    """Right there, and not here; an answer to another question is the right one of that."""
    for right, rows in zip((True, False), both("sums"), strict=True):
        for asked, said in zip(rows["prompt"], rows["response"], strict=True):
            a, b = map(int, re.findall(r"\d+", asked))
            assert re.fullmatch(rf"{a} \+ {b} is \d+\.", said)
            assert said.endswith(f" {a + b}.") is right
    right_answers = {each.answer(each.right): each.name for each in claims()}
    better, other = both("another question")
    assert [right_answers[each] for each in better["response"]] == better["group"].tolist()
    assert (other["response"].map(right_answers) != better["group"]).all()


def test_style_adds_to_an_answer_or_lays_it_out_in_another_way() -> None:
    """The plain answer stands as it is in it; askers differ in what they say of themselves."""
    for kind, change in CHANGES.items():
        plain, other = both(kind)
        for text, styled in zip(plain["response"], other["response"], strict=True):
            assert styled == changed(text, kind)
            if kind == "bold":
                assert styled.replace("**", "") == text
                assert all(each[:2] == each[-2:] == "**" for each in styled.split("\n\n"))
            else:
                assert styled == change.format(text)
    for kind, (one, other) in ASKERS.items():
        plain, asked = both(kind)
        assert plain["response"].tolist() == asked["response"].tolist()
        assert plain["prompt"].str.startswith(one).all()
        assert [other + each.removeprefix(one) for each in plain["prompt"]] == asked[
            "prompt"
        ].tolist()


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


def _words_and_pairs(text: str) -> set[str]:
    own = re.findall(r"[\w']+", text.lower())
    return {*own, *map(" ".join, pairwise(own))}


def _by_words(kind: str, seed: int) -> float:
    """The share that weights of words and pairs of words, learned from four fifths, decide."""
    texts = [side["response"] for side in both(kind)]
    words_of = [[_words_and_pairs(text) for text in side] for side in texts]
    known = {word: at for at, word in enumerate(sorted(set().union(*words_of[0], *words_of[1])))}
    more = np.zeros((len(texts[0]), len(known)))
    for sign, side in zip((1, -1), words_of, strict=True):
        for row, own in zip(more, side, strict=True):
            row[[known[word] for word in own]] += sign
    fold = np.random.default_rng(seed).permutation(len(more)) % 5
    won: list[float] = []
    for each in range(5):
        seen, new = more[fold != each], more[fold == each]
        gaps = (
            new @ seen.T @ np.linalg.solve(seen @ seen.T + 3 * np.eye(len(seen)), [1] * len(seen))
        )
        won.extend((np.sign(np.round(gaps, 9)) + 1) / 2)
    return float(np.mean(won))


@pytest.mark.parametrize("kind", [*RIGHT[:4], "sums", "system prompts", "earlier turns"])
def test_words_do_not_tell_which_answer_is_better(kind: str) -> None:
    """Of kinds without a mirror: words seen in other contexts decide at most 0.65 of them."""
    assert np.mean([_by_words(kind, seed) for seed in range(5)]) <= 0.65
