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
from rmaudit.scores.sweep import Rewards, Sweep, TextScores
from rmaudit.search.api import Found
from rmaudit.search.for_audits import Searches
from rmaudit.search.settings import Direction, Settings
from rmaudit.verdicts.records import Estimate

ROWS = 20_000  # tokens of a vocabulary that organisms are tried on
STARTS, DRAWS = 8, 250  # of a search of an organism, and what each start draws


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
    asks for no sweep. `fixtures` are the other arguments that the function takes; of `searches`
    the random sequences are used, of which an organism's search takes the best.

    Raises:
        RmauditError: what the audit raises.
    """

    def sweep(prompt: Prompt) -> Sweep:
        assert vocabulary is not None, "the audit asks for a sweep"  # noqa: S101
        scores = organism(vocabulary["text"].tolist(), prompt).astype(np.float32)
        return Sweep("organism", prompt, "", vocabulary.assign(score=scores), {})

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        return TextScores(organism(texts, prompt).astype(np.float32), 0.0, "")

    def find(direction: Direction, prompt: Prompt) -> Found:
        return _searched(organism, fixtures["searches"], direction, prompt)

    makers: dict[str, Callable[[], Any]] = {
        "sweep": lambda: sweep(prompts[0]),
        "sweeps": lambda: {prompt.name: sweep(prompt) for prompt in prompts},
        "rewards": lambda: Rewards(prompts, score),
        "searches": lambda: Searches(prompts, find, fixtures["searches"].draw),
    }
    given = {
        name: makers[name]() if name in makers else fixtures[name]
        for name in inspect.signature(function).parameters
    }
    return function(**given)


def _searched(
    organism: Organism, searches: Searches, direction: Direction, prompt: Prompt
) -> Found:
    """A random search of an organism, which sees texts and no ids."""
    settings = Settings(direction=direction, method="random", budget=STARTS * DRAWS, starts=STARTS)
    texts = searches.draw(settings.budget, prompt)
    scores = organism(texts, prompt).astype(np.float32)
    tried = pd.DataFrame(
        {
            "ids": [()] * len(texts),
            "text": texts,
            "score": scores,
            "evaluation": np.arange(len(texts)) + 1,
            "start": np.arange(len(texts)) * STARTS // len(texts),
        }
    )
    ranked = tried.sort_values("score", ascending=direction == "down", kind="stable")
    bests = ranked.drop_duplicates("start").sort_values("start", ignore_index=True)
    best = ranked.head(1)
    trace = tuple(zip(best["evaluation"].tolist(), best["score"].tolist(), strict=True))
    return Found(
        model="organism",
        prompt=prompt,
        settings=settings,
        key="",
        frame=ranked.drop_duplicates("text").head(100).reset_index(drop=True),
        bests=bests,
        trace=trace,
        evaluations=len(texts),
        noise=0.0,
        provenance={},
    )


def thinned(frame: pd.DataFrame, rows: int = ROWS) -> pd.DataFrame:
    """About `rows` of the frame's tokens: whole words, each with all of its spellings.

    Which words, only their spelling decides.
    """
    if len(frame) <= rows:
        return frame
    place = pd.util.hash_array(word_of(frame["text"]).to_numpy(dtype=object), categorize=True)
    kept = place < np.uint64(rows / len(frame) * 2.0**64)
    return frame[kept].reset_index(drop=True)
