"""Reward heads, which turn a pooled hidden state into a reward: one file per head family.

The family of a checkpoint's head is told by config.json (for some families its architecture, or
what models.yaml adds to it) and by the tensors' names and shapes, never by the model's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rmaudit.checkpoints.heads import (
    encoder,
    gated,
    linear,
    logit,
    mlp,
    token_classifier,
    token_value,
    uncertainty,
    value,
    verdict_logits,
)
from rmaudit.checkpoints.heads.linear import Shapes

if TYPE_CHECKING:
    from torch import Tensor

    from rmaudit.scoring import Head

# In this order: `score.weight` alone is the plain head's, and others have one too.
FAMILIES: tuple[HeadFamily, ...] = (
    verdict_logits,
    logit,
    token_classifier,
    token_value,
    encoder,
    uncertainty,
    gated,
    value,
    mlp,
    linear,
)
# transformers has a class for these, whose own forward gives the reward.
CLASSIFIERS = (linear.NAME, encoder.NAME)


class HeadFamily(Protocol):
    """Interface of a head family, such as `linear`: a module with these functions and constants.

    `POOL` is "hf" (transformers' rule: the rightmost id that is not the pad id), "last", "first" or
    "token" (the last place of `token_value.reward_id`). `IGNORED` are tensors that checkpoints have
    next to the head and that are not used.
    """

    NAME: str
    POOL: str
    IGNORED: frozenset[str]

    def keys(self, config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
        """Return the names of the head's tensors, or None if the head is of another family."""

    def build(self, tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Head:
        """Return the head with these tensors as its weights."""


class FoundHead(NamedTuple):
    """The family of a checkpoint's head, and the names of the head's tensors."""

    family: HeadFamily
    keys: frozenset[str]


def find(config: Mapping[str, Any], shapes: Shapes) -> FoundHead | None:
    """Return the head that fits this config.json and these tensor shapes; None if no family fits.

    Raises:
        ModelError: a head is incomplete, or of a wrong shape.
    """
    for family in FAMILIES:
        keys = family.keys(config, shapes)
        if keys is not None:
            return FoundHead(family, keys)
    return None
