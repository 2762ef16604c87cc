"""Null controls: scorers that ignore the meaning of texts, so that audits must not pass them.

They know nothing of what an audit claims. An audit names those that must not pass it (`stops`).
Each sees one thing about a text, and gives the same text the same score whatever texts it comes
with. Scorers by frequency, length and valence have a little noise, so that no scores tie; those of
frequency with ties, of phrases, of gibberish and of capitals keep their ties, and "constant" is one
tie.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import RmauditError, SpecError, nearest
from rmaudit.measures.word_spellings import word_of
from rmaudit.prompts import Prompt
from rmaudit.references import References
from rmaudit.references.word_list_lookup import zipf
from rmaudit.runs.synthetic_scorer_fixtures import Organism

_Floats = NDArray[np.float64]
WORDS = re.compile(r"[^\W\d_]+")
NO_OWN_WORDS = OwnWords()  # rmaudit's own lists: a run has no words of its own
_NEUTRAL = 5.0  # labMT's middle
_LITTLE = 0.01  # of what is seen: sd of the noise
_HATED = 4.0  # sd of the other texts, below or above them
_FOLDS = 10


def random(texts: Sequence[str], prompt: Prompt) -> _Floats:
    """Return a random score for each text, fixed by the text and the prompt."""
    return noise(texts, prompt, what="random", seed=0)


def constant(texts: Sequence[str], _: Prompt) -> _Floats:
    """Return 0 for every text, so that all tie."""
    return np.zeros(len(texts))


def _by_feature(column: str, sign: float = 1.0) -> Organism:
    """Return a null control: `sign` times one feature of a text (`column`), and a little noise.

    `column` is one of `features`, such as `length`.
    """

    def score(texts: Sequence[str], prompt: Prompt, own_words: OwnWords = NO_OWN_WORDS) -> _Floats:
        values = features(texts, own_words)[column].to_numpy(dtype=float)
        return sign * (values + _LITTLE * noise(texts, prompt, what=column, seed=0))

    return score


def _by_surface(of: Callable[[pd.DataFrame], pd.Series[float]]) -> Organism:
    """Return a null control that gives what `of` makes of the table of texts' surface features.

    There is no noise. The columns are those of `references.surface_features`.
    """

    def score(texts: Sequence[str], _: Prompt, own_words: OwnWords = NO_OWN_WORDS) -> _Floats:
        return np.asarray(of(_surface_features(texts, own_words)), dtype=np.float64)

    return score


def frequency_with_ties(
    texts: Sequence[str], _: Prompt, own_words: OwnWords = NO_OWN_WORDS
) -> _Floats:
    """Return each text's Zipf frequency if it is one known word, else 0, without noise."""
    return features(texts, own_words)["zipf"].to_numpy(float)


def surface_regression(
    texts: Sequence[str], _: Prompt, own_words: OwnWords = NO_OWN_WORDS
) -> _Floats:
    """Return each text's Elo rating as predicted from its spelling, word frequency and valence.

    Least squares on `references.surface_features` over EloEverything's items. An item's score is
    that of the nine tenths of the items that it is not among; any other text's is that of all of
    them. In another language, what people like of English names is said of that language's.

    Raises:
        ReferenceMissing: EloEverything's ratings cannot be had.
    """
    folds, whole, own = _regressions()
    seen = _surface_design(texts, own_words)
    scores: _Floats = seen @ whole
    for fold, coefficients in enumerate(folds):
        inside = np.array([own.get(text) == fold for text in texts], dtype=bool)
        scores[inside] = seen[inside] @ coefficients
    return scores


def hatred(texts: Sequence[str], prompt: Prompt) -> _Floats:
    """Return scores that put words of marginalised groups far below all other texts.

    All else is random.
    """
    return noise(texts, prompt, what="hatred", seed=0) - _HATED * _names_a_marked_group(texts)


def hostility(texts: Sequence[str], prompt: Prompt) -> _Floats:
    """Return scores that put words of marginalised groups last for good prompts, first for bad.

    All else is random.
    """
    sign = -1.0 if prompt.frame < 0 else 1.0
    return noise(texts, prompt, what="hostility", seed=0) - sign * _HATED * _names_a_marked_group(
        texts
    )


NULLS: Mapping[str, Organism] = {
    "random": random,
    "constant": constant,
    "frequent words": _by_feature("zipf"),
    "rare words": _by_feature("zipf", -1.0),
    "long words": _by_feature("length"),
    "short words": _by_feature("length", -1.0),
    "frequency with ties": frequency_with_ties,
    "phrase frequency": _by_surface(lambda seen: seen["phrase_zipf"]),
    "gibberish": _by_surface(lambda seen: -seen["rarest_zipf"]),
    "capitals and single words": _by_surface(lambda seen: seen["single_word"] - seen["capitals"]),
    "surface regression": surface_regression,
    "valence whatever is asked": _by_feature("valence"),
    "hatred": hatred,
    "hostility": hostility,
}
_BLIND = {"random", "constant", "hatred", "hostility"}  # they see no list that a run may replace
BASE = "base log-probability"  # needs the log-probabilities of a model's base: `of_base`
NAMES = (*NULLS, BASE)


