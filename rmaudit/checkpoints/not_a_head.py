"""Refuse models that give a reward in another way than by a head on one conversation.

They are told by config.json, before anything large is read. Each refusal says what the model is,
and what in rmaudit can have its rewards, if anything can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rmaudit.checkpoints.heads import token_value
from rmaudit.checkpoints.heads.linear import architecture
from rmaudit.errors import ModelError

_FUNCTION = "a function of yours (@rmaudit.scorer, docs/how-to/any-scorer.md)"
# POLAR has InternLM2's reward model's class, configuration and tensors: only names tell it.
_POLAR = re.compile(r"polar-(1_8b|7b)|rm_pretrain|rm_pt_", re.IGNORECASE)


def refuse(config: Mapping[str, Any], where: str, *, model: str) -> None:
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
