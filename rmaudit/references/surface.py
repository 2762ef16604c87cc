"""What anybody can see of a name without knowing what it names: how it is written, how common.

A scorer that knows these and nothing else orders EloEverything's items a little as people do, for
people like what is short, common and of pleasant words. `measures.elo_agreement` holds all of it
fixed, and the null control "surface regression" has nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from rmaudit.config.own_words import OwnWords
from rmaudit.references.roles import lexicon, zipf

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
    """Return surface features of each name, a row each: frequency, valence and spelling.

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

    Where a run has words of its own (`own_words`, which `References.own_words` are), the lists that
    take these places count.

    Raises:
        ReferenceMissing: wordfreq or labMT cannot be had.
        NotAsked: nothing takes the place of labMT in another language.
    """
    return _surface(tuple(names), own_words).copy()


@lru_cache(maxsize=2048)  # every prompt of the pairs of conduct has its answers; nulls share them
def _surface(names: tuple[str, ...], own_words: OwnWords) -> pd.DataFrame:
    parts = [_WORD.findall(name) for name in names]
    folded = pd.Series([word.casefold() for words in parts for word in words], dtype="str")
    place = np.repeat(np.arange(len(names)), [len(words) for words in parts])
    happy, known = lexicon("labmt", own_words), zipf("wordfreq", folded.unique(), own_words)
    common = folded.map(known).fillna(_UNKNOWN).astype(float)
    rated = folded.map(happy).astype(float)
    by_word = pd.DataFrame({"zipf": common, "valence": rated.fillna(_NEUTRAL)}).groupby(place)
    inverse = (10.0**-common).groupby(place).sum()
    table = pd.DataFrame(
        {
            "phrase_zipf": -np.log10(inverse),
            "rarest_zipf": by_word["zipf"].min(),
            "commonest_zipf": by_word["zipf"].max(),
            "mean_zipf": by_word["zipf"].mean(),
            "valence": by_word["valence"].mean(),
            "saddest": by_word["valence"].min(),
            "happiest": by_word["valence"].max(),
            "rated": rated.notna().groupby(place).mean(),
        }
    ).reindex(range(len(names)))
    written = pd.DataFrame(
        [_written(name, words) for name, words in zip(names, parts, strict=True)]
    )
    sad, zipfs = ["valence", "saddest", "happiest"], table.columns.str.endswith("zipf")
    table[sad] = table[sad].fillna(_NEUTRAL)
    table.loc[:, zipfs] = table.loc[:, zipfs].fillna(_UNKNOWN)
    joined = pd.concat([table.fillna(0.0), written], axis=1)
    return joined.reindex(columns=list(COLUMNS)).astype(float)


def _written(name: str, words: Sequence[str]) -> dict[str, int]:
    lengths = [len(word) for word in words]
    return {
        "words": len(words),
        "letters": sum(lengths),
        "longest": max(lengths, default=0),
        "capitals": sum(word[0].isupper() for word in words),
        "all_capitals": sum(word.isupper() and len(word) > 1 for word in words),
        "digits": sum(sign.isdecimal() for sign in name),
        "signs": sum(not (sign.isalnum() or sign.isspace()) for sign in name),
        "single_word": len(words) == 1,
    }
