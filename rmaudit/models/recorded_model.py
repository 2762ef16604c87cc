"""Describe a model known only by its published scores: no weights, no tokenizer, no torch.

Its scores are looked up in the imported tables (`rmaudit.scores.imported_scores`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, TypeVar

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NotRecorded
from rmaudit.models.external_scorer_batches import Pace

CAVEAT = (
    "Rests on scores that Christian et al. (2025, 2026) published, not on the weights: protocol, "
    "dtype and revision are theirs."
)

# What recorded scores are of, the field `answers` of their keys.
TOKENS, ITEMS, WORDS = "every token id", "items", "published words"

T = TypeVar("T")


class Recorded:
    """A model known only by its published scores; see `models.model_interfaces.Scored`."""

    takes: ClassVar[Literal["nothing"]] = "nothing"  # scores are looked up
    pace: Pace | None = None

    def __init__(self, spec: ModelSpec) -> None:
        """Take a models.yaml entry; its published scores are looked up when they are needed."""
        self.spec = spec
        self._remembered: dict[Hashable, Any] = {}

    @property
    def name(self) -> str:
        """Return the model's name in models.yaml."""
        return self.spec.name

    @property
    def identity(self) -> dict[str, str]:
        """Return the hub id, and a field that marks published scores in every cache key."""
        return {"recorded": "published scores", "model": self.spec.source}

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return where the published scores are from; dtype and revision are not known."""
        return {
            "source": f"published scores of {self.spec.source} (Christian et al. 2025)",
            "dtype": "the authors'",
            "revision": "the authors'",
            "noise measured": "no",
        }

    @property
    def files(self) -> tuple[str, ...]:
        """Return possible names of the CSV file of published scores; () if none are published."""
        source = self.spec.source
        published = "/" in source and not Path(source).expanduser().is_absolute()
        return (f"{source.replace('/', '--')}.csv", f"{self.name}.csv") if published else ()

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned for `key`; it is called once for each key."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: T = self._remembered[key]
        return found

    def with_weights(self, what: str) -> NoReturn:
        """Raise `NotRecorded`: this model has published scores only, and no weights."""
        raise self.unrecorded(what)

    def with_head(self) -> NoReturn:
        """Raise `NotRecorded`, as `with_weights`."""
        self.with_weights("a head is not recorded")

    def unrecorded(self, what: str, *, command: str | None = None) -> NotRecorded:
        """Return an error that says `what` and advises `command`, or else to score the weights."""
        score = f"pytest audits --model {self.name}"
        if not self.files:
            what = "its scores are not published, so nothing of it is recorded"
        elif command:
            what += "; its weights are scored if you do not ask for recorded scores"
        return NotRecorded(f"{self.name}: {what}", command=(self.files and command) or score)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""
