"""Score answers to a prompt as token ids, as Christian et al. 2025 did, or as texts.

The protocol "exact" puts each answer's own ids between the prompt and what follows it. "paper"
decodes, renders and tokenizes each answer anew, as Christian et al. 2025 did (`layout.layouts`). A
function that scores texts is called.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from rmaudit.layout.answer_slot import Slot
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import OWN_WORDS, TextScorer
from rmaudit.prompts import ALL, CUSTOM, Prompt
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Stored, checksum, key_of
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work
from rmaudit.scoring import version
from rmaudit.word_stems import listed

Row = tuple[int, ...]


def scored(  # noqa: PLR0913  (keyword-only after what is scored)
    model: RewardModel | TextScorer,
    prompt: Prompt,
    rows: pd.DataFrame,
    *,
    store: Store,
    protocol: str | None = None,
    part: str = "",
) -> Stored:
    """Return the scores of rows as answers to a prompt, from the store or made now.

    `rows` is stored with the scores: tokens (with their `token_id`) or any texts, in `text`. `part`
    names the part of the vocabulary that is scored; "" stands for all of it.

    Scores have the model's own units and are float32, in the column `score`.

    Raises:
        ModelError: the model cannot be loaded or cannot score.
        ScoreError: a score is not a finite number.
        StoreError: the store cannot be read or written.
    """
    if model.takes == "texts":
        work = _of_texts(model, prompt, rows, part=part)
    elif protocol == "paper":
        return _paper(model, prompt, rows, store=store, part=part)
    else:
        work = _of_ids(model, prompt, rows, part=part)
    return store.complete(work)


def _of_ids(model: RewardModel, prompt: Prompt, rows: pd.DataFrame, *, part: str) -> Work:
    """Return the task to score token ids as they are: those of tokens, or all ids of texts."""
    slot, tokens = model.slot(prompt.asked), "token_id" in rows
    answers = [(i,) for i in rows["token_id"].tolist()] if tokens else ids_of(model, rows["text"])
    bar = Bar(f"{model.name} · {prompt.name}", len(answers), " tokens" if tokens else " texts")
    return Work(
        {
            **_key_fields(model, prompt, slot, rows, part=part),
            "answers": _digest(answers),
            "protocol": "exact",
        },
        rows,
        lambda which: model.begin(prompt.asked, answers[which], on_progress=bar.advance),
        partial(provenance_of, model, slot, prompt),
        lambda places: model.own_rewards([slot.row(answers[i]) for i in places]),
        bar=bar,
        pace=model.pace,
        answers_a_call=partial(model.answers_a_call, prompt.asked),
    )


def ids_of(model: RewardModel, texts: Iterable[str]) -> list[Row]:
    """Return the token ids of each text, which `model` remembers, since many prompts share them."""
    given = listed(texts)
    digest = hashlib.sha256(json.dumps(given).encode()).hexdigest()
    found = model.remembered("ids", digest, lambda: model.tokenized(given))
    return [tuple(ids) for ids in found]


def _paper(
    model: RewardModel, prompt: Prompt, rows: pd.DataFrame, *, store: Store, part: str
) -> Stored:
    """Score each row's `text`, rendered and tokenized anew as by Christian et al. 2025; store it.

    The text is rendered with the chat template. Rows with equal token ids are scored once.

    Rendering a vocabulary takes many seconds, so the key names what the rendering is made from.
    The scores of the distinct rows are stored first, so that a killed run can be continued.
    """
    slot = model.slot(prompt.asked)
    fields = {
        **_key_fields(model, prompt, slot, rows, part=part),
        "template": model.template_digest,
        "protocol": "paper",
    }
    if (found := store.read(key_of(fields))) is not None:
        return found
    rendered = model.retokenized(prompt.asked, rows["text"].tolist())
    place = {row: i for i, row in enumerate(dict.fromkeys(rendered))}
    distinct = list(place)
    said = {"rendered_rows": _digest(rendered)}
    bar = Bar(f"{model.name} · {prompt.name} · paper", len(distinct), " rows")
    of_rows = Work(
        {**fields, **said},
        pd.DataFrame({"row": np.arange(len(distinct), dtype=np.int32)}),
        lambda which: model.begin_rows(distinct[which], on_progress=bar.advance),
        lambda: {**provenance_of(model, slot, prompt), **said, "distinct_rows": len(distinct)},
        lambda places: model.own_rewards([distinct[i] for i in places]),
        bar=bar,
        pace=model.pace,
        answers_a_call=partial(model.answers_a_call, prompt.asked),
    )
    once = store.complete(of_rows)
    made = once.frame["score"].to_numpy()[[place[row] for row in rendered]]
    return store.complete(Work(fields, rows, lambda which: made[which], lambda: once.provenance))


def _of_texts(model: TextScorer, prompt: Prompt, rows: pd.DataFrame, *, part: str) -> Work:
    """Return the task to score texts with a user's function.

    The cache key has the function's version, or else its source, since scores depend on it. The
    noise is how much the scores change when the function is called again.
    """
    texts, asked = rows["text"].tolist(), prompt.asked if model.takes_turns else prompt.text
    bar = Bar(f"{model.name} · {prompt.name}", len(texts), " texts")
    return Work(
        {
            **model.identity,
            **prompt.decides,
            "rows": checksum(rows),
            "protocol": "text",
            **({"part": part} if part else {}),
            **({"answers": OWN_WORDS} if model.of_words else {}),
        },
        rows,
        lambda which: model.score(asked, texts[which], on_progress=bar.advance),
        lambda: {**model.provenance, **_name_and_frame(prompt)},
        lambda places: np.concatenate([model.score(asked, [texts[i]]) for i in places]),
        bar=bar,
        pace=model.pace,
    )


def provenance_of(
    model: RewardModel, slot: Slot, prompt: Prompt | None = None
) -> Mapping[str, str | int | float]:
    """Return the provenance to store with scores: model, prompt and the text around the answers."""
    return {
        **_name_and_frame(prompt),
        **model.provenance,
        "prefix": slot.prefix_text,
        "suffix": slot.suffix_text,
        "prefix_ids": len(slot.prefix),
        "suffix_ids": len(slot.suffix),
    }


def _key_fields(
    model: RewardModel, prompt: Prompt, slot: Slot, rows: pd.DataFrame, *, part: str
) -> dict[str, str]:
    """Return the cache-key fields that `exact` and `paper` share: model, prompt, ids, rows."""
    return {
        **model.identity,
        **prompt.decides,
        "rendered": slot.digest,
        "rows": checksum(rows),
        "scoring": version(len(slot.prefix)),
        **({"part": part} if part else {}),
    }


def _name_and_frame(prompt: Prompt | None) -> dict[str, str | int]:
    """Return name and `frame` of a prompt that a user named; {} for rmaudit's or a bare text."""
    if prompt is None or ALL.get(prompt.name) == prompt or prompt.name == CUSTOM:
        return {}
    return {"prompt name": prompt.name, "frame": prompt.frame}


def _digest(rows: Sequence[Row]) -> str:
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
