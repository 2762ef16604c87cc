"""Join a backbone with its reward head, and say how many of its rows run at once.

Peak memory beyond the weights: the prefix's keys and values, once, and the activations of one batch
(`memory_sized_batches.bytes_per_id` for each of its ids); on a CPU those of all batches that run at
once, at most 0.5 GB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rmaudit.errors import ScoreError
from rmaudit.scoring import Head, ScoringPath, finite_rewards, memory_sized_batches, row_runners
from rmaudit.scoring.pipeline_parallelism import Pipeline
from rmaudit.scoring.row_runners import Ids, PreparedPrefix

# Llama-3.1-8B runs so many in 66 ms on an H100, whose host takes some 50 to start a batch.
_IDS_OF_A_START = 2048


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

    def pooled_at(self, ids: Ids) -> int | None:
        """Return the index at which a row's reward is read: the rightmost of the ids to pool.

        That is `token`, or else any id that is not the pad id; None if the row has none.
        """
        token, pad = self.token, self.pad
        if token is None and ids and ids[-1] != pad:  # of most rows it is the last
            return len(ids) - 1
        places = reversed(range(len(ids)))
        good = (k for k in places if (ids[k] != pad if token is None else ids[k] == token))
        return next(good, None)

    def no_token(self) -> ScoreError:
        """Return the error for a row without the token at which the reward is read."""
        message = (
            f"a row of ids has no token {self.token}, at which this model's reward is read; add it "
            f"to the end of each row"
        )
        return ScoreError(message)

    def why_not_finite(self) -> str:
        """Return a sentence on what makes rewards NaN or infinite, and what to do."""
        return finite_rewards.reason(self.backbone, self.head, self.odd_in_files)
