"""What a search works on: allowed ids, starting sequences, constraints and the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rmaudit.conversation import Asked
from rmaudit.errors import SpecError
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.search.constraints import Constraints, admits, allowed
from rmaudit.search.search_settings import Settings

if TYPE_CHECKING:
    from rmaudit.scoring.gradient import Slopes

Ids = tuple[int, ...]

_DRAWS = 100  # rounds of drawing before it is said that nothing can be drawn


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """What a search works on: length of sequences, allowed ids, constraints, and the gradient.

    Attributes:
        length: ids of every sequence.
        allowed: the ids that any place may hold, ascending.
        admits: which of n sequences may be found, shape (n,).
        gradient: the slopes of a sequence.
    """

    length: int
    allowed: NDArray[np.int64]
    admits: Callable[[Sequence[Ids]], NDArray[np.bool_]]
    gradient: Callable[[Ids], Slopes]

    def admitted(self, answers: Sequence[Ids]) -> list[Ids]:
        """Return the answers that the constraints admit, in the order given."""
        if not answers:
            return []
        return [ids for ids, good in zip(answers, self.admits(answers), strict=True) if good]

    def outside(self, ids: Ids) -> list[int]:
        """Return the positions that hold an id not allowed, as only a user's start text can."""
        near = np.minimum(np.searchsorted(self.allowed, ids), len(self.allowed) - 1)
        return np.flatnonzero(self.allowed[near] != ids).tolist()

    def draw(self, n: int, rng: np.random.Generator) -> list[Ids]:
        """Return n random sequences that fulfil the constraints, fewer if these are hard to draw.

        Raises:
            SpecError: none can be drawn.
        """
        drawn: list[Ids] = []
        for _ in range(_DRAWS):
            some = rng.choice(self.allowed, size=(n, self.length))
            drawn += self.admitted([tuple(ids) for ids in some.tolist()])
            if len(drawn) >= n:
                return drawn[:n]
        if drawn:
            return drawn
        message = (
            f"search: of {_DRAWS * n:,} sequences of {self.length} ids, drawn from "
            f"{len(self.allowed):,}, none is admitted by the constraints; relax them"
        )
        raise SpecError(message)


def problem_of(
    model: RewardModel, prompt: Asked, length: int, limits: Constraints
) -> SearchProblem:
    """Return the search problem for answers of `length` ids to `prompt`, under `limits`.

    Raises:
        SpecError: the constraints leave no id.
    """
    return SearchProblem(
        length,
        allowed(limits, model.vocabulary(), model.special_ids),
        lambda answers: admits(limits, model, prompt, answers),
        lambda ids: model.gradient(prompt, [ids]),
    )


def starts(
    model: RewardModel, problem: SearchProblem, settings: Settings, rng: np.random.Generator
) -> list[Ids]:
    """Return a search's starting sequences: the start text of `settings`, if any, and random ones.

    The constraints do not hold for a start text, since a search only sets out from it. A search
    first replaces its ids that are not allowed; no sequence that still has one counts as found.

    Raises:
        SpecError: the text is of another length in this model's tokens, or none can be drawn.
    """
    text = settings.start
    first = [] if text is None else [_ids_of_start_text(model, text, problem.length)]
    missing = settings.starts - len(first)
    return first + (problem.draw(missing, rng) if missing else [])


def _ids_of_start_text(model: RewardModel, text: str, length: int) -> Ids:
    ids = model.ids(text)
    if len(ids) != length:
        plural = "" if len(ids) == 1 else "s"
        message = (
            f"search: the start {text!r} is {len(ids)} token{plural} of {model.name}, and the "
            f"length is {length}; search with length {len(ids)}, or give another start"
        )
        raise SpecError(message)
    return ids
