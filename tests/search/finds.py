"""What a search might have found, without a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.search.cached_search import SearchResult
from rmaudit.search.search_settings import Direction, Settings


def found(
    texts: Sequence[str],
    scores: Sequence[float],
    *,
    direction: Direction = "up",
    prompt: Prompt = PROMPTS["best"],
    model: str = "letters",
    key: str = "0f" * 32,
) -> SearchResult:
    """The best of each start, in their order; the whole search's best are the same."""
    count = len(texts)
    bests = pd.DataFrame(
        {
            "ids": [(place, place) for place in range(count)],
            "text": list(texts),
            "score": np.array(scores, dtype=np.float32),
            "evaluation": np.arange(1, count + 1) * 100,
            "start": np.arange(count),
        }
    )
    frame = bests.sort_values("score", ascending=direction == "down", ignore_index=True)
    settings = Settings(direction=direction, length=2, budget=1000, starts=count, seed=3)
    best = float(frame["score"].iloc[0])
    trace = ((1, float(bests["score"].iloc[0])), (100 * count, best))
    return SearchResult(model, prompt, settings, key, frame, bests, trace, 1000, 0.0)
