"""Compute surface features of an item's name: its spelling, and how common and pleasant it is.

A scorer that knows these and nothing else orders EloEverything's items a little as people do, for
people like what is short, common and of pleasant words. `measures.elo_agreement` holds all of it
fixed, and the null control "surface regression" has nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import pandas as pd

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.references.word_list_lookup import lexicon, zipf

COLUMNS = (
    *("phrase_zipf", "rarest_zipf", "commonest_zipf", "mean_zipf"),
    *("valence", "saddest", "happiest", "rated"),
    *("words", "letters", "longest", "capitals", "all_capitals", "digits", "signs", "single_word"),
)
_WORD = re.compile(r"[^\W\d_]+")
_NEUTRAL = 5.0  # labMT's middle
_OURS = OwnWords()
_UNKNOWN = 0.0  # Zipf of a word that wordfreq has not; its rarest has 1.01


def surface(names: Sequence[str], own_words: OwnWords = _OURS) -> pd.DataFrame:
    """Return a table of surface features, a row for each name: frequency, valence and spelling.

    The rows are in the order of the names, the columns are `COLUMNS`, all finite.

    - `phrase_zipf`: log10 of how often the whole name would be met, by the harmonic mean of its
      words' frequencies, as wordfreq reckons phrases; `rarest_zipf`, `commonest_zipf` and
      `mean_zipf` of its words. A word that wordfreq lacks has 0.
    - `valence`: mean happiness (labMT, 1 to 9) of its words, `saddest` and `happiest` the least and
      greatest; a word that labMT lacks, and a name without words, is neutral. `rated`: the share
      of its words that labMT has.
    - `words` (runs of letters), `letters`, `longest` (letters of the longest word), `capitals`
      (words that begin with one), `all_capitals` (words of nothing else, of two letters or more),
      `digits`, `signs` (what is neither letter, digit nor space), `single_word` (1 or 0).

    Where a run has words of its own (`own_words`), the lists that replace wordfreq or labMT are
    used.

    Raises:
        ReferenceMissing: wordfreq or labMT cannot be had.
        NotAsked: nothing takes the place of labMT in another language.
    """
    return _cached_surface(tuple(names), own_words).copy()


@lru_cache(maxsize=2048)  # every prompt of the pairs of conduct has its answers; nulls share them
def _cached_surface(names: tuple[str, ...], own_words: OwnWords) -> pd.DataFrame:
    parts = [_WORD.findall(name) for name in names]
    words = {word.casefold() for each in parts for word in each}
    common = {str(word): value for word, value in zipf("wordfreq", words, own_words).items()}
    happy = _happiness_by_word(own_words)
    rows = [
        (*_frequency_and_valence(each, common, happy), *_spelling_counts(name, each))
        for name, each in zip(names, parts, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=float)


@lru_cache(maxsize=4)
def _happiness_by_word(own_words: OwnWords) -> dict[str, float]:
    return {str(word): value for word, value in lexicon("labmt", own_words).items()}


def _frequency_and_valence(
    words: Sequence[str], common: Mapping[str, float], happy: Mapping[str, float]
) -> tuple[float, ...]:
    """Return the first eight of `COLUMNS` (frequency and valence) for a name with these words."""
    if not words:
        return (*[_UNKNOWN] * 4, *[_NEUTRAL] * 3, 0.0)
    folded = [word.casefold() for word in words]
    zipfs = [common.get(word, _UNKNOWN) for word in folded]
    valences = [happy.get(word, _NEUTRAL) for word in folded]
    whole = -math.log10(math.fsum(10.0**-each for each in zipfs))
    rated = sum(word in happy for word in folded) / len(words)
    return (
        *(whole, min(zipfs), max(zipfs), math.fsum(zipfs) / len(words)),
        *(math.fsum(valences) / len(words), min(valences), max(valences), rated),
    )


def _spelling_counts(name: str, words: Sequence[str]) -> tuple[int, ...]:
    """Return the last eight of `COLUMNS` (spelling) for an item's name, split into `words`."""
    lengths = [len(word) for word in words]
    return (
        *(len(words), sum(lengths), max(lengths, default=0)),
        sum(word[0].isupper() for word in words),
        sum(word.isupper() and len(word) > 1 for word in words),
        sum(sign.isdecimal() for sign in name),
        sum(not (sign.isalnum() or sign.isspace()) for sign in name),
        len(words) == 1,
    )