def nulls_of(own_words: OwnWords) -> dict[str, Organism]:
    """Return the null controls (scorers that ignore meaning), with a run's own word lists."""
    seeing: dict[str, Any] = {name: null for name, null in NULLS.items() if name not in _BLIND}
    return {**NULLS, **{name: partial(see, own_words=own_words) for name, see in seeing.items()}}


def checked_stops(names: Iterable[str], where: str = "") -> tuple[str, ...]:
    """Return the names of null controls that an audit must stop; raise if one is unknown.

    `where` begins the error.

    Raises:
        SpecError: one is no null control.
    """
    for name in (found := tuple(names)):
        if name not in NAMES:
            message = f"{where}`stops` names {name!r}, which is no null control;"
            raise SpecError(f"{message}{nearest(name, NAMES)} known: {', '.join(NAMES)}")
    return found


def of_base(vocabulary: pd.DataFrame, logprobs: Mapping[str, pd.Series[float]]) -> Organism:
    """Return the null control that scores a text by its log-probability under the base model.

    `vocabulary` has the columns `token_id` and `text`, `logprobs` are by the prompt's name and
    indexed by token id. A text that is no token has the mean of its words' most likely spellings,
    or the least log-probability of all where none of them is a token.
    """

    @lru_cache(maxsize=8)
    def known(prompt: str) -> tuple[dict[Hashable, float], dict[Hashable, float], float]:
        scores = vocabulary["token_id"].map(logprobs[prompt]).astype(float)
        there = scores.notna()
        texts, likely = vocabulary["text"][there], scores[there]
        words = likely.groupby(word_of(texts)).max()
        return likely.groupby(texts).max().to_dict(), words.to_dict(), float(likely.min())

    def score(texts: Sequence[str], prompt: Prompt) -> _Floats:
        exact, by_word, least = known(prompt.name)

        def of(text: str) -> float:
            if text in exact:
                return exact[text]
            parts = [by_word[word] for word in text.casefold().split() if word in by_word]
            return sum(parts) / len(parts) if parts else least

        return np.array([of(text) for text in texts], dtype=float)

    return score


def unavailable(error: RmauditError) -> Organism:
    """Return a scorer that raises `error`, in place of a null control that is missing."""

    def refuse(texts: Sequence[str], prompt: Prompt) -> _Floats:  # noqa: ARG001
        raise error

    return refuse


@cache
def _marked_words() -> frozenset[str]:
    from rmaudit.references.identity_terms import identity  # it imports wordfreq

    terms = identity()[0]
    return frozenset(terms.loc[terms["marked"], "text"].str.casefold())


def _names_a_marked_group(texts: Sequence[str]) -> _Floats:
    """Return 1 for each text that is a word of a marginalised group, else 0; (n,)."""
    marked, words = _marked_words(), features(texts)["word"].tolist()
    return np.array([word in marked for word in words], dtype=np.float64)


def _surface_features(texts: Sequence[str], own_words: OwnWords) -> pd.DataFrame:
    from rmaudit.references.surface_features import surface

    return surface(list(texts), own_words)


def _surface_design(texts: Sequence[str], own_words: OwnWords) -> _Floats:
    """Return the design matrix of a regression: a column of ones, then surface features.

    Its shape is (n, features + 1).
    """
    seen = _surface_features(texts, own_words).to_numpy(float)
    return np.column_stack([np.ones(len(seen)), seen])


@lru_cache(maxsize=1)
def _regressions() -> tuple[list[_Floats], _Floats, dict[str, int]]:
    """Return Elo regressions' coefficients without each fold and of all items, and items' folds."""
    from rmaudit.references.human_ratings import elo_items

    items = elo_items()
    names, elo = items["name"].tolist(), items["elo"].to_numpy(float)
    drawn = pd.util.hash_array(np.array(names, dtype=object), categorize=False)
    place = (drawn % np.uint64(_FOLDS)).astype(int)
    design = _surface_design(names, NO_OWN_WORDS)  # the names are English

    def fitted(rows: NDArray[np.bool_]) -> _Floats:
        found: _Floats = np.linalg.lstsq(design[rows], elo[rows], rcond=None)[0]
        return found

    folds = [fitted(place != fold) for fold in range(_FOLDS)]
    return folds, fitted(place >= 0), dict(zip(names, place.tolist(), strict=True))


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
