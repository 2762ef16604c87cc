"""Log-probability of each token id, as the first of the answer, by a base or policy; cached."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.models.language_model import base_of
from rmaudit.models.protocol import Scored
from rmaudit.prompts import Prompt, prompt_meant
from rmaudit.scores.store import Store, store_at
from rmaudit.scores.stored_scores import checksum

_VERSION = 1  # raise it when a change could move log-probabilities


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Natural log-probabilities as float32, indexed by token id, and their key in the cache."""

    by_id: pd.Series[float]
    key: str


def base_logprobs(
    model: Scored,
    prompt: str | Prompt,
    *,
    cache: Path | str | Store | None = None,
    device: str = "auto",
) -> Logprobs:
    """Return each token id's log-probability, by the base model, as the answer's first token.

    `prompt` is the name of one, or a prompt. The ids are those of the model's vocabulary, all of
    them, whatever was sampled of a sweep; NaN where the base has no such token. One forward of one
    row; a second call reads it back.

    Raises:
        SpecError: `prompt` is nearly a prompt's name.
        NoBase: models.yaml names no base for the model.
        NotRecorded: the model is recorded.
        ModelError: the base cannot be had, run, or has another tokenizer.
        StoreError: the cache cannot be written.
    """
    return _logprobs(model, prompt, "base", store_at(cache), device)


def policy_logprobs(
    model: Scored,
    prompt: str | Prompt,
    *,
    cache: Path | str | Store | None = None,
    device: str = "auto",
) -> Logprobs:
    """Return each token id's log-probability, by the policy to be trained, as the first token.

    It is `policy` of the model's entry. Everything else is as in `base_logprobs`.
    """
    return _logprobs(model, prompt, "policy", store_at(cache), device)


def _logprobs(
    model: Scored, prompt: str | Prompt, key: Literal["base", "policy"], store: Store, device: str
) -> Logprobs:
    prompt = prompt_meant(prompt)
    weighted = model.with_weights(f"log-probabilities of its {key} are not recorded")
    base = base_of(weighted.spec, key, cache=store.local, device=device)
    vocabulary, prefix = weighted.vocabulary(), weighted.slot(prompt.asked).prefix
    rows = pd.DataFrame({"id": list(vocabulary.ids), "token": list(vocabulary.pieces)})
    fields = {
        **base.identity,
        **prompt.decides,
        "prefix": hashlib.sha256(json.dumps(prefix).encode()).hexdigest(),
        "rows": checksum(rows),
        "protocol": "next-token log-probability",
        "version": str(_VERSION),
    }

    @once
    def every() -> NDArray[np.float32]:
        return base.logprobs(prefix, vocabulary)

    stored = store.fill(fields, rows, lambda which: every()[which], lambda: base.provenance)
    return Logprobs(stored.frame.set_index("id")["score"].rename("logprob"), stored.key)
