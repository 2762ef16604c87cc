"""Compute rewards from token ids. This module needs no torch; `version` is in every cache key."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor
    from transformers import PretrainedConfig

# Scores, or a function that waits for them while a GPU still computes them.
Begun: TypeAlias = "NDArray[np.float32] | Callable[[], NDArray[np.float32]]"

VERSION = 2  # raise it when scores could change
LONG_PREFIX = 512  # ids of a prefix from which on its attention may be `fused_attention`
ATTENTION = "rmaudit_shared_prefix"  # the name registered with transformers


# Each model_type was tried on small random checkpoints against full rows, with windows shorter than
# the prefix (`tests/models/test_backbones.py`). Whatever is not listed runs in full rows, which are
# right for every backbone whose rows do not depend on each other. `models.forward_parity_check`
# checks the choice again on the model at hand.
_SHARED = (
    "arcee biogpt exaone4 gemma gemma2 gemma3_text glm glm4 gpt2 gpt_bigcode gpt_neox helium "
    "hunyuan_v1_dense hunyuan_v1_moe llama ministral ministral3 mistral mixtral olmo olmo2 olmo3 "
    "opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_moe seed_oss smollm3 starcoder2 "
    "axk1 deepseek_v2 deepseek_v3 jetmoe minicpm3 mistral4"
)
_EXPANDED = (
    "bloom diffllama falcon gpt_neo gpt_oss gptj mpt nemotron qwen3_5_text qwen3_next stablelm"
)
SHARED, EXPANDED = frozenset(_SHARED.split()), frozenset(_EXPANDED.split())
# Their window is in the attention mask only, where shared-prefix attention does not see it.
_WINDOW_IN_MASK = ("phimoe", "qwen2_moe")
# Their rotation depends on the longest row that ran, so a prefix cannot be kept.
_CHANGING_ROPE = ("dynamic", "longrope")


class ScoringPath(StrEnum):
    """Way to run prompt and answers through a backbone; all ways give the same rewards."""

    SHARED_PREFIX = "shared prefix"  # the prompt's keys and values once, for every row
    EXPANDED_CACHE = "expanded cache"  # transformers' cache of the prompt, copied for every row
    FULL_ROWS = "full rows"  # prompt, answer and suffix anew for every row


def path_of(config: PretrainedConfig) -> ScoringPath:
    """Return the fastest way to run many rows (`ScoringPath`) that is exact for this backbone."""
    text = config.get_text_config()
    two_way = getattr(text, "is_causal", True) is False
    if two_way or getattr(text, "use_bidirectional_attention", None):
        return ScoringPath.FULL_ROWS
    if _rope_types(text) & set(_CHANGING_ROPE):
        return ScoringPath.FULL_ROWS
    kind = text.model_type
    if kind in SHARED:
        masked = kind in _WINDOW_IN_MASK and getattr(text, "sliding_window", None)
        return ScoringPath.EXPANDED_CACHE if masked else ScoringPath.SHARED_PREFIX
    return ScoringPath.EXPANDED_CACHE if kind in EXPANDED else ScoringPath.FULL_ROWS


def _rope_types(config: PretrainedConfig) -> set[str]:
    """Return the types of rotary embedding in a configuration, which may differ by layer type."""
    rope = getattr(config, "rope_parameters", None) or {}
    each = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    return {str(one.get("rope_type", "default")) for one in each}


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
