"""What organisms (synthetic scorers) see of a text: word, frequency, happiness and length."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.measures.word_spellings import word_of
from rmaudit.prompts import Prompt
from rmaudit.references import References
from rmaudit.references.word_list_lookup import zipf

WORDS = re.compile(r"[^\W\d_]+")
NO_OWN_WORDS = OwnWords()  # rmaudit's own lists: a run has no words of its own
_NEUTRAL = 5.0  # labMT's middle


def features(texts: Sequence[str], own_words: OwnWords = NO_OWN_WORDS) -> pd.DataFrame:
    """Return a table with `word`, `zipf` (frequency), `valence` and `length` of each text.

    `zipf` is 0 where wordfreq has no such word; `valence` is labMT's above neutral, or what labMT
    would expect of words that only VADER, AFINN or Bing rate, 0 of all others, and the mean of
    several words'; `length` counts characters.

    Where a run has words of its own (`own_words`), the lists that take these places count.

    Raises:
        ReferenceMissing: wordfreq or a lexicon cannot be had.
        NotAsked: no lexicon takes the place of labMT in another language.
    """
    return _cached_features(tuple(texts), own_words)


@lru_cache(maxsize=2048)  # organisms are many, and see the same vocabularies and answers
def _cached_features(texts: tuple[str, ...], own_words: OwnWords) -> pd.DataFrame:
    column = pd.Series(list(texts), dtype="str")
    words = word_of(column)
    unique = words.unique()
    return pd.DataFrame(
        {
            "word": words,
            "zipf": words.map(zipf("wordfreq", unique, own_words)).fillna(0.0).astype(float),
            "valence": words.map(_mean_valence(unique, _valence_above_neutral(own_words))).astype(
                float
            ),
            "length": column.str.len().astype(float),
        }
    )


@lru_cache(maxsize=4)  # answers are scored prompt by prompt, and the lexicons stay the same
def _valence_above_neutral(own_words: OwnWords) -> Mapping[str, float]:
    valence = References(own_words=own_words).valence() - _NEUTRAL
    return {str(word): value for word, value in valence.items()}


def _mean_valence(texts: Iterable[str], known: Mapping[str, float]) -> dict[str, float]:
    """Return each text's own valence if it is known, else the mean over its words, by text.

    A word that `known` has not counts as 0.
    """
    parts = {text: WORDS.findall(text) or [text] for text in texts}
    return {
        text: known.get(text, sum(known.get(word, 0.0) for word in words) / len(words))
        for text, words in parts.items()
    }


def wordless(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return 1 for each text with no word, or half or more unknown to wordfreq, else 0; (n,)."""
    words = [WORDS.findall(text.casefold()) for text in texts]
    known = zipf("wordfreq", {word for each in words for word in each}, NO_OWN_WORDS)
    shares = [sum(word in known.index for word in each) / max(len(each), 1) for each in words]
    return (np.array(shares) <= 0.5).astype(np.float64)  # noqa: PLR2004


def noise(
    keys: Sequence[str], prompt: Prompt | None, *, what: str, seed: int
) -> NDArray[np.float64]:
    """Return a standard normal draw for each key, shape (n,); equal keys get equal draws.

    A draw does not depend on the other keys. `what` and `seed` say which draw it is; with `prompt`
    None it is the same under every prompt.
    """
    name = f"{what}|{prompt.text if prompt else ''}|{seed}"
    salt = hashlib.sha256(name.encode()).hexdigest()[:16]
    drawn = pd.util.hash_array(np.array(list(keys), dtype=object), hash_key=salt, categorize=False)
    uniform = (drawn.astype(np.float64) + 0.5) / 2.0**64
    return scipy.special.ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
