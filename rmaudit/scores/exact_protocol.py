"""The exact protocol: each answer's own ids between the prompt and what follows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.layout.slot import Slot
from rmaudit.models.protocol import RewardModel
from rmaudit.prompts import Prompt
from rmaudit.scores import numeric_noise
from rmaudit.scores.progress import Bar
from rmaudit.scores.store import Store, Stored, checksum
from rmaudit.scoring import VERSION


def scores(  # noqa: PLR0913  (keyword-only after what is scored and where it is kept)
    model: RewardModel,
    prompt: Prompt,
    answers: Sequence[tuple[int, ...]],
    rows: pd.DataFrame,
    *,
    store: Store,
    part: str = "",
) -> Stored:
    """The scores of `answers`, kept beside their `rows`; `part` says what these are a part of."""
    slot = model.slot(prompt.text)
    fields = {
        **decided_by(model, prompt, slot, rows, part=part),
        "answers": hashlib.sha256(json.dumps(answers).encode()).hexdigest(),
        "protocol": "exact",
    }
    unit = " tokens" if "token_id" in rows else " texts"
    with Bar(f"{model.name} · {prompt.name}", len(answers), unit) as bar:

        def score(which: slice) -> NDArray[np.float32]:
            bar.start(which)
            return model.score(prompt.text, answers[which], on_progress=bar.advance)

        def alone(place: int) -> float:
            row = (*slot.prefix, *answers[place], *slot.suffix)
            return float(model.own_rewards([row])[0])

        return store.fill(
            fields,
            rows,
            score,
            lambda: come_from(model, slot),
            measured=lambda made: numeric_noise.measured(made, alone),
            on_wait=bar.wait,
        )


def decided_by(
    model: RewardModel, prompt: Prompt, slot: Slot, rows: pd.DataFrame, *, part: str
) -> dict[str, str]:
    """What decides the scores under any protocol: fields of their key."""
    return {
        **model.identity,
        "prompt": prompt.text,
        "rendered": slot.digest,
        "rows": checksum(rows),
        "scoring": str(VERSION),
        **({"part": part} if part else {}),
    }


def come_from(model: RewardModel, slot: Slot) -> Mapping[str, str | int | float]:
    """What ran, and what stands around the answers."""
    return {
        **model.provenance,
        "prefix": slot.prefix_text,
        "suffix": slot.suffix_text,
        "prefix_ids": len(slot.prefix),
        "suffix_ids": len(slot.suffix),
    }
