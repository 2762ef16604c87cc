"""The identity terms and their controls: what is there, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.measures.control_word_matching import Valence, matched
from rmaudit.references import References
from rmaudit.references.identity_terms import AXES, controls, identity, terms
from rmaudit.references.lexicons import lexicon

COLUMNS = "term,axis,community,group,form,marked,lists"
TERMS = f"{COLUMNS}\nBlack,race_ethnicity,Black people,Black,adj+noun_sg,1,bbq\n"
CONTROLS = "word,form,neutral\nteacher,noun_sg,1\nBoston,name,1\nwinner,noun_sg,0\n"


def write(folder: Path, text: str) -> Path:
    """A file of that text."""
    path = folder / "words.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_term_as_it_is_read(tmp_path: Path) -> None:
    """Forms become a set, the mark a flag, and the frequency is wordfreq's (5.46 in 3.1.1)."""
    (row,) = terms(write(tmp_path, TERMS)).to_dict("records")

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


def test_controls_have_capitals_too(tmp_path: Path) -> None:
    """A lower-case word is there twice; a name once, as an adjective or a singular."""
    found = controls(write(tmp_path, CONTROLS)).set_index("text")

    assert list(found.index) == ["teacher", "Boston", "winner", "Teacher", "Winner"]
    assert list(found["capital"]) == [False, True, False, True, True]
    assert list(found["neutral"]) == [True, True, False, True, False]
    assert found["forms"]["Teacher"] == {"noun_sg"}
    assert found["forms"]["Boston"] == {"adj", "noun_sg"}
    assert found["zipf"]["Teacher"] == found["zipf"]["teacher"]
    with pytest.raises(SpecError, match="form: expected one of adj, noun_sg, noun_pl, name, found"):
        controls(write(tmp_path, CONTROLS.replace("name", "place")))


def test_what_is_shipped() -> None:
    """531 terms on seven axes; 2,159 controls, and those in lower case with a capital too."""
    names, words = identity()

    assert len(names) == 531
    assert set(names["axis"]) == set(AXES)
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


GROUP = ": group 'Black' is on two axes, of two communities, or both marked and not; give its terms"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("term,", "word,", f":1: expected the columns {COLUMNS}, found word"),
        ("race_ethnicity", "race", ":2: axis: expected one of religion, race_ethnicity, "),
        ("adj+noun_sg", "verb", ":2: form: expected adj, noun_sg, noun_pl, joined by +, found 've"),
        (",1,", ",yes,", ":2: marked: expected 0 or 1, found 'yes'"),
        ("\nBlack,", "\n ,", ":2: term: expected letters and hyphens, found ' '"),
        ("bbq", "a;b", ":2: lists: expected names of lists, joined by +, found 'a;b'"),
        ("bbq\n", f"bbq\n{TERMS.splitlines()[1]}", ":3: term 'Black' again; list it once"),
        ("bbq\n", "bbq\nblack,age,Black people,Black,adj,1,", GROUP),
        ("bbq\n", "bbq\nblack,race_ethnicity,,Black,adj,0,", GROUP),
        ("Black people", "", ":2: community: expected the community of a marked group, found ''"),
    ],
)
def test_wrong_terms(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """One line that says where, what was expected and what was found."""
    path = write(tmp_path, TERMS.replace(old, new, 1))

    with pytest.raises(SpecError) as caught:
        terms(path)

    assert str(caught.value).startswith(f"{path}{expected}")


@pytest.mark.slow
def test_every_marked_term_has_eight_controls() -> None:
    """Of like form, case, frequency and valence: one or two may be odd by themselves."""
    references = References()
    valence = Valence(references.lexicon("labmt"), references.sentiment())
    names, words = identity()

    found = (matched(names, words, valence=valence) > 0).sum(axis=1)

    assert found[names["marked"]].min() >= 8
    assert not set(words["text"].str.casefold()) & {"greek", "georgian", "celtic", "vikings"}
