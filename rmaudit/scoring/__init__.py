"""Compute rewards from token ids. This module needs no torch; `version` is in every cache key."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

# Scores, or a function that waits for them while a GPU still computes them.
Begun: TypeAlias = "NDArray[np.float32] | Callable[[], NDArray[np.float32]]"

VERSION = 2  # raise it when scores could change
LONG_PREFIX = 512  # ids of a prefix from which on its attention may be `fused_attention`
ATTENTION = "rmaudit_shared_prefix"  # the name registered with transformers


class ScoringPath(StrEnum):
    """Way to run prompt and answers through a backbone; all ways give the same rewards."""

    SHARED_PREFIX = "shared prefix"  # the prompt's keys and values once, for every row
    EXPANDED_CACHE = "expanded cache"  # transformers' cache of the prompt, copied for every row
    FULL_ROWS = "full rows"  # prompt, answer and suffix anew for every row


class Head(Protocol):
    """A reward head with its weights; `rmaudit.checkpoints.heads` has the head families."""

    @property
    def reads_prefix(self) -> bool:
        """Return whether `after` uses the prefix's states, as a gate on the prompt does."""

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the function from pooled states (n, hidden) to rewards (n,) for one prompt.

        `states` are the prompt's own final states, (len(prefix), hidden).
        """


def version(prefix: int) -> str:
    """Return the version of the scoring method for cache keys, given the prefix's number of ids.

    Prefixes from half of `LONG_PREFIX` on have another version, for fused attention: whole rows may
    share more ids at their start than the prompt.
    """
    return str(VERSION) if prefix < LONG_PREFIX // 2 else f"{VERSION}, long prefix fused"


def waited_for(begun: Begun) -> NDArray[np.float32]:
    """Return the rewards that `engine.begin` began to compute, shape (n,), waiting if need be."""
    return begun() if callable(begun) else begun
