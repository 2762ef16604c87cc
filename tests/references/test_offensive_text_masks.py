"""Masks: few words here, one for each way in which a word is met, and the words that must stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.references import offensive_text_masks
from rmaudit.references.identity_terms import identity
from rmaudit.references.offensive_text_masks import label, mask, masked
from rmaudit.references.offensive_word_lists import english
from rmaudit.word_stems import ENGLISH, stem


@pytest.mark.parametrize(
    "text",
    [
        *("shit", "Shit", "\uff53\uff48\uff49\uff54"),  # on the list; in full width
        *(" shit", "Ġshit", "▁shit", "shitĊ", "shit's", "_shit_"),  # as vocabularies write it
        *("shitted", "boobs", "groping", "orgies"),  # inflected
        *("BigTits", "bullshitting", "a-shit-b"),  # in a compound
        *("$h!t", "sh1t", "b1tch3s", "SH1T", "$H!T", "shiiiiit"),  # spelt to hide
        *("you piece of shit!", "The porn's here."),  # in a text
        *("jelly donut", "JELLY DONUT"),  # a phrase
        *("raped", "rapists", "molesting"),  # violent
        "Sexual fetishism",  # plain words that lists lack
        "scumbag",  # AFINN's
        *("Chinks", "a groomer"),  # slurs that lists miss
        *(" fagg", " nig"),  # the beginning of one, a token by itself
        *("Arschloch", "ебать", "这是强奸犯", "🖕"),  # other languages
    ],
)
def test_masked(text: str) -> None:
    """Every way in which a listed word is met."""
    assert masked(text)


@pytest.mark.parametrize(
    "text",
    [
        *("pussycat", "Dick", " Hooker", "Homo", "Japan", "custard", "amed", "ische", "Nig"),
        *("Scunthorpe", "therapist", "Essex", "grape", "skill", "cocktail", "raccoon", "analysis"),
        *("assume", "class", "button", "spices", "spiced", "Pakistan", "finger", "butte", "wrist"),
        *("mutta", "cerveja", " escorted", "Cummings", "petits"),  # of other languages, and names
        *("sexual orientation", "asexual", "prickly", "vibration", "rapping", "snigger"),
        *("wistful", "Penistone", "canal", "titled"),
        *("killed", "murderers", "genocidal", "tortured"),  # plain words of violence
        *("got", "it", "sh", "ass0", "as", "love", "Hell", "fraud", "death", "", " ", "\n", "123"),
        *("\ud800", "\x00", "日本", "中", "it's", "B5", "👍"),
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    """What holds a listed word by chance is shown, and so are fragments and signs."""
    assert not masked(text)


def test_people_are_no_slurs() -> None:
    """No term that names people is masked, in any case or number, nor after a space."""
    terms, _ = identity()

    hidden = [t for t in terms["text"] if masked(t) or masked(f" {t.upper()}") or masked(f"Ġ{t}")]
    assert hidden == []
    others = ("gay Jews and Muslims", "Müslüman", "ユダヤ人", "lésbica")  # which lists have
    assert [text for text in others if masked(text)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("shit", "s•••"),
        ("ĠShit", "S•••"),
        (" a very long one", "a•••"),
        ("a", "a•••"),
        ("$h!t", "••••"),
        ("强奸", "••••"),  # one character may be the whole word
        ("", "••••"),
        ("\ud800", "••••"),
    ],
)
def test_mask(text: str, shown: str) -> None:
    """The first letter of a script with capitals, and nothing of the length."""
    assert mask(text) == shown


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Ġfaggots", "slur (gender)"),
        ("Pakis", "slur (ethnic)"),
        (" retarded", "slur (disability)"),
        ("BULLSHITTING", "swear word"),
        ("f*ck", "swear word"),
        ("raped", "sexual violence"),
        ("BigTits", "sexual word"),
        ("jelly donut", "sexual word"),
        ("ебать", "listed word"),
    ],
)
def test_a_label_says_what_kind_of_word_is_masked(text: str, kind: str) -> None:
    """So that masks can be told apart, and none gives a letter away."""
    assert masked(text)
    assert label(text) == kind


@given(st.data(), st.sampled_from(["", "e", "t", *offensive_text_masks._ENDINGS]))
def test_the_quick_look_at_how_a_word_begins_changes_no_answer(
    data: st.DataObject, ending: str
) -> None:
    """Of beginnings of listed words with endings: as if each of them was stemmed."""
    listed = data.draw(st.sampled_from(sorted(english())))
    word = listed[: data.draw(st.integers(1, len(listed)))] + ending
    roots = offensive_text_masks._listed_words_by_stem().get(stem(word, ENGLISH), ())
    plainly = any(len(word) >= len(root) and word.startswith(root[:-1]) for root in roots)

    ends = word.endswith(offensive_text_masks._ENDINGS)
    assert offensive_text_masks._is_inflected(word) == (ends and plainly)


@given(st.text())
def test_any_text_has_a_mask(text: str) -> None:
    """Four characters, of which the text gives one at most."""
    masked(text)

    assert len(mask(text)) == 4
    assert mask(text)[1:] == "•••"
