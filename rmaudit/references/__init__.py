"""Outside knowledge: lexicons and human ratings, fetched with checksums, never committed."""

from __future__ import annotations

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
        self.caveats: list[str] = []

    def lexicon(self, name: str) -> pd.Series[float]:
        """Valence by lower-case word: "labmt", "afinn" or "vader". Raises `ReferenceMissing`."""
        from rmaudit.references.lexicons import lexicon

        words = lexicon(name)
        return words[self._kept(list(words.index), f"words of {name}")]

    def elo(self) -> pd.DataFrame:
        """Human ratings: columns `name`, `elo`, `matches`. Raises `ReferenceMissing`."""
        from rmaudit.references.elo import elo_items

        items = elo_items()
        return items[self._kept(list(items["name"]), "EloEverything items")].reset_index(drop=True)

    def _kept(self, texts: list[str], what: str) -> list[bool]:
        if self._salt is None:
            return [True] * len(texts)
        from rmaudit.references.holdout import held_out

        kept = [bool(flag) for flag in held_out(texts, salt=self._salt)]
        caveat = (
            f"This model was trained on half of the {what}; it is judged on the other "
            f"{sum(kept):,} of {len(texts):,} only."
        )
        if caveat not in self.caveats:
            self.caveats.append(caveat)
        return kept
