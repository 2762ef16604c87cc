"""Score many answers to one prompt exactly, running the prompt only once.

The row that the model would see is prefix + answer + suffix. The prefix runs once; each answer runs
with the suffix only (`row_runners` has the ways in which backbones can do so). Rows are grouped by
length, and equal rows run once. None is padded, but for small groups on a GPU: those are one batch,
and ids that no earlier one can see follow the shorter rows. The reward is read where transformers'
rule for sequence classification reads it on an unpadded row: at the rightmost id that is not the
pad id, or at the last id where the scorer has no pad id; encoders are read at the first, and some
heads at the last place of a token of their own (`Scorer.pooled_at`). In a causal backbone what
comes after that place cannot matter, so it is not run.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rmaudit.scoring import (
    Begun,
    batches_on_cores,
    finite_rewards,
    memory_sized_batches,
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
from rmaudit.scoring.row_runners import Ids, PreparedPrefix
from rmaudit.scoring.scorer import Ready, Scorer

_FEWEST_IDS = 128  # of a batch on some of the cores: with fewer, reading the weights takes longer


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
    in_prefix = scorer.pooled_at(prefix)
    rows: dict[Ids, AnswerRow] = {}
    for place, answer in enumerate(answers):
        row = (*answer, *suffix)
        last = scorer.pooled_at(row)
        if scorer.token is not None and last is None is in_prefix:
            raise scorer.no_token()
        at = len(prefix) + last if last is not None else in_prefix or 0
        ids = row[: 0 if last is None else last + 1] if cut else row
        rows.setdefault(ids, AnswerRow(ids, 0 if scorer.first else at, [])).places.append(place)
    by_length: dict[int, list[AnswerRow]] = defaultdict(list)
    for found in rows.values():
        by_length[len(found.ids)].append(found)
    return [by_length[length] for length in sorted(by_length)]
