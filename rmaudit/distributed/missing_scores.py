"""Find which scores a run needs, and which of them are missing, by dry runs of the audits.

Audits say what they need when they ask. `Needs` is a store that answers with what is there, and
notes what is not; in its place it gives random numbers, so that the audit goes on to its next
question. What an audit asks for only because of those numbers is not what it would ask for:
`settled` keeps the needs that two draws of them agree on, and the others are known later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rmaudit.errors import RmauditError
from rmaudit.runs.run_scores import Request, Scores
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Fields, Stored, key_of
from rmaudit.scores.score_store import Make, Store
from rmaudit.scores.shard_scoring import Work

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import Scored


class HeardEnough(RmauditError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Raised to end a dry run of an audit once its last request for scores is noted.

    The rest of the audit computes its measure.
    """


class NotMadeYet(RmauditError):  # noqa: N818  (a state of the world, as in FileNotFound)
    """Raised when the result of a search is missing, which hides all later requests for scores."""


@dataclass(frozen=True)
class Need:
    """The scores that one request of a run needs, and how many of them are missing.

    Attributes:
        request: the model, the prompt and the kind of scores.
        key: the store's key for the scores.
        answers: how many answers are scored in all; for a search, at most.
        missing: how many of them are missing.
        model: the model, to be scored.
        work: the shards; None for a search, which is one piece.
        settled: whether the need is certain; else it follows from random numbers in place of
            missing scores, and its key will be another.
    """

    request: Request
    key: str
    answers: int
    missing: int
    model: Scored
    work: Work | None = None
    settled: bool = True


@dataclass
class Needs(Store):
    """A stand-in for the score store: it computes nothing, and notes which scores are requested.

    Attributes:
        store: where the scores are, or will be.
        found: the requested scores, by key, in order; what is stored has 0 `missing`.
        turn: the seed of the random numbers in place of missing scores.
        patience: the number of the request that is noted and not answered; None for none.
        requests: how many requests there were.
        cut: whether a missing search hid later requests.
        device: the device on which a base model runs.
    """

    store: Store
    device: str = "auto"
    found: dict[str, Need] = field(default_factory=dict)
    turn: int = 0
    patience: int | None = None
    requests: int = 0
    cut: bool = False
    _asked: tuple[Scored, Request] | None = None

    def __post_init__(self) -> None:
        """Use the same files as `store`, the score store that this one stands in for."""
        super().__init__(self.store.files)

    @property
    def scores(self) -> Scores:
        """Return scores that note each call, and then raise or answer as above."""
        return Scores(self, self.device, on_request=self.on_request)

    def on_request(self, model: Scored, request: Request) -> None:
        """Remember and count a request; the scores looked up from now on belong to it."""
        self.requests += 1
        self._asked = model, request

    def ask(self, model: Scored, request: Request) -> None:
        """Note which scores a request needs, and which of them are missing.

        Raises:
            RmauditError: the model cannot be had, or the request makes no sense.
        """
        with suppress(NotMadeYet):
            self.scores.again(model, request)

    def complete(self, work: Work) -> Stored:
        """Note the need for scores; return them if they are stored, else random numbers.

        Raises:
            HeardEnough: they are not stored, and it is the run's last request (`patience`).
        """
        found = self.read(work.key)
        missing = [] if found is not None else self.store.missing(work)
        rows = sum(which.stop - which.start for which in missing)
        rows = rows or int(found is None)  # all shards are there, and are to be joined
        self._note(work.key, len(work.rows), rows, work)
        if found is not None:
            return found
        if self.requests == self.patience:
            raise HeardEnough("the last request is noted")
        seed = [self.turn, int(work.key[:8], 16)]
        scores = np.random.default_rng(seed).standard_normal(len(work.rows)).astype(np.float32)
        return Stored(work.key, work.rows.assign(score=scores), dict(work.fields), {"noise": 0.0})

    def once(self, fields: Fields, make: Make, bar: Bar | None = None) -> Stored:
        """Note the need for a search; return its stored result, or raise `NotMadeYet`."""
        del make, bar
        key = key_of(fields)
        settings = self._asked[1].given.get("settings") if self._asked else None
        budget = settings.budget if settings else 0
        found = self.read(key)
        self._note(key, budget, 0 if found is not None else budget, None)
        if found is None:
            self.cut = True
            raise NotMadeYet("the search has not been made")
        return found

    def any_missing(self, keys: Iterable[str]) -> bool:
        """Return whether scores of any of these keys are missing (random numbers stand in)."""
        return any(self.found[key].missing for key in keys if key in self.found)

    def _note(self, key: str, answers: int, missing: int, work: Work | None) -> None:
        if self._asked is not None and key not in self.found:
            model, request = self._asked
            self.found[key] = Need(request, key, answers, missing, model, work)


@dataclass(frozen=True)
class Plan:
    """The scores that a run needs, audits with unknown needs, and tests that cannot run.

    Attributes:
        store: where the scores are, or will be.
        needs: in the order in which audits ask.
        unknown: audits whose needs show only when they run.
        broken: the reasons why tests cannot run, by test.
        device: where models run.
    """

    store: Store
    needs: tuple[Need, ...]
    unknown: tuple[str, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    device: str = "auto"

    @property
    def missing_needs(self) -> list[Need]:
        """Return the needed scores that are partly or wholly missing."""
        return [need for need in self.needs if need.missing]


def settled(first: Mapping[str, Need], second: Mapping[str, Need]) -> dict[str, Need]:
    """Return a dry run's needs, as certain if a second one on other random scores has them too.

    The others follow from the random numbers in place of missing scores.
    """
    return {key: replace(need, settled=key in second) for key, need in first.items()}
