"""Rewards of a file's prompts and answers: best-of-n samples, pairs, whatever is to be scored.

A line of the file is a JSON object with a `prompt` and a `response`, or `responses`. The answers to
one prompt are scored together: the prompt runs once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.checkpoints.reading import short
from rmaudit.config.cache_folder import default_cache
from rmaudit.errors import SpecError
from rmaudit.models.protocol import RewardModel, Scored
from rmaudit.models.recorded import Recorded
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores.protocols import Bar, measured_noise
from rmaudit.scores.sealed import Stored, checksum
from rmaudit.scores.store import Store
from rmaudit.scoring import VERSION

LONGEST = 200_000  # characters of a prompt or an answer: more is a slip, or does not fit a model


def read(path: Path) -> pd.DataFrame:
    """The answers of a JSON Lines file, in its order: columns `line`, `prompt`, `response`.

    A line is the number of its line in the file, from 1. Other fields are left alone.

    Raises:
        SpecError: FILE:LINE, what is wrong there, and what is allowed.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error}); give a JSON Lines file"
        raise SpecError(message) from None
    rows = [
        (number, *row)
        for number, line in enumerate(lines, start=1)
        if line.strip()
        for row in _answers(line, f"{path}:{number}")
    ]
    if not rows:
        example = '{"prompt": "What is love?", "response": "A song."}'
        raise SpecError(f"{path}: has no answers; a line is {example}, or has `responses`")
    return pd.DataFrame(rows, columns=["line", "prompt", "response"])


def _answers(line: bytes, where: str) -> Iterator[tuple[str, str]]:
    """The prompt with each response of a line."""
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{where}: no JSON ({error}); each line is one object") from None
    if not isinstance(found, dict):
        raise SpecError(f"{where}: {_short(found)}, allowed: an object with prompt and response")
    if "prompt" not in found or ("response" in found) == ("responses" in found):
        has = ", ".join(map(_short, found)) or "nothing"
        allowed = "allowed: `prompt`, and `response` or `responses`"
        raise SpecError(f"{where}: has {has}; {allowed}")
    prompt = _text(found["prompt"], f"{where}: prompt")
    given = found["responses"] if "responses" in found else [found["response"]]
    if not isinstance(given, list) or not given:
        raise SpecError(f"{where}: responses is {_short(given)}, allowed: a list of texts")
    for response in given:
        yield prompt, _text(response, f"{where}: response")


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{what} is {_short(value)}, allowed: a text")
    if len(value) > LONGEST:
        message = f"{what} has {len(value):,} characters, allowed: up to {LONGEST:,}; cut it, or "
        raise SpecError(f"{message}leave it out")
    return value


def rewards(
    model: Scored, answers: pd.DataFrame, *, cache: Path | None = None
) -> NDArray[np.float32]:
    """Shape (n,): the reward of each row of `answers`, which has `prompt` and `response`.

    Equal rows are scored once. What is scored is kept in the cache (default: the user's): a second
    call reads it, and one that was stopped goes on.

    Raises:
        ModelError: the model cannot be loaded, or lays out no such prompt; `NotRecorded`, it is
            recorded.
        ScoreError: a reward is not a finite number.
        StoreError: the cache cannot be written.
    """
    asked = answers[["prompt", "response"]].rename(columns={"response": "text"})
    rows = asked.drop_duplicates().sort_values(["prompt", "text"], ignore_index=True)
    store = Store(cache or default_cache())

    def computed(model: RewardModel) -> Stored:
        prompts = rows["prompt"].unique()
        slots = {prompt: model.slot(prompt) for prompt in prompts}
        rendered = json.dumps([slots[prompt].digest for prompt in prompts])

        def alone(prompt: str, text: str) -> float:
            slot = slots[prompt]
            row = (*slot.prefix, *model.ids(text), *slot.suffix)
            return float(model.own_rewards([row])[0])

        about = {
            "rendered": hashlib.sha256(rendered.encode()).hexdigest(),
            "scoring": str(VERSION),
            "protocol": "exact",
        }
        return _kept(model, rows, model.score_each, alone, about, store)

    def told(model: TextScorer) -> Stored:
        def alone(prompt: str, text: str) -> float:
            return float(model.score(prompt, [text])[0])

        return _kept(model, rows, model.score_each, alone, {"protocol": "text"}, store)

    def published(model: Recorded) -> Stored:
        raise model.unrecorded("answers of a file are not recorded")

    found = model.scores(computed=computed, told=told, published=published).frame
    scored: NDArray[np.float32] = asked.merge(found, how="left")["score"].to_numpy(np.float32)
    return scored


def _kept(  # noqa: PLR0913, PLR0917  (what is scored, by what, and where it is kept)
    model: Scored,
    rows: pd.DataFrame,
    score: Callable[..., NDArray[np.float32]],
    alone: Callable[[str, str], float],
    about: dict[str, str],
    store: Store,
) -> Stored:
    """Scored shard by shard, the rows of one prompt together."""
    fields = {**model.identity, **about, "answers": "of a file", "rows": checksum(rows)}
    with Bar(model.name, len(rows), " answers") as bar:

        def shard(which: slice) -> NDArray[np.float32]:
            prompts, texts = (rows[which][name].tolist() for name in ("prompt", "text"))
            return score(prompts, texts, on_progress=bar.advance)

        return store.fill(
            fields,
            rows,
            shard,
            lambda: model.provenance,
            measured=lambda made: measured_noise(made, lambda at: alone(*rows.iloc[at].tolist())),
            on_wait=bar.wait,
            on_found=bar.found,
            pace=model.pace,
        )


def _short(value: object) -> str:
    return short(repr(value))
