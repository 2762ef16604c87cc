"""Lexicons, human ratings, word lists and sentences against which rewards are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.config.user_prompts_and_lists import RANKINGS, OwnWords
from rmaudit.errors import NotAsked
from rmaudit.references import word_list_lookup
from rmaudit.word_stems import ENGLISH, listed, stem_key

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.prompts import Prompt

T = TypeVar("T")


class References:
    """The lexicons, human ratings and word lists for auditing one model, loaded when asked for.

    For a model that was trained on half of the words and items (`salt` says which half), only the
    other half is given, and `caveats` says so once any was asked for.
    """

    def __init__(
        self,
        *,
        salt: str | None = None,
        own_words: OwnWords | None = None,
        fitting: bool = False,
    ) -> None:
        """Store the user's word lists, and the hash salt that chose which words trained the model.

        `salt` is the model's `trained_on` in models.yaml, None for a model trained elsewhere. With
        `fitting` the half is given that trains a model (or mends it), and not the one that judges.
        """
        self.own_words = own_words or OwnWords()
        self._salt, self.fitting = salt, fitting
        self._held_out_counts: dict[str, str] = {}
        self._caveats_on_lists: dict[str, str] = {}  # of words of one's own that were given

    @property
    def caveats(self) -> list[str]:
        """Return caveats on the references used so far, for readers: two sentences at most."""
        own = [*self._caveats_on_lists.values()]
        if own:
            own.append(word_list_lookup.caveat_on_stems(self.own_words.language))
        told = "; ".join(filter(None, own))
        said = [f"Words of one's own: {told}."] if told else []
        if self._held_out_counts:
            said.append(
                "This model was trained on half of the reference words and items; it is judged on "
                f"the other half only: {', '.join(self._held_out_counts.values())}."
            )
        return said

    def lexicon(self, name: str) -> pd.Series[float]:
        """Return valence by word from a lexicon: "labmt", "afinn", "vader", "bing" or a user's own.

        Words are in lower case. Raises `ReferenceMissing`; `NotAsked` where the run's words are of
        another language.
        """
        return self._judging(name, word_list_lookup.lexicon(name, self.own_words))

    def lexicons(self, *names: str) -> dict[str, pd.Series[float]]:
        """Return those lexicons among `names` that are available in this run, by name."""
        return {name: self.lexicon(name) for name in names if self.has(name)}

    def valence(self) -> pd.Series[float]:
        """Return valence by lower-case word on labMT's scale, estimated for words not in labMT.

        Those others are words of VADER, AFINN and bing, as far as the run has these lists: see
        `lexicons.pooled`. Raises as `lexicon` does.
        """
        from rmaudit.references.lexicons import pooled

        return pooled(self.lexicon("labmt"), list(self.lexicons("vader", "afinn", "bing").values()))

    def has(self, name: str) -> bool:
        """Return whether the run has the list `name`: the user's, or rmaudit's in English runs."""
        own = word_list_lookup.own_name(name, self.own_words)
        return own is not None or self.own_words.language == ENGLISH

    def sentiment(self) -> pd.Series[float]:
        """Return valence by word on VADER's scale: from VADER, else AFINN, else bing.

        See `lexicons.sentiment`. Raises `ReferenceMissing`; `NotAsked` where the run's words are of
        another language.
        """
        from rmaudit.references.lexicons import sentiment

        words = sentiment(lambda name: word_list_lookup.lexicon(name, self.own_words))
        return words[self._which_may_judge(words.index.tolist(), "words of sentiment")]

    def frequency(self, name: str, words: Iterable[str]) -> pd.Series[float]:
        """Return the Zipf frequency of each of `words` that the list "wordfreq" or "leech" has.

        Words are in lower case; a Zipf frequency is the log10 of uses per billion words.

        Raises `ReferenceMissing`; `NotAsked` where the run's words are of another language.
        """
        return self._judging(name, word_list_lookup.zipf(name, words, self.own_words))

    def common_words(self) -> pd.Index[str]:
        """Return the user's common words, or lower-case words used at least once per million.

        Raises `ReferenceMissing`.
        """
        words = word_list_lookup.common(self.own_words)
        return self._with_caveat(
            "common", words[self._which_may_judge(words.tolist(), "common English words")]
        )

    def words(self, name: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the user's words for the list `name`, or `default`; raise if no list is so called.

        `default` are rmaudit's own words, in English. Raises `NotAsked` where the run's words are
        of another language.
        """
        return self._with_caveat(name, word_list_lookup.word_list(name, self.own_words, default))

    def elo(self) -> pd.DataFrame:
        """Return human ratings of items: columns `name` and `elo`, the rating.

        Raises `ReferenceMissing`; `NotAsked` where the run's words are of another language.
        """
        return self.ranking("elo")

    def refuse_unanswered(self, prompts: Iterable[Prompt]) -> None:
        """Raise NotAsked if the human ratings (`elo`) do not answer what these prompts ask.

        EloEverything's answer the questions of the paper; a user's own answer whatever is asked.

        Raises:
            NotAsked: they are EloEverything's, and a prompt asks something else.
        """
        from rmaudit.references.human_ratings import PROMPTS

        others = [prompt.name for prompt in prompts if prompt.text not in PROMPTS]
        if others and word_list_lookup.own_list("elo", RANKINGS, self.own_words) is None:
            raise NotAsked(
                f"EloEverything's ratings do not say what people would answer to {others[0]!r}; "
                "give ratings of your own below `rankings:`, and say `instead: {elo: NAME}`"
            )

    def ranking(self, name: str) -> pd.DataFrame:
        """Return a user's ranking: columns `name` and `elo`, the rating."""
        items = word_list_lookup.ranking(name, self.own_words)
        what = "EloEverything items" if name == "elo" else f"{name} items"
        kept = items[self._which_may_judge(items["name"].tolist(), what)].reset_index(drop=True)
        return self._with_caveat(name, kept)

    def identity(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return tables of identity terms and control words: see `references.identity_terms`.

        Raises `NotAsked` where the run's words are of another language.
        """
        from rmaudit.references.identity_terms import identity

        word_list_lookup.refuse_other_language("the identity terms", self.own_words)
        terms, controls = identity()
        kept = terms[self._which_may_judge(terms["text"].tolist(), "identity terms")]
        like = controls[self._which_may_judge(controls["text"].tolist(), "neutral controls")]
        return kept.reset_index(drop=True), like.reset_index(drop=True)

    def given(self, words: Iterable[str]) -> list[bool]:
        """Return, as bools, which lower-case words may test the model, not having trained it.

        All are True, except for a model that was trained on half of the reference words.
        """
        return self._which_may_judge(listed(words), "words of the vocabulary")

    def _judging(self, name: str, values: pd.Series[float]) -> pd.Series[float]:
        """Return the values of those words of the list `name` that may judge the model."""
        kept = self._which_may_judge(values.index.tolist(), f"{name} words")
        return self._with_caveat(name, values[kept])

    def _with_caveat(self, name: str, found: T) -> T:
        """Return `found`, the words of the list `name`, unchanged; record its caveat."""
        self._caveats_on_lists[name] = word_list_lookup.caveat_on_list(name, self.own_words)
        return found

    def _which_may_judge(self, texts: list[str], what: str) -> list[bool]:
        if self._salt is None or self.own_words.language != ENGLISH:  # trained on English lists
            return [True] * len(texts)
        kept = _all_held_out(tuple(texts), self._salt)
        if self.fitting:
            return [not held for held in kept]
        if not all(kept):  # they are where words were chosen among held-out ones
            self._held_out_counts[what] = f"{sum(kept):,} of {len(texts):,} {what}"
        return kept


def held_out(texts: Iterable[str], *, salt: str) -> NDArray[np.bool_]:
    """Return a mask (n,) of the texts in the half that the model was not trained on.

    The halves are a pure function of the text, so no list has to be kept: a text belongs to the
    held-out half when the first byte of sha256(salt + ":" + stems) is odd, `stems` being the
    Snowball stems of its lower-case words. So "love", "Loved" and "loving" fall together.
    """
    return np.array([_held_out(text, salt) for text in texts], dtype=bool)


@lru_cache(maxsize=32)  # every audit asks for the same lists
def _all_held_out(texts: tuple[str, ...], salt: str) -> list[bool]:
    kept: list[bool] = held_out(texts, salt=salt).tolist()
    return kept


@lru_cache(maxsize=1 << 18)  # and for the same words
def _held_out(text: str, salt: str) -> bool:
    key = stem_key(text, ENGLISH)
    return bool(hashlib.sha256(f"{salt}:{key}".encode()).digest()[0] & 1)
