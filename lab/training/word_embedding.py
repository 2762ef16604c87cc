"""Make the bundled embedding of English words from the language model R-Smol-135M is based on.

    python -m lab training.word_embedding

A word's vector joins two: the mean of its tokens' embeddings, and the state after 26 of the 30
layers at the end of `The word "…" means`, by which the model is about to say what kind of thing it
is. Either is standardised; the token embeddings lose their first 20 principal directions, which
tell of frequency and spelling. What is kept are the first 48 directions of both, as int8. Words are
those of the vocabulary and of wordfreq's 40,000 most frequent, one of a stem. A run takes some ten
minutes of two processors, and writes rmaudit/references/embedding/words.npz.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
import wordfreq
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer

from lab.bench import vocabulary_of
from lab.harness import arguments
from rmaudit.checkpoints.bundled_model import NAME, build_base
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.measures.word_spellings import word_of
from rmaudit.references.word_embedding import FILE
from rmaudit.word_stems import stem_key

MOST, RAREST = 40_000, 1.5  # of wordfreq's list; Zipf of the rarest word of the vocabulary
LAYERS, COMMON, DIRECTIONS = 26, 20, 48
SCALE = 250  # int8 values to a unit: the largest coordinates of unit vectors are about a half
ASKED = ' The word "{}" means'
_BATCH = 256

_Floats = NDArray[np.float32]


def main() -> None:
    """Make the vectors, and write them with their words and stems."""
    arguments(__doc__).parse_args()
    words = by_stem()
    tokens, states = token_embeddings_and_states(list(words.values()))
    joined = np.concatenate([standard(states, 0), standard(tokens, COMMON)], axis=1)
    vectors = _directions(joined - joined.mean(axis=0))[:, :DIRECTIONS]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        FILE,
        words=np.frombuffer("\n".join(words.values()).encode(), dtype=np.uint8),
        stems=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        vectors=np.clip(np.round(SCALE * vectors), -127, 127).astype(np.int8),
    )
    print(f"{len(words)} words in {FILE}, {FILE.stat().st_size} bytes")


def by_stem() -> dict[str, str]:
    """Return the most frequent word of each stem, in the order of the words."""
    texts = set(word_of(vocabulary_of(NAME)["text"])) | set(wordfreq.top_n_list("en", MOST))
    words = {text for text in texts if text.isascii() and text.isalpha() and len(text) > 1}
    zipf = {word: wordfreq.zipf_frequency(word, "en") for word in words}
    known = sorted((word for word in words if zipf[word] >= RAREST), key=lambda w: (-zipf[w], w))
    first: dict[str, str] = {}
    for word in known:
        first.setdefault(stem_key(word), word)
    return dict(sorted(first.items(), key=lambda both: both[1]))


def token_embeddings_and_states(words: list[str]) -> tuple[_Floats, _Floats]:
    """Return the mean embedding of each word's tokens, and its state, each (words, hidden)."""
    folder = build_base(default_cache())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    embeddings = model.get_input_embeddings().weight.detach().numpy()

    def ids_of(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    tokens = np.stack([embeddings[ids_of(f" {word}")].mean(axis=0) for word in words])
    model.model.layers, model.model.norm = model.model.layers[:LAYERS], torch.nn.Identity()
    rows = [ids_of(ASKED.format(word)) for word in words]
    prefix = ids_of(ASKED.partition("{")[0])
    assert all(row[: len(prefix)] == prefix for row in rows)  # noqa: S101  (what the states share)
    states = np.empty_like(tokens)
    lengths = np.array([len(row) for row in rows])
    with torch.no_grad():
        shared = model.model(torch.tensor([prefix]), use_cache=True).past_key_values
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            for batch in np.split(same, range(_BATCH, len(same), _BATCH)):
                past = copy.deepcopy(shared)
                past.batch_repeat_interleave(len(batch))
                rest = torch.tensor([rows[place][len(prefix) :] for place in batch])
                read = model.model(rest, past_key_values=past, use_cache=True)
                states[batch] = read.last_hidden_state[:, -1].numpy()
    return tokens, states


def standard(vectors: _Floats, without: int) -> _Floats:
    """Return standardised vectors of length 1, less their first `without` directions."""
    centred = vectors - vectors.mean(axis=0)
    kept = _directions(centred / centred.std(axis=0))[:, without:]
    found: _Floats = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    return found


def _directions(centred: _Floats) -> _Floats:
    """Return the vectors in the basis of their principal directions, the largest first."""
    _, basis = np.linalg.eigh(centred.T @ centred)
    found: _Floats = centred @ basis[:, ::-1]
    return found


if __name__ == "__main__":
    main()
