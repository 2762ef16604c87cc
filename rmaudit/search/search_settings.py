"""Define a search's settings, and the problem that it poses: which sequences may be found.

The settings that a search's method uses are part of its result's cache key.

A sequence counts if it can be sent as text: each of its ids can be seen, none is a special or added
token's, and its text is tokenized into the same ids where answers stand. Single ids are checked in
one pass over the vocabulary; whole sequences when they are candidates of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import SpecError

if TYPE_CHECKING:
    from rmaudit.conversation import Asked
    from rmaudit.layout.tokenizers import Vocabulary
    from rmaudit.models.model_interfaces import RewardModel
    from rmaudit.scoring.gradient import Slopes

Ids = tuple[int, ...]
Direction = Literal["up", "down"]
Method = Literal["exhaustive", "gcg"]
DIRECTIONS, METHODS = get_args(Direction), get_args(Method)
LONGEST = 64  # ids of a sequence
_DRAWS = 100  # rounds of drawing before it is said that nothing can be drawn
_BROKEN = "\N{REPLACEMENT CHARACTER}"  # a part of a character: ids that are bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a search for a token sequence: all but the model and the prompt.

    Attributes:
        direction: "up" for what is loved, "down" for what is hated.
        length: token ids of the sequences.
        method: "exhaustive" sweeps the vocabulary at one place after the other, "gcg" follows the
            gradient.
        budget: how many sequences may be scored.
        seed: of every random draw.
        starts: from how many random sequences a search sets out, one after the other. The budget is
            shared evenly by those that are left.
        ids: no token ids but these may be in a sequence; None for all that can be sent as text.
        batch: swaps that a step of GCG scores.
    """

    direction: Direction = "up"
    length: int = 3
    method: Method = "exhaustive"
    budget: int = 200_000
    seed: int = 0
    starts: int = 8
    ids: tuple[int, ...] | None = None
    batch: int = 128

    def __post_init__(self) -> None:
        """Raise SpecError for a setting that is unknown or out of its range."""
        for name, value, known in (
            ("direction", self.direction, DIRECTIONS),
            ("method", self.method, METHODS),
        ):
            if value not in known:
                message = f"search: unknown {name} {value!r}; known: {', '.join(known)}"
                raise SpecError(message)
        if not 1 <= self.length <= LONGEST:
            message = f"search: length {self.length}; a sequence has 1 to {LONGEST} token ids"
            raise SpecError(message)
        for name, count, what in (
            ("budget", self.budget, "sequence to score, better 200000"),
            ("starts", self.starts, "start"),
            ("batch", self.batch, "swap"),
        ):
            if count < 1:
                message = f"search: {name} {count}; give at least 1 {what}"
                raise SpecError(message)
        if self.seed < 0:
            message = f"search: seed {self.seed}; give 0 or more"
            raise SpecError(message)

    def value(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that the search maximizes: ± rewards."""
        return rewards if self.direction == "up" else -rewards

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON values, without those that the method does not use.

        They stand beside the rules that hold for every search, as keys of kept searches have them.
        """
        said: dict[str, Any] = {
            "direction": self.direction,
            "length": self.length,
            "method": self.method,
            "budget": self.budget,
            "seed": self.seed,
            "start": None,
            "starts": self.starts,
            "constraints": {
                "printable": True,
                "ascii": False,
                "special": False,
                "round_trip": True,
                "words": False,
                "allow": None if self.ids is None else [f"#{i}" for i in self.ids],
                "deny": [],
                "floor": None,
            },
        }
        if self.method == "exhaustive":
            return said | {"beams": 1}
        fixed = {"top": 256, "greedy": True, "fresh": True, "distance": 1.0, "target": None}
        return said | {"gcg": {"batch": self.batch, **fixed}}


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """Hold what a search works on: length of sequences, allowed ids, constraints, and the gradient.

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
        partial(come_back, model),
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
