"""Compute gradients of rewards with respect to one-hot answer tokens, for first-order search.

With g the gradient of the reward by the embedding module's output at a place of the answer, and e_v
that module's output for the id v, the place's slope for v is g · e_v. To first order, the reward
changes by slope[v] - slope[u] when v takes the place of the id u that stands there (HotFlip,
arXiv:1712.06751; GCG, arXiv:2307.15043). The distances |e_u - e_v| say how far that order is to be
trusted (Faster-GCG, arXiv:2410.15362).

The rows are the engine's (`rmaudit.scoring.engine`), so the rewards are too: the prefix runs once
and is a constant, and only what the pooled place can see is run. Gradients are cut at the embedding
module by a hook, whatever the backbone does with ids before or with embeddings after it. No
weight's gradient is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ModelError, NoGradient
from rmaudit.scoring import ScoringPath, engine, finite_rewards, memory_sized_batches
from rmaudit.scoring.compiled_layers import as_written
from rmaudit.scoring.finite_rewards import exact_products
from rmaudit.scoring.memory_sized_batches import AnswerRow
from rmaudit.scoring.row_runners import FullRows, Ids, device_of
from rmaudit.scoring.scorer import Ready, Scorer

_AT_ONCE = 2**24  # numbers of a piece of the embedding and of the products with it
_WEIGHED = ("Linear", "Experts")  # in the names of the classes that quantization replaces


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Rewards of n answers, with gradients and embedding distances by position and token id.

    Gradients (`slopes`) and `distances` have shape (n, L, V), for answers of L ids; V is the number
    of the embedding's rows. Slopes are in the reward's units, distances in the embedding's. Both
    are float64 where the backbone is, else float32: 8 n L V bytes together.
    Distances of float32 come from products, so those of (nearly) equal rows are only right to about
    1e-3 of a row's length; an id's own is 0.
    """

    rewards: NDArray[np.float32]
    slopes: NDArray[Any]
    distances: NDArray[Any]


@exact_products()
def slopes(
    scorer: Scorer,
    prefix: Sequence[int],
    answers: Sequence[Ids],
    suffix: Sequence[int],
    *,
    name: str,
) -> Slopes:
    """Return rewards of equally long answers, with slopes and distances by position and token id.

    They are in the caller's order; `name` is for errors. A place that the reward cannot see, since
    it comes after the pooled id, has slope 0.

    Raises:
        ModelError: the answers are none, empty or of several lengths, or the backbone cannot go the
            scorer's path.
        NoGradient: the backbone or its head cannot be differentiated.
        ScoreError: a reward or a slope is not a finite number, or one row does not fit into memory.
    """
    lengths = sorted({len(answer) for answer in answers})
    if len(lengths) != 1 or lengths[0] < 1:
        message = (
            f"{name}: a gradient was asked for answers of {lengths or 'no'} ids; it is taken for "
            f"answers of one length, of 1 id or more: ask for those of each length by themselves"
        )
        raise ModelError(message)
    refuse = partial(finite_rewards.refuse, answers=answers, why=scorer.why_not_finite, name=name)
    try:
        with as_written(scorer), torch.inference_mode(mode=False), torch.no_grad():
            rewards, gradients = _rewards_and_gradients(
                scorer, tuple(prefix), answers, tuple(suffix), name
            )
            refuse(np.isfinite(rewards), what="rewards")
            found = Slopes(rewards, *_slopes_and_distances(scorer.backbone, answers, gradients))
    except (RuntimeError, MemoryError) as error:
        if not memory_sized_batches.is_out_of_memory(error):
            raise
    else:
        refuse(np.isfinite(found.slopes).all((1, 2)), what="gradients")
        return found
    raise memory_sized_batches.row_does_not_fit(len(prefix) + lengths[0])


def _rewards_and_gradients(
    scorer: Scorer, prefix: Ids, answers: Sequence[Ids], suffix: Ids, name: str
) -> tuple[NDArray[np.float32], Tensor]:
    """Return rewards (n,), and their gradients with respect to answer embeddings (n, L, hidden)."""

    def after(ready: Ready) -> tuple[NDArray[np.float32], Tensor]:
        rewards = np.full(len(answers), np.nan, dtype=np.float32)
        gradients = torch.zeros_like(_embeddings_of(backbone, answers))
        batches = memory_sized_batches.in_batches(
            engine.rows_by_length(answers, prefix, suffix, scorer, cut=ready.after.causal),
            ready.after.ids_of,
            scorer.batch_limit(len(prefix), layers=layers),  # the activations of all of them stay
            lambda batch: _differentiated(ready, batch, backbone, name),
        )
        for batch, found in batches:
            for row, reward, gradient in zip(batch, *found, strict=True):
                rewards[row.places] = reward
                own = gradient[: gradients.shape[1]]
                gradients[row.places, : len(own)] = own.to(gradients.dtype)
        return rewards, gradients

    backbone = scorer.backbone
    layers: int = backbone.config.get_text_config().num_hidden_layers  # type: ignore[union-attr, operator]
    ready = scorer.prepare(prefix)
    try:
        return after(ready)
    except NoGradient:
        if scorer.path is not ScoringPath.EXPANDED_CACHE:
            raise
    # A cache is overwritten on its way, so whole rows are run.
    return after(Ready(FullRows(backbone, prefix), ready.head))


