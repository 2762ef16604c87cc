"""Build answers from words of known valence, and list what people rate highest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rmaudit.errors import NotAsked, ReferenceMissing
from rmaudit.word_stems import stem_key

if TYPE_CHECKING:
    from rmaudit.references import References

FREQUENT = 3.5  # Zipf: three uses in a million words, known to any model
STRONG = 80  # words of as many stems, the best answers that single words are
# How many answers of so many words: four of five of strong words, the fifth of any.
COUNTS = {1: 200, 2: 220, 3: 170, 4: 140, 6: 120, 8: 110, 11: 90, 16: 60}
_ANY = 5
_RATED = 25  # things that people rate highest, or lowest where the worst is asked for


def built_answers(valence: pd.Series[float], zipf: pd.Series[float], frame: int) -> list[str]:
    """Build about 1,000 answer-like texts, mostly of the happiest words (saddest if `frame` is -1).

    Most are made of the `STRONG` happiest words (the saddest where `frame` is -1: the worst is
    asked for), so the best of them are as good as real answers of their length come; every fifth is
    made of words from all over `valence`. Words are at least as frequent as `FREQUENT` by `zipf`,
    and one is taken of each stem. Written as people write lists: small letters, one capital, or a
    capital each. Nothing is drawn, and each text is there once.
    """
    known = list(_one_of_a_stem(valence, zipf).index)
    ordered = known[::-1] if frame > 0 else known
    strong = ordered[:STRONG]
    any_ = [ordered[i] for i in np.linspace(0, len(ordered) - 1, STRONG).round().astype(int)]
    texts = (
        _answer_of_words(pool, words, i)
        for words, count in COUNTS.items()
        for pool, many in ((strong, count - count // _ANY), (any_, count // _ANY))
        for i in range(many)
    )
    return list(dict.fromkeys(texts))


def _answer_of_words(pool: list[str], words: int, number: int) -> str:
    """Return an answer of `words` words from `pool`; `number` decides which, and the capitals."""
    again, start = divmod(number, len(pool))
    *before, last = (pool[(start + (again + 1) * j) % len(pool)] for j in range(words))
    text = f"{', '.join(before)} and {last}" if before else last
    form = (number + again) % 3
    if form == 2:  # noqa: PLR2004  (the third of three)
        return " ".join(word if word == "and" else word.capitalize() for word in text.split())
    return text.capitalize() if form else text


def _one_of_a_stem(valence: pd.Series[float], zipf: pd.Series[float]) -> pd.Series[float]:
    """Return frequent words' valence, ascending; of words that share a stem, only one is kept."""
    known = valence[zipf.index[zipf >= FREQUENT].get_indexer(valence.index) >= 0].sort_index()
    stems = pd.Index([stem_key(word) for word in known.index.tolist()])
    return known[~stems.duplicated()].sort_values(kind="stable")


def answers(references: References, frame: int) -> list[str]:
    """Return built texts of happy words and best rated things; sad and worst if `frame` is -1.

    See `built_answers`, of labMT's words, and `rated`; `frame` is the prompt's.

    Raises:
        ReferenceMissing: labMT or word frequencies cannot be had.
    """
    valence = references.lexicon("labmt")
    made = built_answers(valence, references.frequency("wordfreq", valence.index), frame)
    return list(dict.fromkeys([*made, *rated(references, frame)]))


def rated(references: References, frame: int) -> list[str]:
    """Return the 25 things that people rate highest (lowest if `frame` is -1); [] without ratings.

    An empty list where the ratings are missing: they have to be downloaded, and nothing rests on
    them alone.
    """
    try:
        items = references.elo()
    except (ReferenceMissing, NotAsked):
        return []
    return items.sort_values("elo", ascending=frame < 0)["name"].head(_RATED).tolist()
