"""Compute and cache, or read from a file, the log-probability of each token id to begin an answer.

`policy_in` reads the file of a policy that is served, or that runs elsewhere. A line is a JSON
object with a `prompt`, which is its name or its text, with `tokens`, every token of the policy's
vocabulary as its tokenizer spells it, and with the `logprobs` of each as the first token of an
answer; null is a probability of 0.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache as once
from itertools import starmap
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.base_language_model import base_of
from rmaudit.models.external_scorer_batches import finite
from rmaudit.models.model_interfaces import Scored
from rmaudit.prompts import Prompt, prompt_meant
from rmaudit.scores.json_lines import objects, shown
from rmaudit.scores.score_parquet import checksum
from rmaudit.scores.score_store import Store, store_at
from rmaudit.scores.shard_scoring import Work

_VERSION = 1  # raise it when a change could move log-probabilities
SUFFIX = ".jsonl"
_ALLOWED = "an object with prompt, tokens and logprobs"
_LEAST, _MOST = 0.9, 1.01  # of all probability


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Natural log-probabilities as float32, indexed by token id, and their key in the cache."""

    by_id: pd.Series[float]
    key: str


def base_logprobs(
    model: Scored,
    prompt: str | Prompt,
    *,
    of: Literal["base", "policy"] = "base",
    cache: Path | str | Store | None = None,
    device: str = "auto",
) -> Logprobs:
    """Return the base model's log-probability of each token id as the answer's first token.

    With `of="policy"` they are those of the policy to be trained, `policy` in the model's entry.
    `prompt` is a prompt or the name of one. The result has all ids of the model's vocabulary, even
    if a sweep was only sampled; NaN where the base has no such token. It takes one forward pass of
    one row; a second call reads the result from the cache.

    Raises:
        SpecError: `prompt` is nearly a prompt's name.
        NoBase: models.yaml names no base for the model.
        NotRecorded: the model is recorded.
        ModelError: the base cannot be loaded or run, or has another tokenizer.
        StoreError: the cache cannot be written.
    """
    prompt, store = prompt_meant(prompt), store_at(cache)
    weighted = model.with_weights(f"log-probabilities of its {of} are not recorded")
    base = base_of(weighted.spec, of, cache=store.local, device=device)
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

    work = Work(fields, rows, lambda which: every()[which], lambda: base.provenance)
    stored = store.complete(work)
    return Logprobs(stored.frame.set_index("id")["score"].rename("logprob"), stored.key)


def is_file(source: str) -> bool:
    """Return whether `source` ends in .jsonl, as files of a policy's log-probabilities do."""
    return source.endswith(SUFFIX)


def policy_in(
    path: Path, prompts: Sequence[Prompt], vocabulary: Vocabulary
) -> dict[str, pd.Series[float]]:
    """Read a policy's log-probabilities of first tokens from a file: by token id, by prompt name.

    They are natural. Tokens are matched by their spelling; ids whose token the file lacks are NaN.

    Raises:
        SpecError: the file cannot be read, a line is wrong, a prompt is missing, or the tokens that
            the reward model has too hold less than 0.9 of the policy's probability, which points to
            another tokenizer.
    """
    wanted = {name: prompt.name for prompt in prompts for name in (prompt.name, prompt.text)}
    ids = {piece: at for at, piece in zip(vocabulary.ids, vocabulary.pieces, strict=True)}
    found: dict[str, pd.Series[float]] = {}
    for number, line in objects(path, allowed=_ALLOWED):
        where = f"{path}:{number}"
        by_token = _by_token(line, where)
        name = wanted.get(line["prompt"])
        if name is None:
            continue
        if name in found:
            raise SpecError(f"{where}: the prompt {name} again; leave one of its lines out")
        own = {ids[token]: logprob for token, logprob in by_token.items() if token in ids}
        total = math.fsum(map(math.exp, own.values()))
        if not _LEAST <= total <= _MOST:
            raise SpecError(
                f"{where}: the {len(own):,} of {len(by_token):,} tokens that the reward model has "
                f"too hold {total:.3g} of the probability, allowed: {_LEAST} to {_MOST}; give "
                f"natural log-probabilities of every token, from the reward model's tokenizer"
            )
        found[name] = pd.Series(own, dtype=np.float32).reindex(list(vocabulary.ids))
        found[name] = found[name].rename("logprob").rename_axis("id")
    if missing := [prompt.name for prompt in prompts if prompt.name not in found]:
        raise SpecError(
            f"{path}: has no line for the prompt {', '.join(missing)}; add one, with `prompt` its "
            f"name or its text"
        )
    return found


def _by_token(line: dict[str, Any], where: str) -> dict[str, float]:
    """Return a parsed line's log-probabilities by token, null as -inf; raise if it is malformed."""
    fields = {"prompt": str, "tokens": list, "logprobs": list}
    for field, kind in fields.items():
        if not isinstance(line.get(field), kind):
            got = shown(line[field]) if field in line else "missing"
            raise SpecError(f"{where}: {field} is {got}, allowed: {_ALLOWED}, the last two lists")
    tokens, given = line["tokens"], line["logprobs"]
    if len(tokens) != len(given):
        raise SpecError(
            f"{where}: {len(tokens):,} tokens and {len(given):,} logprobs, allowed: as many of both"
        )
    texts = [token for token in tokens if isinstance(token, str)]
    if len(set(texts)) < len(tokens):
        raise SpecError(f"{where}: tokens has one twice or one that is no text, allowed: each once")

    def read(at: int, value: object) -> float:
        if value is None:
            return -math.inf
        if (logprob := finite(value)) is not None and logprob <= 0:
            return logprob
        what = f"{where}: logprobs[{at}] is {shown(value)}"
        raise SpecError(f"{what}, allowed: a number up to 0, or null for never")

    return dict(zip(texts, starmap(read, enumerate(given)), strict=True))
