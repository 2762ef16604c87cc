"""Tell which reference words and items a model was not trained on, if it was trained on half.

A model that was fitted to half of a lexicon may be judged on the other half only. The halves
are a pure function of the text, so no list has to be kept: a text belongs to the held-out half
when the first byte of sha256(salt + ":" + stems) is odd, `stems` being the Snowball stems of its
lower-case words. Stems, not spellings, are split: "love", "Loved" and "loving" fall together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rmaudit.word_stems import ENGLISH, stem_key


def held_out(texts: Iterable[str], *, salt: str) -> NDArray[np.bool_]:
    """Return a mask (n,) of the texts in the half that the model was not trained on."""
    return np.array([_held_out(text, salt) for text in texts], dtype=bool)


@lru_cache(maxsize=1 << 18)  # every audit asks for the same words
def _held_out(text: str, salt: str) -> bool:
    key = stem_key(text, ENGLISH)
    return bool(hashlib.sha256(f"{salt}:{key}".encode()).digest()[0] & 1)
