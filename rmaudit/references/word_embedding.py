"""Read the bundled embedding of English words.

`embedding/words.npz` has a vector for the most frequent word of each of some 20,000 stems, made
from SmolLM2-135M-Instruct by `python -m lab training.word_embedding`. So a word has the same
neighbours whatever model is audited, and whether or not its weights are at hand.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).parent / "embedding" / "words.npz"


@lru_cache(maxsize=1)
def embedding() -> tuple[dict[str, int], tuple[str, ...], NDArray[np.float32]]:
    """Return the row of each stem, the word of each row, and their vectors, of length 1.

    Stems are those of `word_stems.stem_key`. The vectors have shape (rows, dimensions).
    """
    with np.load(FILE, allow_pickle=False) as file:
        words, stems = (file[name].tobytes().decode().split("\n") for name in ("words", "stems"))
        vectors = file["vectors"].astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return {stem: row for row, stem in enumerate(stems)}, tuple(words), vectors
