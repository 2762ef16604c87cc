"""Settings of a search; the settings that its method uses are part of the result's cache key."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import SpecError
from rmaudit.search.constraints import Constraints

Direction = Literal["up", "down"]
Method = Literal["exhaustive", "gcg", "random"]
DIRECTIONS, METHODS = get_args(Direction), get_args(Method)
LONGEST = 64  # ids of a sequence
WIDEST = 10  # beams: as many as a step keeps of what it scored


@dataclass(frozen=True, slots=True)
class Gcg:
    """Settings of GCG (greedy coordinate gradient), three of them for its variant Faster-GCG.

    Attributes:
        batch: swaps that are scored in a step.
        top: ids of each place from which plain GCG draws its swaps (its k).
        greedy: the swaps of the highest predicted gain are tried, instead of drawn ones.
        fresh: no sequence is tried twice.
        distance: weight of the distance between an id's embedding and that of the id it replaces,
            which is how far the gradient is trusted; 0 is plain GCG's. In units of the gains' own
            sd at the mean distance, so that it means the same for every model.
        target: the authors' objective, the squared difference of the reward from this one, instead
            of the reward itself. In the model's own units.

    Plain GCG: Zou et al. 2023, arXiv:2307.15043, algorithm 1. Faster-GCG: Li et al. 2024,
    arXiv:2410.15362, section 3. Squared error: Christian et al. 2025, section 5.
    """

    batch: int = 128
    top: int = 256
    greedy: bool = True
    fresh: bool = True
    distance: float = 1.0
    target: float | None = None

    def __post_init__(self) -> None:
        """Raise SpecError for a setting out of its range."""
        for name, value in (("batch", self.batch), ("top", self.top)):
            if value < 1:
                message = f"GCG: {name} {value}; at least 1 is needed"
                raise SpecError(message)
        if not 0 <= self.distance < float("inf"):
            message = f"GCG: distance {self.distance}; 0 (plain GCG) or more is needed"
            raise SpecError(message)
        if self.target is not None and not np.isfinite(self.target):
            message = f"GCG: target {self.target}; give a finite reward, such as 10 or -10"
            raise SpecError(message)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a search for a token sequence: all but the model and the prompt.

    Attributes:
        direction: "up" for what is loved, "down" for what is hated.
        length: token ids of the sequences.
        method: "exhaustive" sweeps the vocabulary at one place after the other, "gcg" follows the
            gradient, "random" draws.
        budget: how many sequences may be scored.
        seed: of every random draw.
        start: the text that the first start is; None for a random one.
        starts: from how many sequences a search sets out, one after the other; those after `start`
            are random. The budget is shared evenly by those that are left.
        beams: how many sequences an exhaustive search follows from one start.
        constraints: what a sequence may hold.
        gcg: what only GCG has.
    """

    direction: Direction = "up"
    length: int = 3
    method: Method = "exhaustive"
    budget: int = 200_000
    seed: int = 0
    start: str | None = None
    starts: int = 8
    beams: int = 1
    constraints: Constraints = field(default_factory=Constraints)
    gcg: Gcg = field(default_factory=Gcg)

    def __post_init__(self) -> None:
        """Raise SpecError for a setting that is unknown or out of its range."""
        if self.start == "":
            message = "search: the start '' has no token; give a text, or leave it out"
            raise SpecError(message)
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
        ):
            if count < 1:
                message = f"search: {name} {count}; give at least 1 {what}"
                raise SpecError(message)
        if self.seed < 0:
            message = f"search: seed {self.seed}; give 0 or more"
            raise SpecError(message)
        if not 1 <= self.beams <= WIDEST:
            message = f"search: beams {self.beams}; an exhaustive search has 1 to {WIDEST}"
            raise SpecError(message)
        self._refuse_what_the_method_has_not()

    def _refuse_what_the_method_has_not(self) -> None:
        if self.gcg.target is not None and self.method != "gcg":
            message = f"search: a target is for method 'gcg', not {self.method!r}; leave it out"
            raise SpecError(message)
        if self.beams > 1 and self.method != "exhaustive":
            message = (
                f"search: beams are for method 'exhaustive', not {self.method!r}; leave them out"
            )
            raise SpecError(message)

    def value(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that the search maximizes: ± rewards, or negated squared errors."""
        if self.gcg.target is not None:
            return -((rewards - self.gcg.target) ** 2)
        return rewards if self.direction == "up" else -rewards

    def slope(self, reward: float) -> float:
        """Return the derivative of `value`, the maximized number, with respect to the reward."""
        if self.gcg.target is not None:
            return 2 * (self.gcg.target - reward)
        return 1.0 if self.direction == "up" else -1.0

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON values, without those that the method does not use."""
        said = asdict(self)
        if self.method != "gcg":
            del said["gcg"]
        if self.method != "exhaustive":
            del said["beams"]
        return said
