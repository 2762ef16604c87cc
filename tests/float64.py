"""Derivatives are compared in float64, in which no step of a model may go back to float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

STEP = 1e-6


class _Wide(TorchFunctionMode):
    """What asks for float32, as norms, softmaxes and our heads do, gets float64."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        def wide(given: Any) -> Any:
            return torch.float64 if given is torch.float32 else given

        func = Tensor.double if func is Tensor.float else func
        return func(*map(wide, args), **{k: wide(v) for k, v in (kwargs or {}).items()})


@contextmanager
def all_in_float64() -> Iterator[None]:
    """Meanwhile torch knows no float32; weights are to be widened by the caller."""
    torch.set_default_dtype(torch.float64)
    try:
        with _Wide():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


@torch.inference_mode()
def differences(
    embedding: nn.Module,
    rewards: Callable[[Tensor], Tensor],
    row: Sequence[int],
    place: int,
    ids: Sequence[int],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Central differences of the reward of a row, by the embedding's output at a place, per id.

    First of adding a bit of the id's embedding, then of mixing a bit of it with the place's own:
    (1 - e) own + e other. `rewards` maps embeddings (n, L, hidden) to rewards (n,).
    """
    own = embedding(torch.tensor([row]))
    others = embedding(torch.tensor([list(ids)]))[0]

    def difference(steps: Tensor) -> NDArray[Any]:
        up, down = own.repeat(len(ids), 1, 1), own.repeat(len(ids), 1, 1)
        up[:, place] += STEP * steps
        down[:, place] -= STEP * steps
        return ((rewards(up) - rewards(down)) / (2 * STEP)).numpy()

    return difference(others), difference(others - own[:, place])


def assert_slopes(
    slopes: NDArray[Any],
    embedding: nn.Module,
    rewards: Callable[[Tensor], Tensor],
    row: Sequence[int],
    *,
    start: int,
    ids: Sequence[int],
) -> None:
    """The slopes (L, V) of an answer that stands in the row from `start` on are its derivatives."""
    for place, found in enumerate(slopes):
        at = start + place
        added, mixed = differences(embedding, rewards, row, at, ids)
        size = np.abs(added).max()
        assert size > 1e-3  # or else nothing could tell them apart
        np.testing.assert_allclose(found[list(ids)], added, rtol=1e-5, atol=1e-6 * size)
        relative = found[list(ids)] - found[row[at]]
        np.testing.assert_allclose(relative, mixed, rtol=1e-5, atol=1e-6 * size)
