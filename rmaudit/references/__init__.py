"""Outside knowledge: lexicons and human ratings, fetched with checksums, never committed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class References:
    """The references as one model may be judged by them.

    For a model that was trained on half of the words and items (`salt` says which half), only the
    other half is given, and `caveats` says so once any was asked for.
    """

    def __init__(self, *, salt: str | None = None) -> None:
        """`salt` is the model's `trained_on` in models.yaml, None for a model trained elsewhere."""
        self._salt = salt
        self._given: dict[str, str] = {}

    @property
    def caveats(self) -> list[str]:
        """What a reader must know of what was given: one sentence, or none."""
        if not self._given:
            return []
        return [
            (
                "This model was trained on half of the reference words and items; it is judged on "
                f"the other half only: {', '.join(self._given.values())}."
            )
        ]

    def lexicon(self, name: str) -> pd.Series[float]:
        """Valence by lower-case word: "labmt", "afinn", "vader" or "bing".

        Raises `ReferenceMissing`.
        """
        from rmaudit.references.lexicons import lexicon

        words = lexicon(name)
        return words[self._kept(words.index.tolist(), f"{name} words")]

    def sentiment(self) -> pd.Series[float]:
        """Valence by lower-case word as VADER, AFINN or bing has it: see `lexicons.sentiment`.

        Raises `ReferenceMissing`.
        """
        from rmaudit.references.lexicons import sentiment

        words = sentiment()
        return words[self._kept(words.index.tolist(), "words of sentiment")]

    def frequency(self, name: str, words: Iterable[str]) -> pd.Series[float]:
        """Zipf frequency of those of `words`, lower case, that the list "wordfreq" or "leech" has.

        Raises `ReferenceMissing`.
        """
        from rmaudit.references.word_frequency import zipf

        known = zipf(name, words)
        return known[self._kept(known.index.tolist(), f"{name} words")]

    def common_words(self) -> pd.Index[str]:
        """English words, lower case, used once in a million or more. Raises `ReferenceMissing`."""
        from rmaudit.references.word_frequency import common

        words = common()
        return words[self._kept(words.tolist(), "common English words")]

    def elo(self) -> pd.DataFrame:
        """Human ratings: columns `name`, `elo`, `matches`. Raises `ReferenceMissing`."""
        from rmaudit.references.human_ratings import elo_items

        items = elo_items()
        return items[self._kept(items["name"].tolist(), "EloEverything items")].reset_index(
            drop=True
        )

    def identity(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Identity terms and neutral controls: see `references.identity_terms`."""
        from rmaudit.references.identity_terms import identity

        terms, controls = identity()
        kept = terms[self._kept(terms["text"].tolist(), "identity terms")]
        like = controls[self._kept(controls["text"].tolist(), "neutral controls")]
        return kept.reset_index(drop=True), like.reset_index(drop=True)

    def _kept(self, texts: list[str], what: str) -> list[bool]:
        if self._salt is None:
            return [True] * len(texts)
        from rmaudit.references.holdout import held_out

        kept = [bool(flag) for flag in held_out(texts, salt=self._salt)]
        if all(kept):  # asked for by held-out words
            return kept
        self._given[what] = f"{sum(kept):,} of {len(texts):,} {what}"
        return kept