def _differentiated(
    ready: Ready, batch: Sequence[AnswerRow], backbone: nn.Module, name: str
) -> tuple[NDArray[np.float32], Tensor]:
    """Return a batch's rewards (rows,) and gradients (rows, ids, hidden), or raise NoGradient."""
    ids = len(batch[0].ids)
    try:
        with (
            _gradients_cut_at_embedding(backbone, name) as leaves,
            _lost_gradients_refused(backbone, name),
            torch.enable_grad(),
        ):
            pooled = ready.after.states([row.ids for row in batch], [row.at for row in batch])
            rewards = ready.head(pooled.float())
            total = rewards.sum()
        numbers = rewards.detach().float().cpu().numpy()
        if not ids:  # the reward is read in the prefix
            return numbers, torch.zeros_like(rewards)[:, None, None]
        if len(leaves) != 1:
            raise NoGradient(name, f"its embedding ran {len(leaves)} times in one batch")
        if not total.requires_grad:
            raise NoGradient(name, "nothing of its embedding reaches its reward")
        (gradient,) = torch.autograd.grad(total, leaves)
        return numbers, gradient[:, gradient.shape[1] - ids :]  # without a prefix that ran too
    except RuntimeError as error:
        if memory_sized_batches.is_out_of_memory(error) or "CUDA error" in str(error):
            raise
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise NoGradient(name, why) from error


@contextmanager
def _gradients_cut_at_embedding(backbone: nn.Module, name: str) -> Iterator[list[Tensor]]:
    """In the `with` block, make each embedding output a leaf of the graph; yield the list of them.

    Refused are backbones with another embedding that reads the same ids, as Gemma 3n has for each
    of its layers: the gradient would lack what goes that way.
    """
    main = _embedding_of(backbone)
    leaves: list[Tensor] = []
    read: dict[nn.Module, Tensor] = {}

    def cut(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor:
        read[module] = given[0]
        leaves.append(output.detach().requires_grad_())
        return leaves[-1].clone()  # which, unlike a leaf, the backbone may change in place

    def note(module: nn.Module, given: tuple[Tensor, ...], _: Tensor) -> None:
        read[module] = given[0]

    others = [m for m in backbone.modules() if isinstance(m, nn.Embedding) and m is not main]
    rows: int = main.num_embeddings  # type: ignore[assignment]
    large = [other for other in others if 2 * other.num_embeddings > rows]  # none of positions
    hooks = [main.register_forward_hook(cut), *(m.register_forward_hook(note) for m in large)]
    try:
        yield leaves
    finally:
        for hook in hooks:
            hook.remove()
    if any(torch.equal(ids, read[main]) for module, ids in read.items() if module is not main):
        raise NoGradient(name, "its ids are read by more than its input embedding")


@contextmanager
def _lost_gradients_refused(backbone: nn.Module, name: str) -> Iterator[None]:
    """Raise NoGradient, in the `with` block, if a layer does not pass on its input's gradient.

    Kernels of quantized weights may have none; the residual stream around them would still give a
    gradient, a wrong one.
    """

    def check(module: nn.Module, inputs: tuple[object, ...], output: object) -> None:
        if not torch.is_grad_enabled():  # the backbone means to have none, such as to select by it
            return
        lost = isinstance(output, Tensor) and not output.requires_grad
        if lost and any(isinstance(given, Tensor) and given.requires_grad for given in inputs):
            raise NoGradient(name, f"its {type(module).__name__} layers have none")

    layers = [m for m in backbone.modules() if any(part in type(m).__name__ for part in _WEIGHED)]
    hooks = [layer.register_forward_hook(check) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _slopes_and_distances(
    backbone: nn.Module, answers: Sequence[Ids], gradients: Tensor
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return slopes and distances (n, L, V) of the answers, from gradients (n, L, hidden)."""
    distinct, which = np.unique(np.array(answers), return_inverse=True)
    points = _embeddings_of(backbone, [tuple(distinct.tolist())])[0]
    flat = gradients.flatten(0, 1)
    rows: int = _embedding_of(backbone).num_embeddings  # type: ignore[assignment]
    by_id = np.empty((len(flat), rows), dtype=str(flat.dtype).removeprefix("torch."))
    apart = np.empty((len(distinct), rows), dtype=by_id.dtype)
    step = max(1, _AT_ONCE // (flat.shape[1] + len(flat)))
    for start in range(0, rows, step):
        piece = slice(start, min(rows, start + step))
        outputs = _embeddings_of(backbone, [tuple(range(rows)[piece])])[0]
        by_id[:, piece] = (flat @ outputs.T).cpu().numpy()
        distance = torch.cdist(points, outputs, compute_mode="use_mm_for_euclid_dist")
        apart[:, piece] = distance.cpu().numpy()
    apart[np.arange(len(distinct)), distinct] = 0
    shape = (*gradients.shape[:2], rows)
    return by_id.reshape(shape), apart[which].reshape(shape)


def _embeddings_of(backbone: nn.Module, rows: Sequence[Ids]) -> Tensor:
    """Return the embeddings of rows of one length, in float32 (or float64 if so stored)."""
    found: Tensor = _embedding_of(backbone)(torch.tensor(rows, device=device_of(backbone)))
    return found if found.dtype == torch.float64 else found.float()


def _embedding_of(backbone: nn.Module) -> nn.Module:
    """Return the backbone's input embedding, which turns ids into what the layers read."""
    found: nn.Module = backbone.get_input_embeddings()  # type: ignore[operator]
    return found
