"""The rewards of one batch of rows, and their gradient by what the embedding gives for their ids.

Gradients are cut at the embedding module by a hook, whatever the trunk does with ids before or with
embeddings after it. No weight's gradient is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ModelError, NoGradient
from rmaudit.scoring import memory
from rmaudit.scoring.engine import Ready, Row

_WEIGHED = ("Linear", "Experts")  # in the names of the classes that quantization replaces


class Found(NamedTuple):
    """Rewards (rows,) and gradients (rows, ids of a row, hidden) of a batch."""

    rewards: NDArray[np.float32]
    gradients: Tensor


def run(ready: Ready, batch: Sequence[Row], trunk: nn.Module, *, name: str) -> Found | None:
    """The rewards and gradients of a batch, or None if it does not fit into memory.

    Raises:
        NoGradient: the trunk or the head cannot be differentiated; `name` is the model's.
    """
    try:
        return _differentiate(ready, batch, trunk, name)
    except (RuntimeError, MemoryError, ModelError) as error:
        if memory.is_out_of_memory(error):
            return None  # the error would hold the batch's tensors
        cause = error.__cause__ if isinstance(error, ModelError) else error  # of a model's own code
        if cause is None or "CUDA error" in str(cause):
            raise
        if isinstance(cause, NoGradient):
            raise cause from None
        why = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise NoGradient(name, why) from error


def _differentiate(ready: Ready, batch: Sequence[Row], trunk: nn.Module, name: str) -> Found:
    ids = len(batch[0].ids)
    with _cut(trunk, name) as leaves, _no_dead_end(trunk, name), torch.enable_grad():
        pooled = ready.after.states([row.ids for row in batch], [row.at for row in batch])
        rewards = ready.head(pooled.float())
        total = rewards.sum()
    numbers = rewards.detach().float().cpu().numpy()
    if not ids:  # the reward is read in the prefix
        return Found(numbers, pooled.new_zeros(len(batch), 0, 1))
    if len(leaves) != 1:
        raise NoGradient(name, f"its embedding ran {len(leaves)} times in one batch")
    if not total.requires_grad:
        raise NoGradient(name, "nothing of its embedding reaches its reward")
    (gradient,) = torch.autograd.grad(total, leaves)
    return Found(numbers, gradient[:, gradient.shape[1] - ids :])  # without a prefix that ran too


@contextmanager
def _cut(trunk: nn.Module, name: str) -> Iterator[list[Tensor]]:
    """Meanwhile gradients end at the embedding's output; the list gets each that it gives.

    Refused are trunks with another embedding that reads the same ids, as Gemma 3n has for each of
    its layers: the gradient would lack what goes that way.
    """
    main = embedding_of(trunk)
    leaves: list[Tensor] = []
    read: dict[nn.Module, Tensor] = {}

    def cut(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor:
        read[module] = given[0]
        leaves.append(output.detach().requires_grad_())
        return leaves[-1].clone()  # which, unlike a leaf, the trunk may change in place

    def note(module: nn.Module, given: tuple[Tensor, ...], _: Tensor) -> None:
        read[module] = given[0]

    others = [m for m in trunk.modules() if isinstance(m, nn.Embedding) and m is not main]
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
def _no_dead_end(trunk: nn.Module, name: str) -> Iterator[None]:
    """Meanwhile refuse layers whose output has lost the gradient that its input had.

    Kernels of quantized weights may have none; the residual stream around them would still give a
    gradient, a wrong one.
    """

    def check(module: nn.Module, inputs: tuple[object, ...], output: object) -> None:
        if not torch.is_grad_enabled():  # the trunk means to have none, such as to select by it
            return
        lost = isinstance(output, Tensor) and not output.requires_grad
        if lost and any(isinstance(given, Tensor) and given.requires_grad for given in inputs):
            raise NoGradient(name, f"its {type(module).__name__} layers have none")

    layers = [m for m in trunk.modules() if any(part in type(m).__name__ for part in _WEIGHED)]
    hooks = [layer.register_forward_hook(check) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def embedding_of(trunk: nn.Module) -> nn.Module:
    """The module that turns ids into what the layers read."""
    found: nn.Module = trunk.get_input_embeddings()  # type: ignore[operator]
    return found
