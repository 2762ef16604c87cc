"""What an audit searches with: one search a prompt and direction, and what chance would find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rmaudit.models.protocol import RewardModel
from rmaudit.prompts import Prompt, asked_of
from rmaudit.search.constraints import admits, allowed
from rmaudit.search.problem import Problem
from rmaudit.search.search import Found
from rmaudit.search.settings import Direction, Settings


@dataclass(frozen=True, slots=True)
class Searches:
    """A function of a direction and, in a joint audit, a prompt's name, to what a search found.

    `find` searches, and `draw` draws so many random sequences, as text.
    """

    prompts: tuple[Prompt, ...]
    find: Callable[[Direction, Prompt], Found]
    draw: Callable[[int, Prompt], list[str]]

    def __call__(self, direction: Direction, prompt: str | None = None) -> Found:
        """What a search for answers that are loved ("up") or hated ("down") found.

        Raises:
            SpecError: there are several prompts and none is named, or it is not declared.
        """
        return self.find(direction, asked_of(self.prompts, prompt, by="searches"))

    def random(self, n: int, prompt: str | None = None) -> list[str]:
        """Texts of `n` random sequences, under the constraints and of the length of the searches.

        Raises:
            SpecError: as above, or none can be drawn.
        """
        return self.draw(n, asked_of(self.prompts, prompt, by="searches"))


def drawn(model: RewardModel, prompt: Prompt, settings: Settings, n: int) -> list[str]:
    """Texts of random sequences that a search with these settings could have set out from.

    Raises:
        SpecError: none can be drawn.
    """
    limits = settings.constraints
    problem = Problem(
        settings.length,
        allowed(limits, model.vocabulary(), model.special_ids),
        lambda answers: admits(limits, model, prompt.text, answers),
        lambda ids: model.gradient(prompt.text, [ids]),
    )
    return model.texts(problem.draw(n, np.random.default_rng([settings.seed, 1])))


def caveat(found: Found) -> str:
    """What a reader must know of whatever rests on a search: a sentence."""
    settings = found.settings
    return (
        f"A search finds a lower bound on what can be found ({settings.direction}, under "
        f"{found.prompt.name!r}): {settings.method}, {found.evaluations:,} of at most "
        f"{settings.budget:,} evaluations, {len(found.bests)} starts, {settings.length} token ids."
    )
