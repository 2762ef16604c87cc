"""Settings of a search; the settings that its method uses are part of the result's cache key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import SpecError

Direction = Literal["up", "down"]
Method = Literal["exhaustive", "gcg"]
DIRECTIONS, METHODS = get_args(Direction), get_args(Method)
LONGEST = 64  # ids of a sequence


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

    @property
    def sign(self) -> int:
        """Return 1 for a search for high rewards, -1 for low ones."""
        return 1 if self.direction == "up" else -1

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
