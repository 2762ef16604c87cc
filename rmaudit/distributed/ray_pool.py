"""Pool Ray actors that pull tasks, so that slow actors do not hold up fast ones.

An actor has one model. It is given a shard when it asks for one, which is when it has none; as many
actors open a model as its share of what is left is large. Where actors are, that they start again,
and that the shard at hand is given to them again, is Ray's to see to.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from rmaudit.config.scorer_functions import entry_of
from rmaudit.distributed.ray_actors import FileServer, ScoreMaker
from rmaudit.distributed.scoring_rounds import Made, Say, title
from rmaudit.runs.run_scores import FORWARDS
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_cache_files import LocalFiles
from rmaudit.scores.score_store import Store

if TYPE_CHECKING:
    from rmaudit.config.model_spec import ModelSpec
    from rmaudit.distributed.missing_scores import Need

_RETRIES = 3  # by Ray, of a task whose process has died
_TRIES = 3  # actors that may die of a task, or as they open a model, until it is given up
_AT_ONCE = 16  # operations of a server
_TO_CLOSE = 30.0  # seconds for an idle actor to free its weights
_PATIENCE = 20.0  # seconds without news, after which idle actors make room


@dataclass(eq=False)
class RayTask:
    """A task for a Ray actor: score the shard that begins at row `start`, or if None, finish.

    To finish (`start` None) is to join the shards once all are there, or to make a search. `died`
    is how many actors died of the task.
    """

    need: Need
    asked: Any  # the request, in Ray's object store
    start: int | None
    answers: int
    died: int = 0


@dataclass(eq=False)
class Pool:
    """A pool of up to `seats` Ray actors that compute scores; `each` has an actor's resources.

    Attributes:
        actors: all actors, with their models.
        busy: the task of each busy actor; None while it opens its model.
        last: the key of each actor's last task.
        open: how many shards of a need are missing, by key.
        died: how many actors died as they opened a model.
    """

    ray: Any
    store: Store
    device: str
    seats: int
    each: dict[str, float]
    say: Say
    queues: dict[ModelSpec, deque[RayTask]] = field(default_factory=dict)
    actors: dict[Any, ModelSpec] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, RayTask | None]] = field(default_factory=dict)
    last: dict[Any, str] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=dict)
    died: Counter[ModelSpec] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """If scores are in a local folder, start an actor that serves it to other nodes."""
        self._server, self._server_name, self._store_root = None, "", self.store.root
        if isinstance(self.store.files, LocalFiles):
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            node = self.ray.get_runtime_context().get_node_id()
            here = NodeAffinitySchedulingStrategy(node, soft=False)
            self._store_root = str(self.store.files.root.absolute())
            self._server_name = f"rmaudit-server-{uuid.uuid4().hex}"
            kept = self.ray.remote(FileServer).options(
                name=self._server_name,
                num_cpus=0,
                max_concurrency=_AT_ONCE,
                scheduling_strategy=here,
            )
            self._server = kept.remote(self._store_root)

    def make(self, needs: Sequence[Need], made: Made) -> None:
        """Compute the needed scores on Ray, and record successes and failures in `made`."""
        for need in needs:
            self._queue(need)
        began, before, told = time.monotonic(), made.answers, False
        bar = Bar("Ray", sum(need.missing for need in needs), " answers")
        with bar:
            while any(self.queues.values()) or any(task for _, task in self.busy.values()):
                self._assign_tasks()
                bar.say(f"workers: {len(self.actors)}")
                done, _ = self.ray.wait([*self.busy], timeout=_PATIENCE)
                for ref in done:
                    bar.advance(self._handle_result(ref, made))
                if not done:  # an idle one may hold what another waits for
                    self._end(*self.idle)
                    told = told or self._say_that_none_is_ready()
        self._end(*(actor for actor, _ in self.busy.values()))  # too late to be needed
        self.busy.clear()
        answers, seconds = made.answers - before, max(time.monotonic() - began, 1e-3)
        self.say(f"{answers:,} answers in {seconds:,.1f} s, {answers / seconds:,.0f} a second")

    def _say_that_none_is_ready(self) -> bool:
        """Say what the actors may wait for, unless one is at work; return whether it was said."""
        if any(task for _, task in self.busy.values()):
            return False
        each = ", ".join(f"{name} {number:g}" for name, number in self.each.items())
        why = f"they open their models, or wait until the cluster has room for each ({each})"
        self.say(f"no worker was ready in the last {_PATIENCE:g} s: {why}")
        return True

    def close(self) -> None:
        """End all actors: their unfinished work is lost, stored scores stay."""
        self._end(*self.actors)
        if self._server is not None:
            self.ray.kill(self._server)

    def _queue(self, need: Need) -> None:
        work, queue = need.work, self.queues.setdefault(need.model.spec, deque())
        given = dict(need.request.given)
        if "own_words" in given:  # a copy, which remembers no hash of the files of this node
            given["own_words"] = replace(given["own_words"])
        # The entry is as the run's options have made it.
        asked = self.ray.put(replace(need.request, spec=need.model.spec, given=given))
        sharded = work is not None and need.request.kind not in FORWARDS  # which is one forward
        shards = self.store.missing(work) if work is not None and sharded else []
        self.open[need.key] = len(shards)
        queue.extend(RayTask(need, asked, each.start, each.stop - each.start) for each in shards)
        if not shards:
            queue.append(RayTask(need, asked, None, 0 if sharded else need.missing))

    def _assign_tasks(self) -> None:
        """Give idle actors tasks of their models; start actors where there is or can be room."""
        for actor in [*self.idle]:
            if queue := self.queues[self.actors[actor]]:
                task = self._take_task(actor, queue)
                self.idle.remove(actor)
                self.last[actor] = task.need.key
                self.busy[actor.make.remote(task.asked, task.need.key, task.start)] = actor, task
        while (spec := self._neediest()) is not None:
            if len(self.actors) >= self.seats:
                if not self.idle:
                    return
                self._end(self.idle[0])  # its model has no task left
            self._start(spec)

    def _take_task(self, actor: Any, queue: deque[RayTask]) -> RayTask:  # noqa: ANN401  (Ray's)
        """Remove an actor's next task from the queue and return it; its last scores come first.

        Then come sets of scores that no other actor is at. Each actor plans a set of scores anew,
        and reads the whole vocabulary for it.
        """
        own, others = self.last.get(actor), {*self.last.values()}
        task = next((each for each in queue if each.need.key == own), None)
        task = task or next((each for each in queue if each.need.key not in others), queue[0])
        queue.remove(task)
        return task

    def _neediest(self) -> ModelSpec | None:
        """Return the model that most needs another actor: the one with the most tasks per actor.

        A model that enough actors are opening needs none; None if no model needs one.
        """
        opening = [self.actors[actor] for actor, task in self.busy.values() if task is None]
        having = [*self.actors.values()]
        left = {spec: len(queue) for spec, queue in self.queues.items()}
        models = [spec for spec, n in left.items() if n > opening.count(spec)]
        return max(models, key=lambda spec: left[spec] / (1 + having.count(spec)), default=None)

    def _start(self, spec: ModelSpec) -> None:
        function = entry_of(spec)
        module = function.function.__module__ if function else ""
        kind = self.ray.remote(ScoreMaker).options(
            max_restarts=-1, max_task_retries=_RETRIES, **self.each
        )
        actor = kind.remote(spec, module, self._store_root, self._server_name, self.device)
        self.actors[actor] = spec
        self.busy[actor.ready.remote()] = actor, None

    def _end(self, *actors: Any) -> None:  # noqa: ANN401  (Ray's)
        for actor in actors:
            if actor in self.idle:
                with suppress(self.ray.exceptions.RayError):  # a GPU is free once its memory is
                    self.ray.get(actor.close.remote(), timeout=_TO_CLOSE)
            self.ray.kill(actor)
            self.actors.pop(actor, None)
            self.last.pop(actor, None)
            if actor in self.idle:
                self.idle.remove(actor)

    def _handle_result(self, ref: Any, made: Made) -> int:  # noqa: ANN401  (Ray's)
        """Note in `made` what an actor returned, or retry; return how many answers it scored."""
        actor, task = self.busy.pop(ref)
        spec, died = self.actors[actor], False
        try:
            why = str(self.ray.get(ref))
        except self.ray.exceptions.RayTaskError as error:  # a fault of ours
            why = str(error).strip().splitlines()[-1]
        except self.ray.exceptions.RayError as error:
            died, why = True, str(error).strip().splitlines()[0]
        if died and self._retry(spec, task):
            why = ""
        elif why:
            self._fail(spec, task, why, made)
        elif task is not None:
            self._count_shard(task, self.queues[spec])
            made.answers += task.answers
        if died or (why and task is None):
            self._end(actor)  # another one is started, where there is room
        else:
            self.idle.append(actor)
        return 0 if died or why or task is None else task.answers

    def _retry(self, spec: ModelSpec, task: RayTask | None) -> bool:
        """Return whether to retry after an actor died; if so, put its task first in the queue."""
        if task is None:
            self.died[spec] += 1
            return self.died[spec] < _TRIES
        task.died += 1
        if task.died < _TRIES:
            self.queues[spec].appendleft(task)
        return task.died < _TRIES

    def _fail(self, spec: ModelSpec, task: RayTask | None, why: str, made: Made) -> None:
        """Fail the whole need of a task in `made` (None: all of the model's); unqueue its tasks."""
        queue = self.queues[spec]
        failed = [each.need for each in queue] if task is None else [task.need]
        made.failed |= {need.key: f"{title(need)}: {why}" for need in failed}
        left = [each for each in queue if each.need.key not in made.failed]
        queue.clear()
        queue.extend(left)

    def _count_shard(self, task: RayTask, queue: deque[RayTask]) -> None:
        """Count a scored shard, queue the joining of a set after its last; `say` it if finished."""
        need = task.need
        if task.start is None:
            with tqdm.external_write_mode():  # the bar makes room
                self.say(f"{title(need)}: {need.missing:,} of {need.answers:,} answers")
            return
        self.open[need.key] -= 1
        if not self.open[need.key]:
            queue.appendleft(RayTask(need, task.asked, None, 0))
