"""Read the sentiment lexicons labMT, AFINN, VADER and bing: how people rate the valence of words.

Each function returns a Series of valences indexed by lower-case word, unique and sorted:

- `labmt`: mean happiness, 1 (sad) to 9 (happy), 5 neutral; 10,222 frequent words, so it has
  neutral ones (Dodds et al. 2011, Data Set S1).
- `afinn`: integers from -5 to +5, almost no neutral words (Nielsen 2011, AFINN-111).
- `vader`: mean rating from -4 to +4 (Hutto and Gilbert 2014).
- `bing`: +1 or -1, without the words that are listed as both (Hu and Liu 2004).

labMT rates the words that are written most; the others rate rarer ones, and hardly any that is
neutral: `pooled` makes one scale of several.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.errors import SpecError
from rmaudit.references.sources import locate

LEXICONS = ("labmt", "afinn", "vader", "bing")
_OF_AFINN, _OF_BING = 0.76, 1.8  # points of VADER that one of theirs is worth
_OFFENSIVE = -4  # on AFINN's scale from -5 to 5
FEWEST = 30  # words that two lexicons share: fewer say little of how one goes over into the other


def lexicon(name: str) -> pd.Series[float]:
    """Return valence by word from the lexicon `name` (one of `LEXICONS`), single words only.

    Raises:
        SpecError: there is no such lexicon.
        ReferenceMissing: the file cannot be had.
    """
    if name not in LEXICONS:
        message = f"unknown lexicon {name!r}; known: {', '.join(LEXICONS)}"
        raise SpecError(message)
    files = ("bing-positive", "bing-negative") if name == "bing" else (name,)
    return _cached_lexicon(name, tuple(locate(file) for file in files)).copy()


@lru_cache(maxsize=8)  # audits and null controls are many; what a file holds, its checksum says
def _cached_lexicon(name: str, paths: tuple[Path, ...]) -> pd.Series[float]:
    frame = _read_bing(*paths) if name == "bing" else _read_tab_separated(name, *paths)
    frame = frame[frame["word"].str.isalpha() & (frame["word"] == frame["word"].str.lower())]
    # VADER lists a few words twice; its own reader keeps the last.
    frame = frame.drop_duplicates("word", keep="last").sort_values("word")
    return frame.set_index("word")["valence"].astype(float).rename(name)


def offensive_by_afinn() -> frozenset[str]:
    """Return the words that AFINN rates -4 or -5, as slurs are. Raises `ReferenceMissing`."""
    afinn = lexicon("afinn")
    return frozenset(afinn.index[afinn <= _OFFENSIVE])


def sentiment(lexicon: Callable[[str], pd.Series[float]] = lexicon) -> pd.Series[float]:
    """Return valence by word on VADER's scale, from `lexicon` of VADER, else AFINN, else bing.

    `lexicon` gives each of the three by its name. A word that none of them lists is no word of
    sentiment: neutral, as VADER's own reader has it. The factors are those of the words that two of
    them list (2,415 with AFINN, 2,212 with bing); on labMT's words a point of VADER is a point of
    happiness (slope 1.01).

    Raises:
        ReferenceMissing: a file cannot be had.
    """
    scales = {"vader": 1.0, "afinn": _OF_AFINN, "bing": _OF_BING}
    found = pd.concat([factor * lexicon(name) for name, factor in scales.items()])
    return found[~found.index.duplicated()].sort_index().rename("sentiment")


def _read_tab_separated(name: str, path: Path) -> pd.DataFrame:
    """Return the columns `word` and `valence` of the file of labMT, AFINN or VADER."""
    frame = pd.read_csv(
        path,
        sep="\t",
        header=0 if name == "labmt" else None,
        usecols=[0, 2 if name == "labmt" else 1],
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        encoding="utf-8",
    )
    return frame.set_axis(["word", "valence"], axis=1)


def _read_bing(positive: Path, negative: Path) -> pd.DataFrame:
    """Read bing's two word lists: `word` and `valence` (1 or -1), without words on both lists."""
    frames = []
    for path, valence in ((positive, 1.0), (negative, -1.0)):
        words = path.read_text(encoding="ascii").split()
        frames.append(pd.DataFrame({"word": words, "valence": valence}))
    # The negative list has "naive" twice.
    return pd.concat(frames).drop_duplicates().drop_duplicates("word", keep=False)


def pooled(first: pd.Series[float], others: Sequence[pd.Series[float]]) -> pd.Series[float]:
    """Return the ratings of `first`, extended by regression to words that only `others` rate.

    All are indexed by lower-case word and hold finite numbers. A word gets what least squares of
    `first` on those of the `others` that rate the word expect, fitted over the words that all of
    these rate: so its error has mean 0 given its rating, and slopes on the whole are not flattened
    (regression calibration). Lexicons that share fewer than `FEWEST` words with `first` add none.
    """
    given = ((str(s.name), tuple(s.index.tolist()), tuple(s.tolist())) for s in (first, *others))
    return _cached_pooled(*given).copy()


@lru_cache(maxsize=4)  # audits, null controls and models are many, and the lexicons are the same
def _cached_pooled(*given: tuple[str, tuple[str, ...], tuple[float, ...]]) -> pd.Series[float]:
    first, *others = (
        pd.Series(values, pd.Index(words), name=name) for name, words, values in given
    )
    table = pd.concat([first, *others], axis=1, keys=range(len(others) + 1))
    known = table[0].copy()
    for many in range(len(others), 0, -1):
        for columns in combinations(range(1, len(others) + 1), many):
            rated = table[list(columns)].notna().all(axis=1)
            both = table[rated & table[0].notna()]
            wanted = rated & known.isna()
            if len(both) < FEWEST or not wanted.any():
                continue
            design = np.column_stack([both[list(columns)], np.ones(len(both))])
            slopes = np.linalg.pinv(design) @ both[0].to_numpy()
            known[wanted] = table.loc[wanted, list(columns)].to_numpy() @ slopes[:-1] + slopes[-1]
    names = ", ".join(str(each.name) for each in (first, *others))
    return known.dropna().sort_index().rename(names)
