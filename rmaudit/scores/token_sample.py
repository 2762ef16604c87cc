"""Choose which token ids a sampled sweep scores: ids drawn at random, and ids of certain words.

Tokenizers give low ids to frequent pieces, so strata of consecutive ids are strata of frequency:
one id is drawn from each. What an audit names by words is scored too, and stored apart, so that
what needs the whole distribution rests on the plain sample. Lexicons name a large part of a
vocabulary, so at most as many of their ids are taken as are drawn: whole words, drawn too.

An entry of words is a word, or `lexicon:` and the name of a reference lexicon, which stands for its
words. A token is named if its whole-word form (`measures.word_spellings`) is one of them: "love"
names both `Love` and ` love`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import NotAsked, ReferenceMissing, SpecError

if TYPE_CHECKING:  # the plugin checks words in every pytest run, audits or not
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

NAMED = "ids named by words"  # the part of a vocabulary that goes with a sample of it
LEXICON = "lexicon:"
_OURS = OwnWords()


@dataclass(frozen=True, slots=True)
class Sample:
    """Size of a sampled sweep: `size` of `vocabulary` ids at random, and `named` ids of words.

    `whole` says whether the named ones are all ids of the words, and not of some of them.
    """

    size: int
    vocabulary: int
    seed: int
    named: int = 0
    whole: bool = True

    def __str__(self) -> str:
        """Return, for example, `2,000 of 49,152 token ids (seed 0)`."""
        return f"{self.size:,} of {self.vocabulary:,} token ids (seed {self.seed})"

    @property
    def caveat(self) -> str:
        """Return a sentence that warns readers that an estimate rests on a sample."""
        more = f", and on all {self.named:,} ids of the words that the audit names"
        if not self.whole:
            more = f", and on {self.named:,} ids of words drawn from those that the audit names"
        return f"Rests on a sample of {self}{more if self.named else ''}."


def checked_size(size: int) -> int:
    """Return `size` if it is a positive whole number, else raise.

    Raises:
        SpecError: it is no positive whole number.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        message = f"a sample needs a positive whole number of token ids, got {size!r}"
        raise SpecError(message)
    return size


def spread(total: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return up to `count` random indices below `total`, ascending, one from each equal stratum.

    The strata are turned by a random number of places, so that each place is as likely as any other
    even where `count` does not divide `total`.
    """
    import numpy as np

    count = min(count, total)
    if not count:
        return np.empty(0, dtype=np.int64)
    edges = np.arange(count + 1) * total // count
    places = rng.integers(edges[:-1], edges[1:])
    return np.sort((places + rng.integers(total)) % total)


def checked_words(words: Sequence[str], own_words: OwnWords = _OURS) -> tuple[str, ...]:
    """Return `words` if each is one word of letters or the name of a lexicon, else raise.

    Raises:
        SpecError: one is neither.
    """
    if isinstance(words, str):
        message = f"words must be a list, got {words!r}"
        raise SpecError(message)
    for entry in words:
        if isinstance(entry, str) and entry.startswith(LEXICON):
            from rmaudit.references.lexicons import LEXICONS

            names = (*LEXICONS, *own_words.lexicons)
            if entry.removeprefix(LEXICON) not in names:
                known = ", ".join(LEXICON + name for name in names)
                message = f"words has an unknown lexicon {entry!r}; known: {known}"
                raise SpecError(message)
        elif not (isinstance(entry, str) and entry.isalpha()):
            message = f"words has {entry!r}; one word of letters, or {LEXICON}NAME, is needed"
            raise SpecError(message)
    return tuple(words)


def installed_entries(words: Sequence[str], own_words: OwnWords) -> tuple[str, ...]:
    """Return `words` without repetitions and without lexicons that are not installed.

    Raises:
        SpecError: an entry is neither a word nor a lexicon.
    """
    from rmaudit.references.word_list_lookup import lexicon

    found = []
    for entry in dict.fromkeys(checked_words(words, own_words)):
        with suppress(ReferenceMissing, NotAsked):
            if entry.startswith(LEXICON):
                lexicon(entry.removeprefix(LEXICON), own_words)
            found.append(entry)
    return tuple(found)


def mask_of_scored_words(
    texts: pd.Series[str],
    words: Sequence[str],
    own_words: OwnWords = _OURS,
    *,
    size: int,
    seed: int,
) -> NDArray[np.bool_]:
    """Return a mask (n,) of tokens that spell one of `words`; of lexicons, what fits into `size`.

    Words that are named one by one are all there. Of the words of lexicons, so many are drawn that
    at most `size` ids are named in all; each comes with all of its spellings. The word and the seed
    decide which, so a larger sample has the words of a smaller one, and models share them.

    Raises:
        SpecError: an entry is neither a word nor a lexicon.
        ReferenceMissing: a lexicon cannot be had.
    """
    import numpy as np
    import pandas as pd

    from rmaudit.measures.word_spellings import word_of

    every = mask_of_words(texts, words, own_words)
    if every.sum() <= size:
        return every
    found = mask_of_words(texts, plain_words(words), own_words).copy()
    of_lexicons = np.flatnonzero(every & ~found)
    salt = hashlib.sha256(f"words of a sample|{seed}".encode()).hexdigest()[:16]
    forms = word_of(texts.iloc[of_lexicons]).to_numpy(dtype=object)
    numbers = pd.util.hash_array(forms, hash_key=salt)  # one for all spellings of a word
    room = max(size - int(found.sum()), 0)
    if room >= len(numbers):
        return every
    found[of_lexicons[numbers < np.sort(numbers)[room]]] = True
    return found


def plain_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return those entries of `words` that are plain words, not names of lexicons."""
    return tuple(entry for entry in words if not entry.startswith(LEXICON))


def mask_of_words(
    texts: pd.Series[str], words: Sequence[str], own_words: OwnWords = _OURS
) -> NDArray[np.bool_]:
    """Return a mask (n,) of texts that are one of `words` or a named lexicon's, in any case.

    Raises:
        SpecError: an entry is neither a word nor a lexicon.
        ReferenceMissing: a lexicon cannot be had.
    """
    from rmaudit.measures.word_spellings import word_of
    from rmaudit.references.word_list_lookup import lexicon

    wanted: set[str] = set()
    for entry in checked_words(words, own_words):
        of_lexicon = entry.startswith(LEXICON)
        wanted |= set(
            lexicon(entry.removeprefix(LEXICON), own_words).index if of_lexicon else [entry]
        )
    return word_of(texts).isin({word.casefold() for word in wanted}).to_numpy()
