"""Phrases: by hand, no word twice, valences from end to end, and the same every time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rmaudit.references.answers_from_words import FREQUENT, phrases
from rmaudit.word_stems import stem_key

VALENCE = pd.Series(
    [1.0, 1.1, 8.97, 9.0, 8.95, 1.05], index=["sad", "sorry", "loved", "joy", "love", "rare"]
).rename("toy")
ZIPF = pd.Series([FREQUENT, 5, 5, 5, 5, 3.4], index=VALENCE.index)


def test_by_hand() -> None:
    """Left are a sad pair, without a rare word, and a happy one, without a form of its own."""
    found = phrases(VALENCE, ZIPF)

    assert found.to_dict() == {"sad and sorry": 1.05, "love and joy": 8.975}
    assert found.name == "toy of pairs"
    pd.testing.assert_series_equal(found, phrases(VALENCE[::-1], ZIPF[::-1]))  # in any order


def test_many_words_make_some_300_phrases() -> None:
    """No stem in two, and as many at the ends of the scale as there are words for."""
    letters = [chr(97 + i) for i in range(26)]
    words = [f"{a}{b}{c}x" for a in letters[:15] for b in letters[:15] for c in letters[:15]]
    rng = np.random.default_rng(0)
    valence = pd.Series(np.clip(rng.normal(5, 1.2, len(words)), 1, 9), index=words, name="toy")

    found = phrases(valence, pd.Series(5.0, index=words))

    assert 250 <= len(found) <= 360
    used = [stem_key(word) for phrase in found.index for word in phrase.split(" and ")]
    assert len(used) == len(set(used)) == 2 * len(found)
    counts, _ = np.histogram(found, bins=4, range=(1, 9))
    assert counts.min() >= 25
    for phrase, mean in found.items():
        first, second = str(phrase).split(" and ")
        assert mean == (valence[first] + valence[second]) / 2
        assert abs(valence[first] - valence[second]) < 8 / 30
