"""Score answers as token ids, as Christian et al. 2025 did, or as texts; measure the numeric noise.

`exact` puts each answer's own ids between the prompt and what follows it. `paper` decodes, renders
and tokenizes each answer anew, as Christian et al. 2025 did (`layout.layouts`). `text` calls a
function that scores texts. Every stored set of scores carries its own measured noise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import ScoreError
from rmaudit.layout.answer_slot import Slot
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import OWN_WORDS, TextScorer
from rmaudit.prompts import ALL, CUSTOM, Prompt
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Stored, checksum, key_of
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work
from rmaudit.scores.token_sample import spread
from rmaudit.scoring import version

ANSWERS = 16  # scored once more, to measure the noise
Row = tuple[int, ...]


def exact(  # noqa: PLR0913  (keyword-only after what is scored and where it is kept)
    model: RewardModel,
    prompt: Prompt,
    answers: Sequence[Row],
    rows: pd.DataFrame,
    *,
    store: Store,
    part: str = "",
) -> Stored:
    """Return the scores of `answers` (tuples of ids, used as they are), from the store or made now.

    `rows` is stored with the scores, one row an answer. `part` names the part of the vocabulary
    that is scored; "" stands for all of it.

    Scores have the model's own units and are float32, in the column `score`.

    Raises:
        ModelError: the model cannot be loaded or cannot score.
        ScoreError: a score is not a finite number.
        StoreError: the store cannot be read or written.
    """
    slot = model.slot(prompt.asked)
    fields = {
        **_key_fields(model, prompt, slot, rows, part=part),
        "answers": _digest(answers),
        "protocol": "exact",
    }
    unit = " tokens" if "token_id" in rows else " texts"
    bar = Bar(f"{model.name} · {prompt.name}", len(answers), unit)

    def alone(places: Sequence[int]) -> NDArray[np.float32]:
        return model.own_rewards([(*slot.prefix, *answers[i], *slot.suffix) for i in places])

    return store.complete(
        Work(
            fields,
            rows,
            lambda which: model.begin(prompt.asked, answers[which], on_progress=bar.advance),
            lambda: provenance_of(model, slot, prompt),
            measured=lambda made: measured_noise(made, alone),
            bar=bar,
            pace=model.pace,
            answers_a_call=lambda: model.answers_a_call(prompt.asked),
        )
    )


def paper(
    model: RewardModel, prompt: Prompt, rows: pd.DataFrame, *, store: Store, part: str = ""
) -> Stored:
    """Score each row's `text`, rendered and tokenized anew as by Christian et al. 2025; store it.

    The text is rendered with the chat template. Rows with equal token ids are scored once.

    Rendering a vocabulary takes many seconds, so the key names what the rendering is made from.
    The scores of the distinct rows are stored first, so that a killed run can be continued.

    Units and errors are those of `exact`.
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
    distinct = list(dict.fromkeys(rendered))
    digest = _digest(rendered)

    def alone(places: Sequence[int]) -> NDArray[np.float32]:
        return model.own_rewards([distinct[i] for i in places])

    bar = Bar(f"{model.name} · {prompt.name} · paper", len(distinct), " rows")
    once = store.complete(
        Work(
            {**fields, "rendered_rows": digest},
            pd.DataFrame({"row": np.arange(len(distinct), dtype=np.int32)}),
            lambda which: model.begin_rows(distinct[which], on_progress=bar.advance),
            lambda: {
                **provenance_of(model, slot, prompt),
                "distinct_rows": len(distinct),
                "rendered_rows": digest,
            },
            measured=lambda made: measured_noise(made, alone),
            bar=bar,
            pace=model.pace,
            answers_a_call=lambda: model.answers_a_call(prompt.asked),
        )
    )
    place = {row: i for i, row in enumerate(distinct)}
    made = once.frame["score"].to_numpy()[[place[row] for row in rendered]]
    return store.complete(Work(fields, rows, lambda which: made[which], lambda: once.provenance))


def text(
    model: TextScorer, prompt: Prompt, rows: pd.DataFrame, *, store: Store, part: str = ""
) -> Stored:
    """Score the column `text` of n `rows` with a user's function; store and return the scores.

    The cache key has the function's version, or else its source, since scores depend on it. The
    noise is how much the scores change when the function is called again. Units and errors are
    those of `exact`.
    """
    texts, asked = rows["text"].tolist(), prompt.asked if model.takes_turns else prompt.text
    fields = {
        **model.identity,
        **prompt.decides,
        "rows": checksum(rows),
        "protocol": "text",
        **({"part": part} if part else {}),
        **({"answers": OWN_WORDS} if model.of_words else {}),
    }
    bar = Bar(f"{model.name} · {prompt.name}", len(texts), " texts")

    def alone(places: Sequence[int]) -> NDArray[np.float32]:
        return np.concatenate([model.score(asked, [texts[i]]) for i in places])

    return store.complete(
        Work(
            fields,
            rows,
            lambda which: model.score(asked, texts[which], on_progress=bar.advance),
            lambda: {**model.provenance, **_name_and_frame(prompt)},
            measured=lambda made: measured_noise(made, alone),
            bar=bar,
            pace=model.pace,
        )
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


def measured_noise(
    scores: NDArray[np.float32], alone: Callable[[Sequence[int]], NDArray[np.float32]]
) -> Mapping[str, float]:
    """Score up to 16 answers again, each by itself; return the rms difference as {"noise": ...}.

    Another path and a batch of another size add in another order; in half precision that moves a
    reward by far more than the last digit. `noise` is in the model's units. `scores` has shape
    (n,); `alone` scores the answers at some places, each by itself with the model's own forward.
    The places, at most `ANSWERS`, are spread over the answers and always the same.

    Raises:
        ScoreError: such a reward is not a finite number.
    """
    places = spread(len(scores), ANSWERS, np.random.default_rng(0))
    if not len(places):
        return {"noise": 0.0}
    again = np.asarray(alone(places.tolist()), dtype=np.float64)
    if not np.isfinite(again).all():
        message = (
            f"the model's own forward gives {again[~np.isfinite(again)][0]} for a row that the "
            f"engine scored; `rmaudit doctor` compares the two. Below float32, try --rm-dtype "
            f"float32"
        )
        raise ScoreError(message)
    return {"noise": float(np.sqrt(np.mean((again - scores[places]) ** 2)))}


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
