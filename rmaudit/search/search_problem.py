"""What a search works on: the ids that a sequence may hold, where it sets out, the gradient.

A sequence counts if it can be sent as text: each of its ids can be seen, none is a special or added
token's, and its text is tokenized into the same ids where answers stand. Single ids are checked in
one pass over the vocabulary; whole sequences when they are candidates of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rmaudit.conversation import Asked
from rmaudit.errors import SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.search.search_settings import Settings

if TYPE_CHECKING:
    from rmaudit.scoring.gradient import Slopes

Ids = tuple[int, ...]

_DRAWS = 100  # rounds of drawing before it is said that nothing can be drawn
_BROKEN = "\N{REPLACEMENT CHARACTER}"  # a part of a character: ids that are bytes


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
        """Return the answers that can be sent as text, in the order given."""
        if not answers:
            return []
        return [ids for ids, good in zip(answers, self.admits(answers), strict=True) if good]

    def draw(self, n: int, rng: np.random.Generator) -> list[Ids]:
        """Return n random sequences that can be sent as text, fewer if these are hard to draw.

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
            f"{len(self.allowed):,}, none has a text that gives back its ids; search with another "
            f"length"
        )
        raise SpecError(message)


def problem_of(model: RewardModel, prompt: Asked, settings: Settings) -> SearchProblem:
    """Return the search problem for answers to `prompt`.

    Raises:
        SpecError: no token id of the model may be in an answer.
    """
    allowed = sendable(model.vocabulary(), model.special_ids)
    if settings.ids is not None:
        allowed = allowed[np.isin(allowed, settings.ids)]
    if not len(allowed):
        raise SpecError("search: no token id of the model can be sent as text: nothing to search")
    return SearchProblem(
        settings.length,
        allowed,
        lambda answers: come_back(model, answers),
        lambda ids: model.gradient(prompt, [ids]),
    )


def sendable(vocabulary: Vocabulary, special_ids: Collection[int]) -> NDArray[np.int64]:
    """Return the token ids whose text can be seen and that are not special, ascending.

    A text can be seen that has a character other than a space, and none but the space that shows
    nothing (control, format, surrogate, private, unassigned and replacement characters; so no
    newline, no tab and no no-break space).
    """
    ids = np.array(vocabulary.ids, dtype=np.int64)
    seen = np.array(
        [
            text.isprintable() and bool(text.strip()) and _BROKEN not in text
            for text in vocabulary.texts
        ],
        dtype=bool,
    )
    return ids[seen & ~np.isin(ids, list(special_ids))]


def come_back(model: RewardModel, answers: Sequence[Ids]) -> NDArray[np.bool_]:
    """Return which answers' texts, tokenized where answers stand, give their ids, shape (n,)."""
    again = model.tokenized(model.texts(answers))
    same = (tuple(one) == other for one, other in zip(answers, again, strict=True))
    return np.fromiter(same, dtype=bool)
