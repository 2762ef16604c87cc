"""The sweep: one reward per token id, and the same for any list of answers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.config.cache_folder import default_cache
from rmaudit.errors import MeasureError, SpecError
from rmaudit.models.protocol import RewardModel, Scored
from rmaudit.models.recorded import WORDS, Recorded
from rmaudit.prompts import ALL, Prompt, asked_of
from rmaudit.scores import protocols, published_scores
from rmaudit.scores.sample import NAMED, Sample, checked_size, checked_words, named, spread
from rmaudit.scores.sealed import Stored
from rmaudit.scores.store import Store

PROTOCOLS = ("exact", "paper")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Every token id of a model's vocabulary, scored as the one-token answer to a prompt.

    `frame` has one row per token id, ascending: `token_id` (int32), `token` (the tokenizer's raw
    piece), `text` (the decoded text), `score` (float32, the model's own units, higher is better).
    Where `sample` is not None it has not every id, but those that `sample` says: drawn ones, whose
    scores are stored under `key`, and ones named by words, whose scores are under `named_key`;
    then `drawn` is the sweep of the drawn ones alone.
    Where `of_words` is true it has published words in place of a vocabulary, and `token_id` is a
    word's place among them.
    """

    model: str
    prompt: Prompt
    key: str
    frame: pd.DataFrame
    provenance: Mapping[str, Any]
    sample: Sample | None = None
    named_key: str = ""
    drawn: Sweep | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all stored scores that it rests on."""
        return (self.key, self.named_key) if self.named_key else (self.key,)

    @property
    def noise(self) -> float:
        """Numeric noise of a score, in the model's own units; NaN where it was not measured."""
        return _noise(self.frame, self.provenance)

    @property
    def of_words(self) -> bool:
        """Whether it has published words in place of a vocabulary: no ids, one spelling a word."""
        return bool(self.provenance.get("answers") == WORDS)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader must know of its rows, a sentence each; none of a whole vocabulary."""
        if self.sample is not None:
            return (self.sample.caveat,)
        words = f"Rests on {len(self.frame):,} published words, not on a vocabulary."
        return (words,) if self.of_words else ()

    def top(self, n: int = 25) -> pd.DataFrame:
        """The `n` best tokens, best first; ties in the order of their ids."""
        return self.frame.sort_values("score", ascending=False, kind="stable").head(n)

    def bottom(self, n: int = 25) -> pd.DataFrame:
        """The `n` worst tokens, worst first; ties in the order of their ids."""
        return self.frame.sort_values("score", kind="stable").head(n)

    def score_of(self, text: str) -> float:
        """The score of the token whose decoded text is `text` (mind a leading space).

        Raises:
            MeasureError: no token, or more than one, decodes to this text.
        """
        found = self.frame[self.frame["text"] == text]
        if len(found) == 1:
            return float(found["score"].iloc[0])
        if len(found):
            message = f"{len(found)} tokens decode to {text!r}: ids {list(found['token_id'][:5])}"
            raise MeasureError(message)
        near = difflib.get_close_matches(text, set(self.frame["text"]) - {text}, n=3)
        where = "" if self.sample is None else f" in a sample of {self.sample}"
        message = f"no single token{where} decodes to {text!r}; nearest: {near}"
        raise MeasureError(f"{message}; see model.score for texts")


def sweep(  # noqa: PLR0913  (keyword-only after the subjects)
    model: Scored,
    prompt: str | Prompt,
    *,
    protocol: str | None = None,
    cache: Path | None = None,
    sample: int | None = None,
    seed: int = 0,
    words: Sequence[str] = (),
) -> Sweep:
    """Score every token id of the model's vocabulary as the answer to `prompt`.

    `prompt` is the name of one of the paper's prompts ("greatest", "best", "worst") or of their
    family (`rmaudit.prompts`), or any text.
    The result is kept in the cache (default: the user's); a second call reads it back.
    The protocol "exact" puts each id itself between the prompt and what follows; "paper" decodes,
    renders and tokenizes it anew as Christian et al. 2025 did (`models.retokenized`). The default
    is "exact"; of a recorded model there are only whole sweeps under "paper", so it is that.

    For a first look at a large model, `sample` is how many ids to score, drawn with `seed`; to
    these come all ids named by `words`: words, or "lexicon:labmt" and the like for those of a
    lexicon. A sample as large as the vocabulary is the whole of it.

    Raises:
        SpecError: the protocol, the sample or the words are wrong.
        ReferenceMissing: a lexicon that `words` names cannot be had.
        ModelError: the model cannot be loaded; `NotRecorded`, it is recorded and this is not.
        ScoreError: a score is not a finite number.
    """
    if protocol not in {None, *PROTOCOLS}:
        message = f"unknown protocol {protocol!r}; known: {', '.join(PROTOCOLS)}"
        raise SpecError(message)
    size = None if sample is None else checked_size(sample)
    entries = checked_words(words)
    asked, store = prompt_of(prompt), Store(cache or default_cache())

    def published(model: Recorded) -> Sweep:
        if protocol not in {None, "paper"} or size is not None:
            message = f"{model.name}: recorded are whole sweeps under the protocol 'paper' only"
            raise SpecError(message)
        return _read(model.name, asked, published_scores.sweep(model, asked, store=store))

    def computed(model: RewardModel) -> Sweep:
        def scored(rows: pd.DataFrame, part: str = "") -> Sweep:
            if protocol == "paper":
                stored = protocols.paper(model, asked, rows, store=store, part=part)
            else:
                answers = [(i,) for i in rows["token_id"].tolist()]
                stored = protocols.exact(model, asked, answers, rows, store=store, part=part)
            return _read(model.name, asked, stored)

        rows = _rows(model)
        if size is None or size >= len(rows):
            return scored(rows)
        more = rows[named(rows["text"], entries)]
        taken = Sample(size, len(rows), seed)
        places = spread(len(rows), size, np.random.default_rng(seed))
        drawn = replace(scored(rows.iloc[places], f"a sample: {taken}"), sample=taken)
        return _with(drawn, scored(more, NAMED)) if len(more) else drawn

    return model.scores(computed=computed, published=published)


def prompt_of(prompt: str | Prompt) -> Prompt:
    """The prompt of this name, or else of this text."""
    if isinstance(prompt, Prompt):
        return prompt
    return ALL.get(prompt) or Prompt("custom", prompt, +1)


def sweep_under(key: str, store: Store, made: Mapping[str, Sweep] = {}) -> Sweep | None:
    """The sweep whose scores are stored under `key`: one of those `made` in this run, or read back.

    `made` has sweeps by their keys. None where nothing is stored, or scores that are no sweep's:
    those of texts, of named ids alone or of a base.

    Raises:
        StoreError: the file cannot be read.
    """
    if key in made:
        return made[key].drawn or made[key]
    stored = store.read(key)
    if stored is None or "token_id" not in stored.frame or stored.fields.get("part") == NAMED:
        return None
    text = stored.fields["prompt"]
    custom = Prompt("custom", text, +1)
    prompt = next((prompt for prompt in ALL.values() if prompt.text == text), custom)
    source = stored.fields.get("model") or stored.provenance.get("source", "")
    return _read(str(source), prompt, stored)


@dataclass(frozen=True, slots=True)
class TextScores:
    """The scores of texts, shape (n,) float32, their numeric noise, and their key in the store.

    The noise is NaN where it was not measured.
    """

    scores: NDArray[np.float32]
    noise: float
    key: str


@dataclass(frozen=True, slots=True)
class Rewards:
    """What an audit scores texts with: a function of texts and, in a joint audit, a prompt's name.

    `score` scores texts as answers to a prompt; `known` says which texts it can score, all where
    it is None.
    """

    prompts: tuple[Prompt, ...]
    score: Callable[[Sequence[str], Prompt], TextScores]
    known: Callable[[Sequence[str], Prompt], list[str]] | None = None

    def __call__(self, texts: Sequence[str], prompt: str | None = None) -> TextScores:
        """The scores of texts as answers to the prompt called `prompt`, one that is declared.

        Raises:
            SpecError: there are several and none is named, or the named one is not declared.
        """
        return self.score(texts, asked_of(self.prompts, prompt, by="rewards"))

    def scorable(self, texts: Sequence[str]) -> list[str]:
        """Those of `texts`, in order, that have a score under every prompt.

        All of them, but of a recorded model only those that are recorded.
        """
        kept = list(texts)
        for prompt in self.prompts if self.known else ():
            kept = self.known(kept, prompt) if self.known else kept
        return kept


def score_texts(
    model: Scored, prompt: str | Prompt, texts: Sequence[str], *, cache: Path | None = None
) -> TextScores:
    """The reward of each text as the answer to `prompt`, in the model's own units.

    For a recorded model they are looked up by their exact spelling.

    Raises:
        NotRecorded: the model is recorded and a text is not.
    """
    asked, store = prompt_of(prompt), Store(cache or default_cache())

    def computed(model: RewardModel) -> Stored:
        rows = pd.DataFrame({"text": list(texts)})
        answers = [model.ids(text) for text in texts]
        return protocols.exact(model, asked, answers, rows, store=store)

    stored = model.scores(
        computed=computed,
        published=lambda model: published_scores.items(model, asked, texts, store=store),
    )
    noise = _noise(stored.frame, stored.provenance)
    return TextScores(stored.frame["score"].to_numpy(), noise, stored.key)


def recorded_of(
    model: Scored, prompt: Prompt, texts: Sequence[str], *, cache: Path | None = None
) -> list[str]:
    """Those of `texts` that `score_texts` can score: all, but of a recorded model."""
    store = Store(cache or default_cache())
    return model.scores(
        computed=lambda _: list(texts),
        published=lambda model: published_scores.known(model, prompt, texts, store=store),
    )


def _noise(frame: pd.DataFrame, provenance: Mapping[str, Any]) -> float:
    """The noise that was measured on these scores, or NaN.

    Published scores and those of the first releases say nothing of it; of no scores a file says 0.
    """
    return float(provenance.get("noise", np.nan)) if len(frame) else np.nan


def _rows(model: RewardModel) -> pd.DataFrame:
    """The ids of a model's vocabulary, one row each."""
    vocabulary = model.vocabulary()
    return pd.DataFrame(
        {
            "token_id": np.array(vocabulary.ids, dtype=np.int32),
            "token": list(vocabulary.pieces),
            "text": list(vocabulary.texts),
        }
    )


def _read(model: str, prompt: Prompt, stored: Stored) -> Sweep:
    about = {**stored.fields, **stored.provenance}
    return Sweep(model, prompt, stored.key, stored.frame, about)


def _with(drawn: Sweep, more: Sweep) -> Sweep:
    """A sample and the ids that are named, each id once."""
    assert drawn.sample is not None, "a census has every id"  # noqa: S101  (for types)
    both = pd.concat([drawn.frame, more.frame]).drop_duplicates("token_id")
    about = {"named_ids": len(more.frame), "noise": float(np.maximum(drawn.noise, more.noise))}
    return replace(
        drawn,
        frame=both.sort_values("token_id", ignore_index=True),
        provenance={**drawn.provenance, **about},
        sample=replace(drawn.sample, named=len(more.frame)),
        named_key=more.key,
        drawn=drawn,
    )
