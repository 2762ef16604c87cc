"""Score texts as answers to a prompt: `score_texts`, and the fixture `rewards` of audits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.layout.answer_slot import refuse_text
from rmaudit.models import model_interfaces
from rmaudit.models.model_interfaces import Scored
from rmaudit.prompts import Prompt, asked_of, prompt_meant
from rmaudit.scores import imported_scores, scoring_protocols
from rmaudit.scores.score_parquet import noise_of
from rmaudit.scores.score_store import Store, store_at


@dataclass(frozen=True, slots=True)
class TextScores:
    """Rewards of n texts, float32, their numeric noise, and their key in the cache.

    The noise is NaN where it was not measured. `caveats` are what a reader must know of the
    rewards.
    """

    scores: NDArray[np.float32]
    noise: float
    key: str
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewards:
    """Fixture `rewards`: scores texts as answers to the audit's prompt, or to one given by name.

    `score` scores texts as answers to a prompt; `known` says which texts it can score, all where
    it is None.
    """

    prompts: tuple[Prompt, ...]
    score: Callable[[Sequence[str], Prompt], TextScores]
    known: Callable[[Sequence[str], Prompt], list[str]] | None = None

    def __call__(self, texts: Sequence[str], prompt: str | None = None) -> TextScores:
        """Return the rewards of texts as answers to the audit's prompt called `prompt`.

        None stands for the audit's only prompt.

        Raises:
            SpecError: there are several and none is named, or the named one is not declared; or
                `texts` is a single text.
        """
        refuse_text(texts)
        return self.score(texts, asked_of(self.prompts, prompt, by="rewards"))

    def scorable(self, texts: Sequence[str]) -> list[str]:
        """Return the `texts`, in order, that have a score under every prompt of the audit.

        All of them, but of a recorded model only those that are recorded.
        """
        refuse_text(texts)
        kept = list(texts)
        if self.known is not None:
            for prompt in self.prompts:
                kept = self.known(kept, prompt)
        return kept


def score_texts(
    model: Scored,
    prompt: str | Prompt,
    texts: Sequence[str],
    *,
    cache: Path | str | Store | None = None,
) -> TextScores:
    """Return the reward of each text as the answer to `prompt`, in the model's own units.

    For a recorded model they are looked up by their exact spelling.

    Raises:
        SpecError: `texts` is a single text, or `prompt` is nearly a prompt's name.
        NotRecorded: the model is recorded and a text is not.
    """
    refuse_text(texts)
    asked, store = prompt_meant(prompt), store_at(cache)

    if model.takes == "nothing":
        stored = imported_scores.items(model, asked, texts, store=store)
    else:
        kind = object if model.takes == "texts" else None
        rows = pd.DataFrame({"text": list(texts)}, dtype=kind)
        stored = scoring_protocols.scored(model, asked, rows, store=store)
    noise = noise_of(stored.frame, stored.provenance)
    said = model_interfaces.caveats_of_scores({**stored.fields, **stored.provenance})
    return TextScores(stored.frame["score"].to_numpy(), noise, stored.key, said)


def scorable_texts(
    model: Scored, prompt: Prompt, texts: Sequence[str], *, cache: Path | str | Store | None = None
) -> list[str]:
    """Return the `texts` that the model can score: all, unless it has only published scores.

    A recorded model is known by its published scores alone; any other model can score every text.
    """
    store = store_at(cache)
    if model.takes == "nothing":
        return imported_scores.texts_with_scores(model, prompt, texts, store=store)
    return list(texts)
