"""What can be seen of a name: counted by hand, finite whatever the name is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.references.lexicons import lexicon
from rmaudit.references.surface_features import COLUMNS, surface
from rmaudit.references.word_frequency import zipf


def test_counted_by_hand() -> None:
    """Words, letters, capitals and signs; one row a name, in their order, names twice too."""
    names = ["USB stick (3.0)", "love", "", "love"]
    table = surface(names)

    assert list(table.columns) == list(COLUMNS)
    columns = ["words", "letters", "longest", "capitals", "all_capitals", "digits", "signs"]
    assert table[columns].to_numpy().tolist() == [
        [2, 8, 5, 1, 1, 2, 3],
        [1, 4, 4, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [1, 4, 4, 0, 0, 0, 0],
    ]
    assert table["single_word"].tolist() == [0, 1, 0, 1]
    assert table.iloc[1].tolist() == table.iloc[3].tolist()


def test_frequency_and_valence_of_the_words() -> None:
    """A phrase is met as often as the harmonic mean of its words has it; unknown is neutral."""
    happy, common = lexicon("labmt"), zipf("wordfreq", ["love", "murder"])
    table = surface(["Love murder Qxqx", "love", "murder love", "Qxqx"])

    assert table.loc[1, "phrase_zipf"] == pytest.approx(common["love"])
    both = -math.log10(10 ** -common["love"] + 10 ** -common["murder"])
    assert table.loc[2, "phrase_zipf"] == pytest.approx(both)
    assert table.loc[2, "rarest_zipf"] == common.min()
    assert table.loc[2, "commonest_zipf"] == common.max()
    assert table.loc[0, "rarest_zipf"] == 0
    mean = (happy["love"] + happy["murder"] + 5) / 3
    assert table.loc[0, "valence"] == pytest.approx(mean)
    assert table.loc[0, "rated"] == pytest.approx(2 / 3)
    assert table[["saddest", "happiest"]].to_numpy()[0].tolist() == [happy["murder"], happy["love"]]
    assert table[["valence", "rated"]].to_numpy()[3].tolist() == [5, 0]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_always_finite(names: list[str]) -> None:
    """Any text is a name; what is handed out can be changed without harm."""
    table = surface(names)

    assert table.shape == (len(names), len(COLUMNS))
    assert np.isfinite(table.to_numpy()).all()
    table.loc[:, :] = np.nan
    assert np.isfinite(surface(names).to_numpy()).all()
