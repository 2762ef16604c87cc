"""Score many answers to one prompt exactly, running the prompt only once.

The row that the model would see is prefix + answer + suffix. The prefix runs once; each answer runs
with the suffix only (`row_runners` has the ways in which backbones can do so). Rows are grouped by
length, and equal rows run once. None is padded, but for small groups on a GPU: those are one batch,
and ids that no earlier one can see follow the shorter rows. The reward is read where transformers'
rule for sequence classification reads it on an unpadded row: at the rightmost id that is not the
pad id, or at the last id where the scorer has no pad id; encoders are read at the first, and some
heads at the last place of a token of their own (`pooled_at`). In a causal backbone what comes after
that place cannot matter, so it is not run.

Peak memory beyond the weights: the prefix's keys and values, once, and the activations of one batch
(`memory_sized_batches.bytes_per_id` for each of its ids); on a CPU those of all batches that run at
once, at most 0.5 GB.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ScoreError
from rmaudit.scoring import (
    Begun,
    Head,
    ScoringPath,
    batches_on_cores,
    finite_rewards,
    memory_sized_batches,
    row_runners,
    waited_for,
)
from rmaudit.scoring.finite_rewards import exact_products
from rmaudit.scoring.memory_sized_batches import (
    AnswerRow,
    in_batches,
    joined,
    one_by_one,
    row_does_not_fit,
)
from rmaudit.scoring.onednn_matmul import fast_products
from rmaudit.scoring.pipeline_parallelism import Pipeline
from rmaudit.scoring.row_runners import Ids, PreparedPrefix

# Llama-3.1-8B runs so many in 66 ms on an H100, whose host takes some 50 to start a batch.
_IDS_OF_A_START = 2048
_FEWEST_IDS = 128  # of a batch on some of the cores: with fewer, reading the weights takes longer


class Ready(NamedTuple):
    """A prompt prefix that was run already, and the reward head for answers that follow it."""

    after: PreparedPrefix
    head: Callable[[Tensor], Tensor]


@dataclass(slots=True)
class Scorer:
    """A backbone and its reward head, with settings for running batches of answers through them.

    Attributes:
        backbone: maps ids to final hidden states.
        head: after a prefix, maps pooled states (n, hidden), float32, to rewards (n,); or, for
            `Checkpoint.states`, to the states themselves.
        pad: the id that pooling skips, or None.
        path: the way in which rows are run, one that suits the backbone.
        ids_per_batch: if None, `batch_limit` finds it from the free memory; halved when too much.
        first: rows are pooled at their first id; for two-way backbones.
        token: rows are pooled at the rightmost place of this id, if one is given.
        pipeline: how batches pass a backbone that is spread over several devices.
        compiled: whether `compiled_layers.fuse` has fused the layers of the backbone.
        behind: how many batches may be under way when the next is begun; if None, one on a GPU,
            which computes while the host goes on, and none elsewhere.
        joins: groups of rows of several lengths are one batch up to so many ids, where there is no
            pipeline; if None, as many as a GPU runs while the host starts a batch, and none
            elsewhere.
        odd_in_files: names the first tensor in the model's files that is not finite, for errors.
    """

    backbone: nn.Module
    head: Head
    pad: int | None
    path: ScoringPath = ScoringPath.SHARED_PREFIX
    ids_per_batch: int | None = None
    first: bool = False
    token: int | None = None
    pipeline: Pipeline | None = None
    compiled: bool = False
    behind: int | None = None
    joins: int | None = None
    odd_in_files: Callable[[], str] | None = None
    _prefix: Ids = field(default=(), init=False)
    _ready: Ready | None = field(default=None, init=False)
    _room: int | None = field(default=None, init=False)  # bytes that a batch may take

    def prepare(self, prefix: Ids) -> Ready:
        """Run the prompt prefix once; return its state and the reward head for answers after it.

        The last prefix is cached, since a sweep comes in many calls. It runs without gradients, but
        not in inference mode: through such tensors no gradient of a later row could be taken.
        """
        if self._ready is None or self._prefix != prefix:
            self._ready = None  # frees the other's memory first
            with torch.inference_mode(mode=False), torch.no_grad():
                after = row_runners.prepare(self.path, self.backbone, prefix)
                states = after.prefix_states().float() if self.head.reads_prefix else torch.empty(0)
                head = self.head.after(prefix, states)
            self._ready, self._prefix = Ready(after, head), prefix
        return self._ready

    def forget(self) -> None:
        """Drop the cached prompt prefix, because the backbone or the path was changed."""
        self._ready = None

    def batch_limit(self, prefix: int, *, layers: int = 1) -> int:
        """Return how many token ids may run in one batch after a prefix of `prefix` ids.

        The activations of `layers` layers stay in memory: of all of them for a gradient.
        """
        if self._room is None:
            at_once = 1 if self.pipeline is None else self.pipeline.at_once
            self._room = memory_sized_batches.budget(self.backbone) // at_once
        found = memory_sized_batches.ids_in(self._room, self.backbone, prefix, layers=layers)
        return found if self.ids_per_batch is None else min(found, self.ids_per_batch)

    def batches_at_once(self, prefix: int) -> int:
        """Return how many batches a CPU runs at once: as many as threads, if they fit; else 1."""
        on_cpu = all(held.device.type == "cpu" for held in self.backbone.parameters())
        if not on_cpu or self.compiled or self.ids_of_a_start():
            return 1
        a_batch = self.batch_limit(prefix) * memory_sized_batches.bytes_per_id(
            self.backbone, prefix
        )
        return max(1, min(torch.get_num_threads(), (self._room or 0) // a_batch))

    def rows_a_call(self, prefix: int, row: int) -> int:
        """Return how many rows of `row` ids one call needs to keep GPUs busy; 0 on a CPU."""
        if self.pipeline is None and not self.batches_in_flight():
            return 0
        batches = 1 if self.pipeline is None else self.pipeline.batches
        return batches * self.batch_limit(prefix) // row

    def batches_in_flight(self) -> int:
        """Return how many batches may still be running when the next one begins."""
        if self.behind is not None:
            return self.behind
        return int(row_runners.device_of(self.backbone).type == "cuda")

    def ids_of_a_start(self) -> int:
        """Return how many ids a GPU runs while the host starts a batch; 0 on other devices."""
        if self.joins is not None:
            return self.joins
        return _IDS_OF_A_START if row_runners.device_of(self.backbone).type == "cuda" else 0

    def limit_batches(self, ids: int, prefix: int) -> None:
        """Limit later batches to `ids` token ids, because a larger one ran out of memory.

        The limit is stored in bytes, so that batches after a prefix shorter than `prefix` ids do
        not shrink as much.
        """
        if self.ids_per_batch is not None:
            self.ids_per_batch = ids
        self._room = ids * memory_sized_batches.bytes_per_id(self.backbone, prefix)

    def why_not_finite(self) -> str:
        """Return a sentence on what makes rewards NaN or infinite, and what to do."""
        return finite_rewards.reason(self.backbone, self.head, self.odd_in_files)


def score(  # noqa: PLR0913  (keyword-only after the subjects)
    scorer: Scorer,
    prefix: Sequence[int],
    answers: Sequence[Ids],
    suffix: Sequence[int],
    *,
    on_progress: Callable[[int], None] = lambda _: None,
    name: str = "",
) -> NDArray[np.float32]:
    """Return the reward of each answer, shape (n,), in the caller's order; equal rows run once.

    Of a head that gives several numbers for a state, the shape is (n, numbers).

    `on_progress` is called with the number of answers that each batch finished. `name` is the
    model's, for errors.

    Raises:
        ModelError: the scorer's path does not suit the backbone.
        ScoreError: a reward is not a finite number, or one row does not fit into memory.
    """
    begun = begin(scorer, prefix, answers, suffix, on_progress=on_progress, name=name)
    return waited_for(begun)


@exact_products()
@torch.inference_mode()
def begin(  # noqa: PLR0913  (as `score`)
    scorer: Scorer,
    prefix: Sequence[int],
    answers: Sequence[Ids],
    suffix: Sequence[int],
    *,
    on_progress: Callable[[int], None] = lambda _: None,
    name: str = "",
) -> Begun:
    """Begin `score`; return rewards, or while a GPU computes, a function that waits for them.

    By then all batches have been given to the GPU, which runs them in turn. So it has no pause if
    the next call begins before this one is waited for. Raises as `score` does, here or on waiting.
    """
    if not len(answers):
        return np.empty(0, dtype=np.float32)
    before = tuple(prefix)
    after, head = _prepared(scorer, before)
    out = np.empty(0, dtype=np.float32)  # until the first batch shows what the head gives
    rows = rows_by_length(answers, before, tuple(suffix), scorer, cut=after.causal)
    if after.pads and scorer.pipeline is None:  # whose threads share the hook that finds rows' ends
        rows = joined(rows, min(scorer.batch_limit(len(before)), scorer.ids_of_a_start()))
    ids = sum(after.ids_of(row.ids) for group in rows for row in group)
    each, most = _way_to_run(scorer, after, len(before), ids)
    behind = scorer.batches_in_flight() if each is one_by_one else 0  # threads wait for rewards
    waiting = deque[tuple[Sequence[AnswerRow], Callable[[], NDArray[np.float32]]]]()

    @torch.inference_mode()  # of the thread that runs it, as the next
    def run(batch: Sequence[AnswerRow]) -> Callable[[], NDArray[np.float32]]:
        with nullcontext() if scorer.compiled else fast_products(scorer.backbone):
            states = after.states([row.ids for row in batch], [row.at for row in batch])
            return _copied_to_host(head(states.float()).float(), wait=not behind)

    def halved(ids: int) -> None:
        scorer.limit_batches(ids, len(before))

    def read(most_left: int) -> None:
        nonlocal out
        while len(waiting) > most_left:
            batch, coming = waiting.popleft()
            rewards, served = coming(), [len(row.places) for row in batch]
            places = [place for row in batch for place in row.places]
            if not len(out):
                out = np.full((len(answers), *rewards.shape[1:]), np.nan, dtype=np.float32)
            out[places] = np.repeat(rewards, served, axis=0)
            on_progress(sum(served))

    def finished() -> NDArray[np.float32]:
        read(0)
        finite = np.asarray(np.isfinite(out).reshape(len(answers), -1).all(axis=1))
        finite_rewards.refuse(finite, answers, what="rewards", why=scorer.why_not_finite, name=name)
        return out

    for made in in_batches(rows, after.ids_of, most, run, on_halved=halved, each=each):
        waiting.append(made)
        read(behind)
    return finished if waiting else finished()


def _way_to_run(
    scorer: Scorer, after: PreparedPrefix, prefix: int, ids: int
) -> tuple[Callable[..., Iterator[Any]], int]:
    """Return the function that runs batches of a call of `ids` ids, and how many ids each may have.

    `prefix` is the number of its ids.
    """
    most = scorer.batch_limit(prefix)
    if not after.causal:  # whole rows may change the backbone: one batch at a time
        return one_by_one, most
    if scorer.pipeline is not None:
        run = partial(scorer.pipeline.run, scorer.backbone)
        return run, min(most, scorer.pipeline.batch_limit(ids))
    at_once = scorer.batches_at_once(prefix)
    if at_once == 1:
        return one_by_one, most
    return partial(batches_on_cores.run, at_once), min(most, max(_FEWEST_IDS, -(-ids // at_once)))


def _copied_to_host(rewards: Tensor, *, wait: bool) -> Callable[[], NDArray[np.float32]]:
    """Copy rewards (n,) from a GPU, at once if `wait`; return a function that waits and gives them.

    On another device the rewards are there at once, as with `wait`.

    The function waits for these rewards only: their copy follows the batch in the GPU's own order.
    A copy that is begun later would have to wait for the next batch, too.
    """
    if wait or rewards.device.type != "cuda":
        numbers: NDArray[np.float32] = rewards.cpu().numpy()
        return lambda: numbers
    host = torch.empty(rewards.shape, dtype=rewards.dtype, pin_memory=True)
    host.copy_(rewards, non_blocking=True)
    copied = torch.cuda.current_stream(rewards.device).record_event()

    def read() -> NDArray[np.float32]:
        copied.synchronize()
        there: NDArray[np.float32] = host.numpy()
        return there

    return read


def _prepared(scorer: Scorer, prefix: Ids) -> Ready:
    try:
        return scorer.prepare(prefix)
    except (RuntimeError, MemoryError) as error:
        if not memory_sized_batches.is_out_of_memory(error):
            raise
    raise row_does_not_fit(len(prefix))


def rows_by_length(
    answers: Sequence[Ids], prefix: Ids, suffix: Ids, scorer: Scorer, *, cut: bool
) -> list[list[AnswerRow]]:
    """Return distinct rows (answer + suffix; if `cut`, up to where it is pooled) grouped by length.

    The shortest come first.

    Raises:
        ScoreError: a row has not the token at which the scorer reads rewards.
    """
    in_prefix = pooled_at(prefix, scorer)
    rows: dict[Ids, AnswerRow] = {}
    for place, answer in enumerate(answers):
        row = (*answer, *suffix)
        last = pooled_at(row, scorer)
        if scorer.token is not None and last is None is in_prefix:
            raise no_token(scorer.token)
        at = len(prefix) + last if last is not None else in_prefix or 0
        ids = row[: 0 if last is None else last + 1] if cut else row
        rows.setdefault(ids, AnswerRow(ids, 0 if scorer.first else at, [])).places.append(place)
    by_length: dict[int, list[AnswerRow]] = defaultdict(list)
    for found in rows.values():
        by_length[len(found.ids)].append(found)
    return [by_length[length] for length in sorted(by_length)]


def no_token(token: int) -> ScoreError:
    """Return the error for a row without the token at which the reward is read."""
    message = (
        f"a row of ids has no token {token}, at which this model's reward is read; add it to the "
        f"end of each row"
    )
    return ScoreError(message)


def pooled_at(ids: Ids, scorer: Scorer) -> int | None:
    """Return the index at which a row's reward is read: the rightmost of the ids to pool; or None.

    That is the scorer's `token`, or else any id that is not the pad id.
    """
    token, pad = scorer.token, scorer.pad
    if token is None and ids and ids[-1] != pad:  # of most rows it is the last
        return len(ids) - 1
    places = reversed(range(len(ids)))
    return next((k for k in places if (ids[k] != pad if token is None else ids[k] == token)), None)
