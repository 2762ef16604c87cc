"""The exhaustive sweep: one reward per token id, and the same for any list of answers."""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from rmaudit.errors import MeasureError, SpecError
from rmaudit.models.protocol import RewardModel, Slot
from rmaudit.paths import default_cache
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.scoring import VERSION
from rmaudit.sweeps.store import Store, Stored, checksum, key_of

PROTOCOLS = ("exact", "paper")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Every token id of a model's vocabulary, scored as the one-token answer to a prompt.

    `frame` has one row per token id, ascending: `token_id` (int32), `token` (the tokenizer's raw
    piece), `text` (the decoded text), `score` (float32, the model's own units, higher is better).
    """

    model: str
    prompt: Prompt
    key: str
    frame: pd.DataFrame
    provenance: Mapping[str, Any]

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
        message = f"no single token decodes to {text!r}; nearest: {near}; see model.score for texts"
        raise MeasureError(message)


def sweep(
    model: RewardModel,
    prompt: str | Prompt,
    *,
    protocol: str = "exact",
    cache: Path | None = None,
) -> Sweep:
    """Score every token id of the model's vocabulary as the answer to `prompt`.

    `prompt` is the name of one of the paper's prompts ("greatest", "best", "worst"), or any text.
    The result is kept in the cache (default: the user's); a second call reads it back.
    The protocol "exact" puts each id itself between the prompt and what follows; "paper" decodes,
    renders and tokenizes it anew as Christian et al. 2025 did (`models.retokenized`).

    Raises:
        SpecError: the protocol is unknown.
        ModelError: the model cannot be loaded.
        ScoreError: a score is not a finite number.
    """
    if protocol not in PROTOCOLS:
        message = f"unknown protocol {protocol!r}; known: {', '.join(PROTOCOLS)}"
        raise SpecError(message)
    asked = _prompt(prompt)
    vocabulary = model.vocabulary()
    rows = pd.DataFrame(
        {
            "token_id": np.array(vocabulary.ids, dtype=np.int32),
            "token": list(vocabulary.pieces),
            "text": list(vocabulary.texts),
        }
    )
    if protocol == "paper":
        stored = _paper_scores(model, asked, rows, Store(cache or default_cache()))
    else:
        stored = _scores(model, asked, [(i,) for i in vocabulary.ids], rows, cache)
    about = {**stored.fields, **stored.provenance}
    return Sweep(model.name, asked, stored.key, stored.frame, about)


def score_texts(
    model: RewardModel, prompt: str | Prompt, texts: Sequence[str], *, cache: Path | None = None
) -> tuple[NDArray[np.float32], str]:
    """The reward of each text as the answer to `prompt`, shape (n,), and its key in the store."""
    answers = [model.ids(text) for text in texts]
    rows = pd.DataFrame({"text": list(texts)})
    stored = _scores(model, _prompt(prompt), answers, rows, cache)
    return stored.frame["score"].to_numpy(), stored.key


def _scores(
    model: RewardModel,
    prompt: Prompt,
    answers: Sequence[tuple[int, ...]],
    rows: pd.DataFrame,
    cache: Path | None,
) -> Stored:
    slot = model.slot(prompt.text)
    fields = {
        **model.identity,
        "prompt": prompt.text,
        "rendered": slot.digest,
        "answers": hashlib.sha256(json.dumps(answers).encode()).hexdigest(),
        "rows": checksum(rows),
        "protocol": "exact",
        "scoring": str(VERSION),
    }
    unit = " tokens" if "token_id" in rows else " texts"
    with _Bar(f"{model.name} · {prompt.name}", len(answers), unit) as bar:

        def score(which: slice) -> NDArray[np.float32]:
            bar.start(which)
            return model.score(prompt.text, answers[which], on_progress=bar.advance)

        def provenance() -> Mapping[str, Any]:
            return _provenance(model, slot)

        return Store(cache or default_cache()).fill(fields, rows, score, provenance)


def _paper_scores(model: RewardModel, prompt: Prompt, rows: pd.DataFrame, store: Store) -> Stored:
    """The scores of `rows` under the paper's protocol: of each distinct rendered row, one.

    Rendering a vocabulary takes many seconds, so the key names what the rendering is made from.
    The scores of the distinct rows are stored first, so that a killed run goes on.
    """
    slot = model.slot(prompt.text)
    fields = {
        **model.identity,
        "prompt": prompt.text,
        "rendered": slot.digest,
        "template": model.template_digest,
        "rows": checksum(rows),
        "protocol": "paper",
        "scoring": str(VERSION),
    }
    if (found := store.read(key_of(fields))) is not None:
        return found
    rendered = model.retokenized(prompt.text, rows["text"].tolist())
    distinct = list(dict.fromkeys(rendered))
    digest = hashlib.sha256(json.dumps(rendered).encode()).hexdigest()

    def provenance() -> Mapping[str, Any]:
        about = {"distinct_rows": len(distinct), "rendered_rows": digest}
        return {**_provenance(model, slot), **about}

    with _Bar(f"{model.name} · {prompt.name} · paper", len(distinct), " rows") as bar:

        def score(which: slice) -> NDArray[np.float32]:
            bar.start(which)
            return model.score_rows(distinct[which], on_progress=bar.advance)

        places = pd.DataFrame({"row": np.arange(len(distinct), dtype=np.int32)})
        once = store.fill({**fields, "rendered_rows": digest}, places, score, provenance)
    place = {row: i for i, row in enumerate(distinct)}
    scores = once.frame["score"].to_numpy()[[place[row] for row in rendered]]
    return store.fill(fields, rows, lambda which: scores[which], provenance)


def _provenance(model: RewardModel, slot: Slot) -> Mapping[str, Any]:
    return {
        **model.provenance,
        "prefix": slot.prefix_text,
        "suffix": slot.suffix_text,
        "prefix_ids": len(slot.prefix),
        "suffix_ids": len(slot.suffix),
    }


class _Bar:
    """A progress bar on a terminal, and nothing elsewhere."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        self._bar = tqdm(
            total=total,
            desc=title,
            unit=unit,
            file=sys.stderr,
            disable=None,  # silent when not a terminal
            leave=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def start(self, which: slice) -> None:
        """A shard begins: those before it are done, by an earlier run if not by this one."""
        if not self._bar.disable and self._bar.n < which.start:
            self._bar.initial = which.start
            self._bar.update(which.start - self._bar.n)

    def advance(self, done: int) -> None:
        """So many more are done."""
        self._bar.update(done)


def _prompt(prompt: str | Prompt) -> Prompt:
    if isinstance(prompt, Prompt):
        return prompt
    return PROMPTS.get(prompt) or Prompt("custom", prompt, +1)
