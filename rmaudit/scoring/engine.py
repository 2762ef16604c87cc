"""Rewards of many answers to one prompt: exact for every id, the prompt run once.

The row that the model would see is prefix + answer + suffix. The prefix runs once; each answer
runs with the suffix only, through shared-prefix attention. Answers are grouped by length, so no
row is ever padded, and the reward is read where the model's own rule reads it on an unpadded row:
at the rightmost id that is not the pad id (transformers' rule for sequence classification), or at
the last id where there is no pad id. Trailing pad ids come after that place in a causal trunk, so
they are not run at all.

Memory beyond the weights: the prefix's keys and values, and the activations of one batch of
`TOKENS_PER_BATCH` ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ModelError, ScoreError
from rmaudit.scoring import ATTENTION
from rmaudit.scoring.attention import Prefix

TOKENS_PER_BATCH = 1024
Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scorer:
    """What the engine needs of a model.

    `trunk` maps ids to final hidden states; `head` maps pooled states (n, hidden) in float32 to
    rewards (n,); `pad` is the id that pooling skips, or None.
    """

    trunk: nn.Module
    head: Callable[[Tensor], Tensor]
    pad: int | None


@torch.inference_mode()
def score(
    scorer: Scorer,
    prefix: Sequence[int],
    answers: Sequence[Ids],
    suffix: Sequence[int],
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """The reward of each answer, shape (n,), in the caller's order. Equal answers are run once.

    `on_progress` is called with the number of answers that each batch finished.

    Raises:
        ModelError: the trunk's attention cannot be reached.
        ScoreError: a reward is not a finite number.
    """
    if not len(answers):
        return np.empty(0, dtype=np.float32)
    device = next(scorer.trunk.parameters()).device
    shared, prefix_states = _run_prefix(scorer.trunk, prefix, device)
    out = np.full(len(answers), np.nan, dtype=np.float32)
    for places, rows in _batches(answers, suffix, scorer.pad):
        if rows[0]:
            states = _run_rows(scorer.trunk, rows, shared, device)
        else:  # nothing but pad ids after the prefix: the model pools inside the prefix
            states = _pooled_in_prefix(prefix, prefix_states, scorer.pad).expand(len(rows), -1)
        rewards = scorer.head(states.float()).float().cpu().numpy()
        for where, reward in zip(places, rewards, strict=True):
            out[where] = reward
        on_progress(sum(map(len, places)))
    _refuse_non_finite(out, answers)
    return out


def _run_prefix(
    trunk: nn.Module, prefix: Sequence[int], device: torch.device
) -> tuple[Prefix, Tensor]:
    """Keys and values of the prefix, and its hidden states (length, hidden)."""
    shared = Prefix(recording=True)
    ids = torch.tensor([list(prefix)], device=device)
    states = trunk(input_ids=ids, use_cache=False, shared_prefix=shared).last_hidden_state[0]
    layers = trunk.config.num_hidden_layers  # type: ignore[union-attr]
    if len(shared.keys) != layers:
        message = (
            f"{type(trunk).__name__}: the attention {ATTENTION!r} was reached in "
            f"{len(shared.keys)} of {layers} layers; this trunk cannot share a prefix"
        )
        raise ModelError(message)
    shared.recording, shared.length = False, len(prefix)
    return shared, states


def _run_rows(
    trunk: nn.Module, rows: Sequence[Ids], shared: Prefix, device: torch.device
) -> Tensor:
    """Hidden state of the last id of each row, shape (rows, hidden)."""
    ids = torch.tensor(rows, device=device)
    positions = torch.arange(shared.length, shared.length + ids.shape[1], device=device)
    output = trunk(
        input_ids=ids,
        position_ids=positions.expand(len(rows), -1),
        use_cache=False,
        shared_prefix=shared,
    )
    pooled: Tensor = output.last_hidden_state[:, -1]
    return pooled


def _batches(
    answers: Sequence[Ids], suffix: Sequence[int], pad: int | None
) -> Iterator[tuple[list[list[int]], list[Ids]]]:
    """Batches of rows of one length, each row with the places in `answers` that it serves."""
    places: dict[Ids, list[int]] = defaultdict(list)
    for place, answer in enumerate(answers):
        places[_without_trailing_pad((*answer, *suffix), pad)].append(place)
    by_length: dict[int, list[Ids]] = defaultdict(list)
    for row in places:
        by_length[len(row)].append(row)
    for length in sorted(by_length):
        rows = by_length[length]
        size = max(1, TOKENS_PER_BATCH // max(1, length))
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            yield [places[row] for row in batch], batch


def _without_trailing_pad(row: Ids, pad: int | None) -> Ids:
    end = len(row)
    while end and row[end - 1] == pad:
        end -= 1
    return row[:end]


def _pooled_in_prefix(prefix: Sequence[int], states: Tensor, pad: int | None) -> Tensor:
    """The prefix's state at its rightmost id that is not the pad id (0 if all are)."""
    kept = [place for place, token in enumerate(prefix) if token != pad]
    return states[kept[-1] if kept else 0]


def _refuse_non_finite(rewards: NDArray[np.float32], answers: Sequence[Ids]) -> None:
    bad = np.flatnonzero(~np.isfinite(rewards))
    if len(bad):
        shown = ", ".join(str(list(answers[i])) for i in bad[:5])
        message = (
            f"{len(bad)} of {len(rewards)} rewards are not finite numbers; first ids: {shown}. "
            f"Try a wider dtype (dtype: float32 in models.yaml) or check the checkpoint"
        )
        raise ScoreError(message)
