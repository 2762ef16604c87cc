"""Look up how frequent words are, as Zipf frequencies: the log10 of uses in a billion words.

- `wordfreq`: many kinds of text up to 2021, from Zipf 1.01 up (Speer 2022, wordfreq 3.1.1).
- `leech`: the British National Corpus, whole counts per million, so from Zipf 3 up (Leech, Rayson
  and Wilson 2001, list 1.1): the list of Christian et al. 2025, §3.3. The paper matched tokens
  with its head words only, which have no "best" or "loves"; here every form counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import pandas as pd

from rmaudit.errors import ReferenceMissing, SpecError
from rmaudit.references.sources import locate
from rmaudit.word_stems import ENGLISH, listed

LISTS = ("wordfreq", "leech")
_HEADER = ["", "Word", "PoS", "", "Freq", "Ra", "Disp"]
_COMMON = 1e-6  # of all words
_FORM = "@"  # in the place of the word: a form of the head word above
_UNCERTAIN = "#&"  # marks glued to a number


def zipf(name: str, words: Iterable[str], language: str = ENGLISH) -> pd.Series[float]:
    """Return Zipf frequencies of those of `words` that the list `name` ("wordfreq", "leech") has.

    Of lower-case, alphabetic words only, without words that the list lacks; indexed by word, unique
    and sorted. `language` is a code of wordfreq's; leech is English.

    Raises:
        SpecError: there is no such list (`LISTS`), or the file is not as it was published.
        ReferenceMissing: it cannot be had.
    """
    if name not in LISTS:
        message = f"unknown frequency list {name!r}; known: {', '.join(LISTS)}"
        raise SpecError(message)
    uses, per = (_wordfreq_shares(language), 9) if name == "wordfreq" else (_leech_counts(), 3)
    known = sorted(word for word in set(listed(words)) if uses.get(word) and word.isalpha())
    values = [math.log10(uses[word]) + per for word in known]
    return pd.Series(values, index=pd.Index(known, dtype="str"), dtype=float, name=name)


@lru_cache(maxsize=2)
def common(language: str = ENGLISH) -> pd.Index[str]:
    """Return alphabetic words with at least one use per million words (Zipf 3 by wordfreq), sorted.

    Raises:
        ReferenceMissing: it cannot be had.
    """
    words = [
        word
        for word, share in _wordfreq_shares(language).items()
        if share >= _COMMON and word.isalpha()
    ]
    return pd.Index(sorted(words), dtype="str", name="wordfreq")


def _wordfreq_shares(language: str) -> dict[str, float]:
    try:
        import wordfreq
    except ImportError:
        message = "wordfreq: the package 'wordfreq' is not installed"
        raise ReferenceMissing(message, command="pip install wordfreq==3.1.1") from None
    return wordfreq.get_frequency_dict(language, "best")  # spelt as wordfreq does: it is cached so


@lru_cache(maxsize=1)
def _leech_counts() -> dict[str, int]:
    """Return the uses per million of each lower-case word in the BNC, over all parts of speech.

    A head word that its forms follow is their sum and left out. Of "pole/Pole" either is meant, a
    star marks a form that is counted with care; eleven rows lack the tab in front.
    """
    path = locate("leech")
    header, *lines = path.read_text(encoding="latin-1").splitlines()
    if header.split("\t") != _HEADER:
        raise SpecError(f"{path}:1: expected the columns {_HEADER}, found {header!r}")
    rows = [line.removeprefix("\t").split("\t") for line in lines]
    counts: Counter[str] = Counter()
    for line, (row, below) in enumerate(pairwise([*rows, [""]]), start=2):
        if len(row) == 3 and row[2].startswith("[see "):  # noqa: PLR2004  (a cross reference)
            continue
        freq = row[3].rstrip(_UNCERTAIN) if len(row) == 6 else ""  # noqa: PLR2004
        if not freq.isdecimal():
            found = "\t".join(row)
            message = f"{path}:{line}: expected a word, four fields and a number, found {found!r}"
            raise SpecError(message)
        form = row[2] if row[0] == _FORM else row[0]
        if row[0] != _FORM and below[0] == _FORM:
            continue
        for spelt in {part.strip(" *").lower() for part in form.split("/")}:
            counts[spelt] += int(freq)
    return counts
