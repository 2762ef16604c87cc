"""Which family a checkpoint's head is of: by its tensors' names and shapes, never by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rmaudit.checkpoints.heads import (
    Family,
    Shapes,
    encoder,
    gated,
    linear,
    logit,
    mlp,
    uncertainty,
    value,
)

# In this order: `score.weight` alone is the plain head's, and others have one too.
FAMILIES: tuple[Family, ...] = (logit, encoder, uncertainty, gated, value, mlp, linear)
# transformers has a class for these, whose own forward gives the reward.
CLASSIFIERS = (linear.NAME, encoder.NAME)


class Found(NamedTuple):
    """The family of a checkpoint's head, and the names of the head's tensors."""

    family: Family
    keys: frozenset[str]


def find(config: Mapping[str, Any], shapes: Shapes) -> Found | None:
    """The head of a checkpoint with this config.json and tensors of these shapes; None if none is.

    Raises:
        ModelError: a head is incomplete, or of a wrong shape.
    """
    for family in FAMILIES:
        keys = family.keys(config, shapes)
        if keys is not None:
            return Found(family, keys)
    return None
