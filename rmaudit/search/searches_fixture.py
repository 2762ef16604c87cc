"""The fixture `searches` of audits, and random sequences to compare its finds with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rmaudit.models.model_interfaces import RewardModel
from rmaudit.prompts import Prompt, asked_of
from rmaudit.search.cached_search import SearchResult
from rmaudit.search.search_problem import problem_of, sendable
from rmaudit.search.search_settings import Direction, Settings


@dataclass(frozen=True, slots=True)
class Searches:
    """Pytest fixture `searches`: call it with "up" or "down" to get what such a search found.

    `find` searches, and `draw` draws so many random sequences, as text.
    """

    prompts: tuple[Prompt, ...]
    find: Callable[[Direction, Prompt], SearchResult]
    draw: Callable[[int, Prompt], list[str]]

    def __call__(self, direction: Direction, prompt: str | None = None) -> SearchResult:
        """Return what a search for the highest ("up") or lowest ("down") rewards found.

        Raises:
            SpecError: there are several prompts and none is named, or it is not declared.
        """
        return self.find(direction, asked_of(self.prompts, prompt, by="searches"))

    def random(self, n: int, prompt: str | None = None) -> list[str]:
        """Return `n` random texts, with the length of the searches, that can be sent as text.

        Raises:
            SpecError: as above, or none can be drawn.
        """
        return self.draw(n, asked_of(self.prompts, prompt, by="searches"))


def random_texts(model: RewardModel, prompt: Prompt, settings: Settings, n: int) -> list[str]:
    """Return `n` random texts from which a search with these settings could have started.

    Raises:
        SpecError: none can be drawn.
    """

    def make() -> list[str]:
        problem = problem_of(model, prompt.asked, settings)
        return model.texts(problem.draw(n, np.random.default_rng([settings.seed, 1])))

    found: list[str] = model.remembered("drawn", repr((prompt.asked, settings, n)), make)
    return found


def shortlisted(model: RewardModel, frame: pd.DataFrame, settings: Settings) -> Settings:
    """Return `settings` limited to the token ids that score best alone, as answers in `frame`.

    `frame` is a sweep's. The ids are as many as the budget can sweep twice at every place from
    every start. A budget that is smaller than a vocabulary would else be spent on the first few ids
    of one place. Where all ids can be swept, all are.
    """
    ids = sendable(model.vocabulary(), model.special_ids)
    size = max(2, settings.budget // (2 * settings.starts * settings.length))
    scored = frame[frame["token_id"].isin(ids) & frame["score"].notna()]
    if size >= len(scored):
        return settings
    values = settings.value(scored["score"].to_numpy(np.float64))
    best = scored["token_id"].to_numpy()[np.argsort(-values, kind="stable")[:size]]
    return replace(settings, ids=tuple(sorted(best.tolist())))


def caveat(found: SearchResult) -> str:
    """Return a caveat on numbers that rest on a search: its finds are only a lower bound."""
    settings = found.settings
    ids = settings.ids
    among = "" if ids is None else f", among the {len(ids)} ids that score best alone"
    return (
        f"A search finds a lower bound on what can be found ({settings.direction}, under "
        f"{found.prompt.name!r}): {settings.method}, {found.evaluations:,} of at most "
        f"{settings.budget:,} evaluations, {len(found.bests)} starts, {settings.length} token ids"
        f"{among}."
    )
