"""Read files of prompts and answers, and score the answers with a reward model.

A line of the file is a JSON object with a `prompt`, which is a text or the turns of a conversation,
and a `response`, or `responses`. The answers to one prompt are scored together, so that the prompt
is processed once. `Samples` are a policy's own answers, several to a prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache as remembered
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.conversation import Asked, from_columns
from rmaudit.errors import SpecError
from rmaudit.models.model_interfaces import RewardModel, Scored
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores.json_lines import objects, prompt_columns, shown, text
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Fields, checksum, noise_of
from rmaudit.scores.score_store import Store, store_at
from rmaudit.scores.shard_scoring import Work
from rmaudit.scores.text_rewards import TextScores
from rmaudit.scoring import version

ASKED = ["prompt", "turns"]  # the columns of a prompt: its text, and the turns of a conversation
BUNDLED = Path(__file__).parents[1] / "references" / "samples" / "answers.jsonl"


@dataclass(frozen=True, slots=True)
class Answered:
    """A table of prompts, answers and a model's rewards: what audits of whole answers take.

    Attributes:
        frame: a row for each answer: `prompt`, `turns` (of a conversation, in JSON, else ""),
            `response`, and `reward`, float32 in the model's own units; NaN before anything is
            scored.
        source: where the answers come from, in words.
        noise: the numeric noise of a reward, in the same units; NaN if it was not measured.
        key: the key of the rewards in the store.
    """

    frame: pd.DataFrame
    source: str
    noise: float = float("nan")
    key: str = ""

    def scored(self, found: TextScores) -> Self:
        """Return the answers with these rewards, their noise and key; n scores of n rows."""
        frame = self.frame.assign(reward=found.scores)
        return replace(self, frame=frame, noise=found.noise, key=found.key)


@dataclass(frozen=True, slots=True)
class Samples(Answered):
    """Answers that a policy sampled, in the file's order, with a model's rewards.

    A line may occur twice in the file: then the policy sampled the same answer twice.
    """


def read(path: Path) -> pd.DataFrame:
    """Return the answers in a JSON Lines file: columns `line`, `prompt`, `turns` and `response`.

    `line` is the number of its line in the file, from 1. Other fields are left alone.

    Raises:
        SpecError: FILE:LINE, what is wrong there, and what is allowed.
    """
    rows = [
        (number, *row)
        for number, line in objects(path, allowed="an object with prompt and response")
        for row in _responses_of_line(line, f"{path}:{number}")
    ]
    if not rows:
        example = '{"prompt": "What is love?", "response": "A song."}'
        raise SpecError(f"{path}: has no answers; a line is {example}, or has `responses`")
    return pd.DataFrame(rows, columns=["line", *ASKED, "response"])


def read_samples(path: Path | None) -> Samples:
    """Return the samples in a JSON Lines file, without rewards; the bundled ones if `path` is None.

    Raises:
        SpecError: as `read`.
    """
    found = read(path or BUNDLED)[[*ASKED, "response"]]
    name = path.name if path else "SmolLM2-135M-Instruct, bundled"
    prompts = len(found[ASKED].drop_duplicates())
    to = "1 prompt" if prompts == 1 else f"{prompts:,} prompts"
    source = f"{len(found):,} answers to {to} of {name}, {checksum(found)[:12]}"
    return Samples(found.assign(reward=float("nan")), source)


def _responses_of_line(found: dict[str, Any], where: str) -> Iterator[tuple[str, str, str]]:
    """Yield (prompt, turns, response) of each response in a parsed line; `where` begins errors."""
    if "prompt" not in found or ("response" in found) == ("responses" in found):
        has = ", ".join(map(shown, found)) or "nothing"
        allowed = "allowed: `prompt`, and `response` or `responses`"
        raise SpecError(f"{where}: has {has}; {allowed}")
    prompt = prompt_columns(found["prompt"], f"{where}: prompt")
    given = found["responses"] if "responses" in found else [found["response"]]
    if not isinstance(given, list) or not given:
        raise SpecError(f"{where}: responses is {shown(given)}, allowed: a list of texts")
    for response in given:
        yield *prompt, text(response, f"{where}: response")


def rewards(
    model: Scored, answers: pd.DataFrame, *, cache: Path | str | Store | None = None
) -> TextScores:
    """Return a model's reward for each row of `answers` (columns `prompt`, `turns`, `response`).

    Without the column `turns` all prompts are texts.

    Equal rows are scored once. Rewards are kept in the cache (default: the user's): a second call
    reads them, and after an interruption a call scores only what is missing. If rows were added or
    changed since, only these are scored.

    Raises:
        ModelError: the model cannot be loaded, or cannot lay out such a prompt; `NotRecorded`, the
            model is recorded.
        ScoreError: a reward is not a finite number.
        StoreError: the cache cannot be written.
    """
    given = answers if "turns" in answers else answers.assign(turns="")
    asked = given[[*ASKED, "response"]].rename(columns={"response": "text"})
    rows = asked.drop_duplicates().sort_values([*ASKED, "text"], ignore_index=True)
    if model.takes == "nothing":
        raise model.unrecorded("answers of a file are not recorded")
    store = store_at(cache)
    found = store.complete(_work(model, rows, store))
    scored = asked.merge(found.frame, how="left")["score"].to_numpy(np.float32)
    return TextScores(scored, noise_of(found.frame, found.provenance), found.key)


def _work(model: RewardModel | TextScorer, rows: pd.DataFrame, store: Store) -> Work:
    """Return the task to score all rows, each answer to its own prompt.

    Rows that `store` has in tables of other rows are not scored again.
    """
    texts: list[str] = rows["text"].tolist()
    asked: list[Asked] = rows["prompt"].tolist()
    if model.takes != "texts" or model.takes_turns:
        asked = [from_columns(prompt, turns) for prompt, turns in rows[ASKED].to_numpy().tolist()]
    fields = {**model.identity, "answers": "of a file", "rows": checksum(rows)}
    if model.takes == "texts":
        fields["protocol"] = "text"

        def alone(places: Sequence[int]) -> NDArray[np.float32]:
            return np.concatenate([model.score(asked[i], [texts[i]]) for i in places])

    else:
        slots = {prompt: model.slot(prompt) for prompt in asked}
        rendered = json.dumps([slot.digest for slot in slots.values()])
        fields["rendered"] = hashlib.sha256(rendered.encode()).hexdigest()
        fields["scoring"] = version(max((len(slot.prefix) for slot in slots.values()), default=0))
        fields["protocol"] = "exact"

        def alone(places: Sequence[int]) -> NDArray[np.float32]:
            return model.own_rewards([slots[asked[i]].row(model.ids(texts[i])) for i in places])

    bar = Bar(model.name, len(rows), " answers")
    known = remembered(lambda: _scored_before(model, rows, fields, store))

    def score(which: slice) -> NDArray[np.float32]:
        made = known()[which].copy()
        new = np.flatnonzero(np.isnan(made))
        bar.found(len(made) - len(new))
        at = (new + which.start).tolist()
        if at:
            given = [asked[i] for i in at], [texts[i] for i in at]
            made[new] = model.score_each(*given, on_progress=bar.advance)
        return made

    return Work(
        fields,
        rows,
        score,
        lambda: model.provenance,
        alone,
        bar=bar,
        pace=model.pace,
    )


def _scored_before(
    model: RewardModel | TextScorer, rows: pd.DataFrame, fields: Fields, store: Store
) -> NDArray[np.float32]:
    """Return each row's reward in earlier tables in `store`, NaN where there is none.

    A table counts only if the model would lay out all its rows today as it did then.
    """
    of_rows = ("rows", "rendered")  # the fields that differ from table to table
    common = {name: value for name, value in fields.items() if name not in of_rows}
    scores = np.full(len(rows), np.nan, dtype=np.float32)
    for before in store.tables_with(common):
        there = rows.merge(before.frame, how="left")["score"].to_numpy(np.float32)
        wanted = np.isnan(scores) & ~np.isnan(there)
        if wanted.any() and _work(model, before.frame[list(rows)], store).key == before.key:
            scores[wanted] = there[wanted]
    return scores
