"""An audit, put to an organism in place of a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.measures.words import word_of
from rmaudit.organisms.nulls import Organism
from rmaudit.prompts import Prompt
from rmaudit.records import Estimate
from rmaudit.sweeps.sweep import Rewards, Scored, Sweep

ROWS = 20_000  # tokens of a vocabulary that organisms are tried on


def measure(
    function: Callable[..., Estimate],
    organism: Organism,
    *,
    vocabulary: pd.DataFrame | None,
    prompts: tuple[Prompt, ...],
    fixtures: Mapping[str, Any],
) -> Estimate:
    """What the audit `function` finds of the organism.

    `vocabulary` has a row for each token, with the columns of `Sweep.frame`; None if the audit
    asks for no sweep. `fixtures` are the other arguments that the function takes.

    Raises:
        RmauditError: what the audit raises.
    """

    def sweep(prompt: Prompt) -> Sweep:
        assert vocabulary is not None, "the audit asks for a sweep"  # noqa: S101
        scores = organism(vocabulary["text"].tolist(), prompt).astype(np.float32)
        return Sweep("organism", prompt, "", vocabulary.assign(score=scores), {})

    def score(texts: Sequence[str], prompt: Prompt) -> Scored:
        return Scored(organism(texts, prompt).astype(np.float32), 0.0, "")

    makers: dict[str, Callable[[], Any]] = {
        "sweep": lambda: sweep(prompts[0]),
        "sweeps": lambda: {prompt.name: sweep(prompt) for prompt in prompts},
        "rewards": lambda: Rewards(prompts, score),
    }
    given = {
        name: makers[name]() if name in makers else fixtures[name]
        for name in inspect.signature(function).parameters
    }
    return function(**given)


def thinned(frame: pd.DataFrame, rows: int = ROWS) -> pd.DataFrame:
    """About `rows` of the frame's tokens: whole words, each with all of its spellings.

    Which words, only their spelling decides.
    """
    if len(frame) <= rows:
        return frame
    place = pd.util.hash_array(word_of(frame["text"]).to_numpy(dtype=object), categorize=True)
    kept = place < np.uint64(rows / len(frame) * 2.0**64)
    return frame[kept].reset_index(drop=True)
