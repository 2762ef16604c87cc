"""The plain head: one weight vector, reward = w · h (transformers' `score`, no bias)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

KEY = "score.weight"


def linear(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """The head of `score.weight`, shape (1, hidden): (n, hidden) float32 to (n,) float32."""
    vector = weight.detach().float()[0]
    return lambda states: states @ vector.to(states.device)
