"""The gradient of a reward with respect to one-hot answer tokens: first-order search reads it.

With g the gradient of the reward by the embedding module's output at a place of the answer, and e_v
that module's output for the id v, the place's slope for v is g · e_v. To first order, the reward
changes by slope[v] - slope[u] when v takes the place of the id u that stands there (HotFlip,
arXiv:1712.06751; GCG, arXiv:2307.15043). The distances |e_u - e_v| say how far that order is to be
trusted (Faster-GCG, arXiv:2410.15362).

The rows are the engine's (`rmaudit.scoring.engine`), so the rewards are too: the prefix runs once
and is a constant, and only what the pooled place can see is run. `backward` runs a batch of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ModelError, NoGradient
from rmaudit.scoring import ScoringPath, backward, engine, memory
from rmaudit.scoring.backward import embedding_of
from rmaudit.scoring.engine import Ready, Scorer
from rmaudit.scoring.paths import FullRows, Ids, device_of

_AT_ONCE = 2**24  # numbers of a piece of the embedding and of the products with it


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Rewards (n,) float32 of n answers of L ids; slopes and distances (n, L, V), V rows of ids.

    Slopes are in the reward's units, distances in the embedding's. Both are float64 where the trunk
    is, else float32: 8 n L V bytes together. Distances of float32 come from products, so those of
    (nearly) equal rows are only right to about 1e-3 of a row's length; an id's own is 0.
    """

    rewards: NDArray[np.float32]
    slopes: NDArray[Any]
    distances: NDArray[Any]


def slopes(
    scorer: Scorer,
    prefix: Sequence[int],
    answers: Sequence[Ids],
    suffix: Sequence[int],
    *,
    name: str,
) -> Slopes:
    """The slopes of answers of one length, in the caller's order; `name` is for errors.

    A place that the reward cannot see, since it comes after the pooled id, has slope 0.

    Raises:
        ModelError: the answers are none, empty or of several lengths, or the trunk cannot go the
            scorer's path.
        NoGradient: the trunk or its head cannot be differentiated.
        ScoreError: a reward or a slope is not a finite number, or one row does not fit into memory.
    """
    lengths = sorted({len(answer) for answer in answers})
    if len(lengths) != 1 or lengths[0] < 1:
        message = (
            f"{name}: a gradient was asked for answers of {lengths or 'no'} ids; it is taken for "
            f"answers of one length, of 1 id or more: ask for those of each length by themselves"
        )
        raise ModelError(message)
    asked = _Asked(scorer, tuple(prefix), answers, tuple(suffix), name)
    try:
        with torch.inference_mode(mode=False), torch.no_grad():
            rewards, gradients = _rewards(asked)
            engine.refuse_non_finite(np.isfinite(rewards), answers, what="rewards")
            found = Slopes(rewards, *_by_id(scorer.trunk, answers, gradients))
    except (RuntimeError, MemoryError) as error:
        if not memory.is_out_of_memory(error):
            raise
    else:
        finite = np.isfinite(found.slopes).all((1, 2))
        engine.refuse_non_finite(finite, answers, what="gradients")
        return found
    raise engine.too_small(len(prefix) + lengths[0])


class _Asked(NamedTuple):
    """What `slopes` was given."""

    scorer: Scorer
    prefix: Ids
    answers: Sequence[Ids]
    suffix: Ids
    name: str


def _rewards(asked: _Asked) -> tuple[NDArray[np.float32], Tensor]:
    """Rewards (n,) and their gradients by the answers' embeddings (n, L, hidden)."""
    ready = asked.scorer.after(asked.prefix)
    try:
        return _along(ready, asked)
    except NoGradient:
        if asked.scorer.path is not ScoringPath.EXPANDED_CACHE:
            raise
    full = FullRows(asked.scorer.trunk, asked.prefix)  # where a cache is overwritten on its way
    return _along(Ready(full, ready.head), asked)


def _along(ready: Ready, asked: _Asked) -> tuple[NDArray[np.float32], Tensor]:
    """The same along one path."""
    scorer, prefix, answers, suffix, name = asked
    rewards = np.full(len(answers), np.nan, dtype=np.float32)
    gradients = torch.zeros_like(_outputs(scorer.trunk, answers))
    most = _ids_per_batch(scorer, len(prefix))
    for rows in engine.groups(answers, prefix, suffix, scorer, cut=ready.after.causal):
        ids = ready.after.ids_of(rows[0].ids)
        size, done = max(1, most // max(1, ids)), 0
        while done < len(rows):
            batch = rows[done : done + size]
            found = backward.run(ready, batch, scorer.trunk, name=name)
            if found is None:
                memory.release()
                if len(batch) == 1:
                    raise engine.too_small(ids)
                size = len(batch) // 2
                continue
            for row, reward, gradient in zip(batch, *found, strict=True):
                rewards[row.places] = reward
                own = gradient[: gradients.shape[1]]
                gradients[row.places, : len(own)] = own.to(gradients.dtype)
            done += len(batch)
    return rewards, gradients


def _ids_per_batch(scorer: Scorer, prefix: int) -> int:
    """For a gradient every layer's activations stay; and never more than can be scored at once."""
    layers = scorer.trunk.config.get_text_config().num_hidden_layers  # type: ignore[union-attr, operator]
    most = memory.ids_per_batch(scorer.trunk, prefix, kept=layers)
    return most if scorer.ids_per_batch is None else min(most, scorer.ids_per_batch)


def _by_id(
    trunk: nn.Module, answers: Sequence[Ids], gradients: Tensor
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Slopes and distances (n, L, V) of the answers, with gradients (n, L, hidden)."""
    distinct, which = np.unique(np.array(answers), return_inverse=True)
    points = _outputs(trunk, [tuple(distinct.tolist())])[0]
    flat = gradients.flatten(0, 1)
    rows: int = embedding_of(trunk).num_embeddings  # type: ignore[assignment]
    by_id = np.empty((len(flat), rows), dtype=str(flat.dtype).removeprefix("torch."))
    apart = np.empty((len(distinct), rows), dtype=by_id.dtype)
    step = max(1, _AT_ONCE // (flat.shape[1] + len(flat)))
    for start in range(0, rows, step):
        piece = slice(start, min(rows, start + step))
        outputs = _outputs(trunk, [tuple(range(rows)[piece])])[0]
        by_id[:, piece] = (flat @ outputs.T).cpu().numpy()
        distance = torch.cdist(points, outputs, compute_mode="use_mm_for_euclid_dist")
        apart[:, piece] = distance.cpu().numpy()
    apart[np.arange(len(distinct)), distinct] = 0
    shape = (*gradients.shape[:2], rows)
    return by_id.reshape(shape), apart[which].reshape(shape)


def _outputs(trunk: nn.Module, rows: Sequence[Ids]) -> Tensor:
    """What the embedding gives for rows of one length, in float32, or in float64 as it is."""
    found: Tensor = embedding_of(trunk)(torch.tensor(rows, device=device_of(trunk)))
    return found if found.dtype == torch.float64 else found.float()
