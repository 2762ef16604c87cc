"""The paper's protocol: each id decoded, rendered and tokenized anew (`models.retokenized`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.models.protocol import RewardModel
from rmaudit.prompts import Prompt
from rmaudit.scores import numeric_noise
from rmaudit.scores.exact_protocol import come_from, decided_by
from rmaudit.scores.progress import Bar
from rmaudit.scores.store import Store, Stored, key_of


def scores(
    model: RewardModel, prompt: Prompt, rows: pd.DataFrame, *, store: Store, part: str = ""
) -> Stored:
    """The scores of `rows` (their `text` is what is rendered): of each distinct rendered row, one.

    Rendering a vocabulary takes many seconds, so the key names what the rendering is made from.
    The scores of the distinct rows are stored first, so that a killed run goes on.
    """
    slot = model.slot(prompt.text)
    fields = {
        **decided_by(model, prompt, slot, rows, part=part),
        "template": model.template_digest,
        "protocol": "paper",
    }
    if (found := store.read(key_of(fields))) is not None:
        return found
    rendered = model.retokenized(prompt.text, rows["text"].tolist())
    distinct = list(dict.fromkeys(rendered))
    digest = hashlib.sha256(json.dumps(rendered).encode()).hexdigest()

    def provenance() -> Mapping[str, str | int | float]:
        return {**come_from(model, slot), "distinct_rows": len(distinct), "rendered_rows": digest}

    def alone(place: int) -> float:
        return float(model.own_rewards([distinct[place]])[0])

    with Bar(f"{model.name} · {prompt.name} · paper", len(distinct), " rows") as bar:

        def score(which: slice) -> NDArray[np.float32]:
            bar.start(which)
            return model.score_rows(distinct[which], on_progress=bar.advance)

        once = store.fill(
            {**fields, "rendered_rows": digest},
            pd.DataFrame({"row": np.arange(len(distinct), dtype=np.int32)}),
            score,
            provenance,
            measured=lambda made: numeric_noise.measured(made, alone),
            on_wait=bar.wait,
        )
    place = {row: i for i, row in enumerate(distinct)}
    made = once.frame["score"].to_numpy()[[place[row] for row in rendered]]
    return store.fill(fields, rows, lambda which: made[which], lambda: once.provenance)
