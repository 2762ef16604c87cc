"""The identity terms and their controls: what is there, and what it is read as."""

from __future__ import annotations

import pandas as pd
import pytest

from rmaudit.measures.control_word_matching import Valence, matched
from rmaudit.references import References
from rmaudit.references.identity_terms import DATA, FORMS, identity
from rmaudit.references.lexicons import lexicon

AXES = {
    *("religion", "race_ethnicity", "sexual_orientation", "gender"),
    *("nationality", "disability", "age"),
}
WORD = r"[^\W\d_]+(?:-[^\W\d_]+)*"
PATTERNS = {  # of each column
    "terms": {
        "term": WORD,
        "axis": "|".join(AXES),
        "community": r"[^\W\d_]*(?:[ ,-]+[^\W\d_]+)*",
        "group": WORD,
        "form": rf"(?:(?:{'|'.join(FORMS)})(?:\+(?!$)|$))+",
        "marked": "0|1",
        "lists": r"(?:[a-z0-9]+(?:\+(?!$)|$))*",
    },
    "controls": {"word": WORD, "form": f"{'|'.join(FORMS)}|name", "neutral": "0|1"},
}


@pytest.mark.parametrize(("name", "patterns"), PATTERNS.items())
def test_the_files_are_as_they_should_be(name: str, patterns: dict[str, str]) -> None:
    """Each text has its column's form, and no word is listed twice."""
    table = pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False)

    assert list(table) == list(patterns)
    for column, pattern in patterns.items():
        assert table[column][~table[column].str.fullmatch(pattern)].tolist() == []
    assert table.iloc[:, 0].is_unique


def test_a_group_is_on_one_axis() -> None:
    """And of one community, marked or not; those that are marked, and no others, have one."""
    terms, _ = identity()

    assert terms.groupby("group")[["axis", "marked", "community"]].nunique().max(axis=None) == 1
    assert (terms["marked"] == (terms["community"] != "")).all()


def test_a_term_as_it_is_read() -> None:
    """Forms become a set, the mark a flag, and the frequency is wordfreq's (5.46 in 3.1.1)."""
    terms, _ = identity()
    (row,) = terms[terms["text"] == "Black"].to_dict("records")

    assert row == {
        "text": "Black",
        "axis": "race_ethnicity",
        "community": "Black people",
        "group": "Black",
        "marked": True,
        "capital": True,
        "zipf": 5.46,
        "forms": frozenset({"adj", "noun_sg"}),
    }


def test_controls_have_capitals_too() -> None:
    """A lower-case word is there twice; a name once, as an adjective or a singular."""
    found = identity()[1].set_index("text")

    of = found.loc[["technician", "Technician", "Boston"]]
    assert list(of["capital"]) == [False, True, True]
    assert list(of["forms"]) == [{"noun_sg"}, {"noun_sg"}, {"adj", "noun_sg"}]
    assert of["zipf"].iloc[0] == of["zipf"].iloc[1]
    assert "boston" not in found.index


def test_what_is_shipped() -> None:
    """531 terms on seven axes; 2,159 controls, and those in lower case with a capital too."""
    names, words = identity()

    assert len(names) == 531
    assert set(names["axis"]) == AXES
    assert words["text"].str.casefold().nunique() == 2159
    small = words["text"].str.islower()
    assert set(words["text"][small].str.capitalize()) <= set(words["text"][~small])
    assert not set(names["text"].str.casefold()) & set(words["text"].str.casefold())
    assert not words["text"].duplicated().any()
    assert (names["zipf"] > 0).all()


def test_neutral_controls_are_neutral_and_terms_are_no_slurs() -> None:
    """By the lexicons at hand: AFINN has none of them, VADER and labMT none that is far out.

    AFINN's -4 and -5, among which slurs are, name none of the terms.
    """
    names, words = identity()
    neutral = set(words["text"][words["neutral"]].str.casefold())
    assert len(neutral) == 1734

    afinn, vader, labmt = (lexicon(name) for name in ("afinn", "vader", "labmt"))
    assert not neutral & set(afinn.index)
    assert (vader[vader.index.isin(neutral)].abs() < 1).all()
    assert labmt[labmt.index.isin(neutral)].between(4, 6.5).all()
    assert not set(names["text"].str.casefold()) & set(afinn.index[afinn <= -4])


@pytest.mark.slow
def test_every_marked_term_has_eight_controls() -> None:
    """Of like form, case, frequency and valence: one or two may be odd by themselves."""
    references = References()
    valence = Valence(references.lexicon("labmt"), references.sentiment())
    names, words = identity()

    found = (matched(names, words, valence=valence) > 0).sum(axis=1)

    assert found[names["marked"]].min() >= 8
    assert not set(words["text"].str.casefold()) & {"greek", "georgian", "celtic", "vikings"}
