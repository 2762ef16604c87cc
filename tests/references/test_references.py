"""What a model may be judged by: everything, or the half that it never saw."""

from __future__ import annotations

import pandas as pd
import pytest

from rmaudit.references import References
from rmaudit.references.held_out_words import held_out
from rmaudit.references.human_ratings import elo_items
from rmaudit.references.lexicons import LEXICONS, lexicon

SALT = "r-smol-135m"


@pytest.mark.parametrize("name", LEXICONS)
def test_a_model_trained_on_half_of_a_lexicon_is_judged_by_the_other(name: str) -> None:
    """Without a salt a lexicon is given whole and nothing is said; with one, if "", a half."""
    whole, references = lexicon(name), References()

    pd.testing.assert_series_equal(whole, references.lexicon(name))
    assert references.caveats == []
    for salt in (SALT, ""):
        half = References(salt=salt).lexicon(name)
        pd.testing.assert_series_equal(whole[held_out(whole.index, salt=salt)], half)


@pytest.mark.usefixtures("mirror")
def test_a_model_trained_on_half_of_the_items_is_judged_by_the_others() -> None:
    """The held-out items come with their ratings, numbered from 0; without a salt all come."""
    whole = elo_items()
    pd.testing.assert_frame_equal(whole, References().elo())

    references = References(salt=SALT)
    given = references.elo()

    expected = whole[held_out(whole["name"], salt=SALT)].reset_index(drop=True)
    pd.testing.assert_frame_equal(expected, given)
    caveat = (
        "This model was trained on half of the reference words and items; it is judged on "
        f"the other half only: {len(expected):,} of 7,530 EloEverything items."
    )
    assert references.caveats == [caveat]


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
