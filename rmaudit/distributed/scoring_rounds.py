"""Compute a run's missing scores in rounds on this machine, all or one part K/N of them.

`ray_scoring` uses a cluster. What a run needs may show only once other scores are there: a search
begins with the best of a sweep. So each round plans anew, and the rounds end when one tries nothing
new.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rmaudit.distributed.missing_scores import Need, Plan
from rmaudit.errors import RmauditError, SpecError
from rmaudit.runs.run_scores import FORWARDS, Scores

if TYPE_CHECKING:
    from rmaudit.scores.score_store import Store
    from rmaudit.scores.shard_scoring import Work

Planned = Callable[[], Plan]
Say = Callable[[str], None]


@dataclass
class Made:
    """The outcome of scoring in rounds: answers scored, failures, and scores still missing.

    Attributes:
        answers: how many were scored.
        failed: a title and the reason, by the key of the scores that failed.
        left: what the run still needs.
    """

    answers: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left: list[Need] = field(default_factory=list)


def make(plans: Sequence[Planned], part: Part | None = None, say: Say = lambda _: None) -> Made:
    """Compute the scores that the plans miss, or a `part` of them, here; return the outcome.

    A plan is of one model. With a `part`, others are left to other processes. `say` is called with
    a line for each need that is done.

    Raises:
        RmauditError: planning fails.
    """
    made = Made()
    for number, planned in enumerate(plans):
        _make_in_rounds(planned, made, partial(_is_of, part, number, len(plans)), say)
    return made


def _is_of(part: Part | None, model_number: int, model_count: int, task: str) -> bool:
    return part is None or part.has(task, model_number, model_count)


def _make_in_rounds(planned: Planned, made: Made, mine: Callable[[str], bool], say: Say) -> None:
    """Compute a model's missing scores as far as its tasks are `mine`, until nothing new is."""
    tried = set[str]()

    def own(task: str) -> bool:
        return mine(task) and task not in tried

    while True:
        plan, before = planned(), len(tried)
        todo = [need for need in plan.missing_needs if need.settled]
        for need in todo:
            with _recording_failure(made, need):
                made.answers += _score_shards(plan, need, own, tried, say)
        for need in sorted(todo, key=lambda need: not own(_joining_task(need))):
            over = need.key in made.failed or _joining_task(need) in tried
            if need.work is not None and not over:
                with _recording_failure(made, need):
                    _join_shards(plan.store, need, need.work, tried)
        if len(tried) == before:
            made.left += plan.missing_needs
            return


def title(need: Need) -> str:
    """Return a title for a set of needed scores: model, prompt and kind."""
    request = need.request
    return f"{request.spec.name} · {request.prompt.name} · {request.kind}"


def task_of(need: Need, shard: slice | None = None) -> str:
    """Return the name of a shard's scoring task, or a search's; its hash picks the part K/N.

    A search is one task, and so are the log-probabilities of a base, which are one forward.
    """
    start = 0 if shard is None or need.request.kind in FORWARDS else shard.start
    return f"{need.key}:{start}"


def _joining_task(need: Need) -> str:
    """Return the name of the task that joins the shards of a set of scores."""
    return f"{need.key}:whole"


@contextmanager
def _recording_failure(made: Made, need: Need) -> Iterator[None]:
    """Record an rmaudit error in the block as a failure to compute `need`, and go on."""
    try:
        yield
    except RmauditError as error:
        made.failed[need.key] = f"{title(need)}: {error}"


def _score_shards(
    plan: Plan, need: Need, own: Callable[[str], bool], tried: set[str], say: Say
) -> int:
    """Score the missing shards, or search, if `own` has the task; return how many were scored."""
    work, answers = need.work, 0
    if work is None:
        if own(task_of(need)):
            tried.add(task_of(need))
            Scores(plan.store, plan.device).again(need.model, need.request)
            answers = need.answers
    else:
        missing = [which for which in plan.store.missing(work) if own(task_of(need, which))]
        tried.update(task_of(need, which) for which in missing)
        bar = work.bar if missing else None
        with bar or nullcontext():
            for which in missing:
                plan.store.make(work, which)
                answers += which.stop - which.start
    if answers:
        say(f"{title(need)}: {answers:,} of {need.answers:,} answers")
    return answers


def _join_shards(store: Store, need: Need, work: Work, tried: set[str]) -> None:
    """Join the shards of a set of scores if all are stored and no process has joined them."""
    if not store.has(work.key) and not store.missing(work):
        tried.add(_joining_task(need))
        store.complete(work)


_DIGITS = 13  # hex digits of a hash that a float holds


class Part(NamedTuple):
    """One part of the work of a run, such as 3/16: `number` 3, from 1, of 16 parts."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, task: str, model_number: int, model_count: int) -> bool:
        """Return whether this part, and thus no other, does a task of this model.

        Models are numbered from 0. Each takes an equal share of the parts, so that a part loads few
        models.
        """
        drawn = int(hashlib.sha256(task.encode()).hexdigest()[:_DIGITS], 16) / 16**_DIGITS
        return int((model_number + drawn) * self.of / model_count) == self.number - 1


def part(given: str) -> Part:
    """Return the part that a text such as "3/16" names.

    Raises:
        SpecError: `given` is not written so, or its number is not among the parts.
    """
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", given)
    if found and 1 <= int(found[1]) <= int(found[2]):
        return Part(int(found[1]), int(found[2]))
    raise SpecError(f"--part: {given!r}; write 3/16 for the third of 16 parts")


def array_script(command: Sequence[str], jobs: int, settings: Mapping[str, str]) -> str:
    """Return a Slurm script (for sbatch) that runs `command` as an array of `jobs` jobs.

    `settings` are options of sbatch, such as `gres` or `partition`.
    """
    given = {"job-name": "rmaudit", "array": f"1-{jobs}"}
    given |= {name.replace("_", "-"): value for name, value in settings.items()}
    sweep = shlex.join(command)
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH --{name}={value}" for name, value in given.items()),
            "#SBATCH --requeue",
            f"{sweep} --part $SLURM_ARRAY_TASK_ID/{jobs}",
            "# Exit code 2: other parts have something left. When all have ended, submit it again,",
            f"# until this lists nothing: {sweep.replace(' sweep ', ' plan ', 1)} --missing",
        ]
    )
