"""Reward heads, which turn a pooled hidden state into a reward: one file per head family.

The family of a checkpoint's head is told by config.json (for some families its architecture, or
what models.yaml adds to it) and by the tensors' names and shapes, never by the model's name.
"""

from __future__ import annotations

import re
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
from rmaudit.checkpoints.heads.linear import Shapes, architecture
from rmaudit.errors import ModelError

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

_FUNCTION = "a function of yours (@rmaudit.scorer, docs/how-to/any-scorer.md)"
# POLAR has InternLM2's reward model's class, configuration and tensors: only names tell it.
_POLAR = re.compile(r"polar-(1_8b|7b)|rm_pretrain|rm_pt_", re.IGNORECASE)


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


def refuse_others(config: Mapping[str, Any], where: str, *, model: str) -> None:
    """Raise if config.json is that of a model whose reward is not a head's on one conversation.

    `where` is the source that the user gave, and its folder.

    Raises:
        ModelError: it compares with a reference answer, reads features of a sparse autoencoder,
            judges steps, or compares two answers.
    """
    if what := _what(config, where):
        raise ModelError(f"{model}: {architecture(config)}: {what}")


def _what(config: Mapping[str, Any], where: str) -> str:
    kind = architecture(config)
    named = f"{where} {config.get('_name_or_path', '')}"
    if kind == token_value.INTERNLM2 and _POLAR.search(named):
        return (
            "it is POLAR, which scores an answer against a reference answer to the same prompt and "
            f"has no reward for an answer alone. Score it with {_FUNCTION} that lays out both, as "
            "its model card says"
        )
    if "SARM" in kind or "sae_latent_size" in config:
        return (
            "it is SARM, whose head reads the features of a sparse autoencoder in the middle of "
            "the network, and rmaudit has no such head. Its own code never runs: score it with "
            f"{_FUNCTION} that calls it"
        )
    if "ProcessReward" in kind or "PRM" in kind:
        return (
            "it is a process reward model, which judges each step of a solution and gives no "
            "reward to a whole answer. Audit an outcome reward model, or score it with "
            f"{_FUNCTION} that says how steps make one reward"
        )
    if "PairRM" in kind or {"cand1_prefix_id", "ranker_type"} & set(config):
        return (
            "it is a pairwise model (PairRM), which says which of two answers is better and gives "
            f"no reward to one. Audit a model that scores single answers, or score it with "
            f"{_FUNCTION} that compares each answer with a fixed one"
        )
    return ""
