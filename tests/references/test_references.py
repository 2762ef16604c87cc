"""What a model may be judged by: everything, or the half that it never saw."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from rmaudit.references import References
from rmaudit.references.held_out_words import held_out
from rmaudit.references.lexicons import LEXICONS

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


def test_the_caveat_has_the_counts() -> None:
    """The caveat says once what was left out of each lexicon that this audit uses."""
    references = References(salt=SALT)

    for name in ("labmt", "afinn", "afinn"):
        references.lexicon(name)

    assert References(salt=SALT).caveats == []
    assert references.caveats == [
        (
            "This model was trained on half of the reference words and items; it is judged on "
            "the other half only: 4,912 of 9,912 labmt words, 1,244 of 2,453 afinn words."
        )
    ]


def test_words_that_are_held_out_already_need_no_caveat() -> None:
    """It would say that all of them were given."""
    references = References(salt="salt")
    words = list(references.common_words())[:50]
    before = references.caveats

    assert list(references.frequency("wordfreq", words).index) == words
    assert references.caveats == before
