"""Which token ids an audit names, by words: data, resolved when a sample is drawn.

An entry is a word, or `lexicon:` and the name of a reference lexicon, which stands for its words.
A token is named if its whole-word form (`measures.words`) is one of the words: `Love` and ` love`
both are by "love".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rmaudit.errors import SpecError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

LEXICON = "lexicon:"


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """The entries, if each is a word that a token can be or the name of a lexicon.

    Raises:
        SpecError: one is neither.
    """
    if isinstance(words, str):
        message = f"words must be a list, got {words!r}"
        raise SpecError(message)
    for entry in words:
        if isinstance(entry, str) and entry.startswith(LEXICON):
            from rmaudit.references.lexicons import LEXICONS

            if entry.removeprefix(LEXICON) not in LEXICONS:
                known = ", ".join(LEXICON + name for name in LEXICONS)
                message = f"words has an unknown lexicon {entry!r}; known: {known}"
                raise SpecError(message)
        elif not (isinstance(entry, str) and entry.isalpha()):
            message = f"words has {entry!r}; one word of letters, or {LEXICON}NAME, is needed"
            raise SpecError(message)
    return tuple(words)


def named(texts: pd.Series[str], words: Sequence[str]) -> NDArray[np.bool_]:
    """Shape (n,): whether the words name the token that decodes to each text.

    Raises:
        SpecError: an entry is neither a word nor a lexicon.
        ReferenceMissing: a lexicon cannot be had.
    """
    from rmaudit.measures.words import word_of
    from rmaudit.references.lexicons import lexicon

    wanted: set[str] = set()
    for entry in checked_words(words):
        of_lexicon = entry.startswith(LEXICON)
        wanted |= set(lexicon(entry.removeprefix(LEXICON)).index if of_lexicon else [entry])
    return word_of(texts).isin({word.casefold() for word in wanted}).to_numpy()
