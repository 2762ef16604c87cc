"""Scores that a run lacks are made: here, one after the other, or a part of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from rmaudit.distributed.needs import Need, Plan
from rmaudit.distributed.parts import Part
from rmaudit.errors import RmauditError
from rmaudit.runs.requests import answer
from rmaudit.scores.store import Store, Work

Planned = Callable[[], Plan]
Told = Callable[[str], None]


@dataclass
class Made:
    """What came of it.

    Attributes:
        answers: how many were scored.
        failed: what could not be scored, by key: what it is, and the reason.
        left: what the run still lacks.
    """

    answers: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left: list[Need] = field(default_factory=list)

    def add(self, other: Made) -> None:
        """Count another one's in."""
        self.answers += other.answers
        self.failed.update(other.failed)
        self.left += other.left


def make(
    planned: Planned,
    part: Part | None = None,
    *,
    place: int = 0,
    models: int = 1,
    told: Told = lambda _: None,
) -> Made:
    """Make what lacks, and then what is known to lack once that is there, until nothing is left.

    With a `part`, what is not its own is left to the others; `place` is the model's among so many
    `models`. `told` is given a line for each that is done.
    """
    made, tried = Made(), set[str]()

    def own(task: str) -> bool:
        mine = part is None or part.has(task, place, models)
        return mine and task not in tried

    while True:
        plan = planned()
        todo = [need for need in plan.lacking if need.settled]
        before = len(tried)
        for need in todo:
            with _failing(made, need):
                made.answers += _shards(plan, need, own, tried, told)
        for need in sorted(todo, key=lambda need: not own(_whole(need))):
            if need.work is not None and need.key not in made.failed and _whole(need) not in tried:
                with _failing(made, need):
                    _join(plan.store, need, need.work, tried)
        if len(tried) == before:
            made.left = plan.lacking
            return made


def title(need: Need) -> str:
    """What a need is called in a list."""
    request = need.request
    return f"{request.spec.name} · {request.prompt.name} · {request.kind}"


def task_of(need: Need, which: slice | None = None) -> str:
    """What a shard of a need is called, by which it falls to a part.

    A search is one task, and so is what a base says, which is one forward.
    """
    start = 0 if which is None or need.request.kind == "base" else which.start
    return f"{need.key}:{start}"


def _whole(need: Need) -> str:
    """What the joining of a need's shards is called."""
    return f"{need.key}:whole"


@contextmanager
def _failing(made: Made, need: Need) -> Iterator[None]:
    """What cannot be made is noted, and the rest goes on."""
    try:
        yield
    except RmauditError as error:
        made.failed[need.key] = f"{title(need)}: {error}"


def _shards(plan: Plan, need: Need, own: Callable[[str], bool], tried: set[str], told: Told) -> int:
    """Make one's own shards of a need, and say how many answers that were."""
    work, answers = need.work, 0
    if work is None:
        if own(task_of(need)):
            tried.add(task_of(need))
            answer(need.request, need.model, plan.store, plan.device)
            answers = need.answers
    else:
        missing = [which for which in plan.store.missing(work) if own(task_of(need, which))]
        tried.update(task_of(need, which) for which in missing)
        with work.shown if missing else nullcontext():
            for which in missing:
                plan.store.make(work, which)
                answers += which.stop - which.start
    if answers:
        told(f"{title(need)}: {answers:,} of {need.answers:,} answers")
    return answers


def _join(store: Store, need: Need, work: Work, tried: set[str]) -> None:
    """Join the shards of a need once all are there, whoever made them."""
    if not store.has(work.key) and not store.missing(work):
        tried.add(_whole(need))
        store.complete(work)
