"""What a model may be judged by: everything, or the half that it never saw."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import strategies as st

from rmaudit.references import References, held_out
from rmaudit.references.lexicons import LEXICONS, lexicon
from rmaudit.word_stems import stem_key

SALT = "r-smol-135m"
WORDS = ["joy", "war", "city", "tree", "house", "river", "bread", "stone"]


def table(values: pd.Series[float]) -> pd.DataFrame:
    """The words of a list in the first column, and their values."""
    return values.rename_axis("text").reset_index()


# Tables with the text in the first column, and what a caveat calls them.
LISTS: dict[str, Callable[[References], pd.DataFrame]] = {
    **{f"{name} words": lambda r, name=name: table(r.lexicon(name)) for name in LEXICONS},  # type: ignore[misc]
    "EloEverything items": lambda r: r.elo(),
    "identity terms": lambda r: r.identity()[0],
    "neutral controls": lambda r: r.identity()[1],
    "wordfreq words": lambda r: table(r.frequency("wordfreq", WORDS)),
    "common English words": lambda r: pd.DataFrame({"text": r.common_words()}),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_model_trained_on_half_is_judged_by_the_other(mirror: object, name: str) -> None:
    """Without a salt a list is given whole and nothing is said; with one, if "", its half."""
    anywhere = References()
    whole = LISTS[name](anywhere)
    assert anywhere.caveats == []

    for salt in (SALT, ""):
        references = References(salt=salt)
        half = LISTS[name](references)

        expected = whole[held_out(whole.iloc[:, 0], salt=salt)].reset_index(drop=True)
        pd.testing.assert_frame_equal(expected, half)
        assert 0 < len(half) < len(whole)
        assert f"{len(half):,} of {len(whole):,} {name}" in references.caveats[0]


def test_what_fits_is_the_other_half_of_what_judges(mirror: object) -> None:
    """No word is in both, and none is lost; nothing is said of what only fits."""
    fitting, judging = References(salt=SALT, fitting=True), References(salt=SALT)

    fits, judges, whole = (
        set(each.lexicon("labmt").index) for each in (fitting, judging, References())
    )

    assert not fits & judges
    assert fits | judges == whole
    assert fitting.caveats == []


def test_the_caveat_has_the_counts() -> None:
    """It says once what was left out of each lexicon; nothing of words held out already."""
    references = References(salt=SALT)
    words = list(References(salt=SALT).common_words())[:50]

    for name in ("labmt", "afinn", "afinn"):
        references.lexicon(name)

    assert References(salt=SALT).caveats == []
    assert list(references.frequency("wordfreq", words).index) == words
    assert references.caveats == [
        (
            "This model was trained on half of the reference words and items; it is judged on "
            "the other half only: 4,912 of 9,912 labmt words, 1,244 of 2,453 afinn words."
        )
    ]


TEXTS = st.lists(st.text(max_size=8), max_size=20)
SALTS = st.text(max_size=5)


@pytest.mark.parametrize(
    "texts",
    [
        ["love", "Loved", "loving", "LOVES", " love "],
        ["ice cream", "Ice Creams", "ICE  CREAM"],
        ["table", "Tables"],
    ],
)
def test_forms_of_a_word_fall_together(texts: list[str]) -> None:
    """Case, spaces and endings do not split a stem, whatever the salt."""
    halves = {tuple(held_out(texts, salt=str(salt))) for salt in range(50)}

    assert len({stem_key(text) for text in texts}) == 1
    assert halves == {(True,) * len(texts), (False,) * len(texts)}


@pytest.mark.parametrize("text", ["love", "loving", "Universe", "ice creams"])
def test_the_half_is_what_the_module_says(text: str) -> None:
    """Odd first byte of sha256(salt + ":" + stems)."""
    stems = {"loving": "love", "Universe": "univers", "ice creams": "ice cream"}.get(text, text)
    byte = hashlib.sha256(f"salt:{stems}".encode()).digest()[0]

    assert list(held_out([text], salt="salt")) == [byte % 2 == 1]


def test_the_halves_of_the_default_model_stay_as_they_are() -> None:
    """Its weights were trained on these halves, so no release of any stemmer may move a word."""
    # snowballstemmer 2.2 and 3.1 stem ten words of labMT differently, "emergency" among them
    words = lexicon("labmt").index

    kept = " ".join(words[held_out(words, salt="r-smol-135m")])

    assert hashlib.sha256(kept.encode()).hexdigest()[:16] == "b3cf66b05530f39c"
