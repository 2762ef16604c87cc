"""Which way many rows go through which backbone: known from the configuration, without weights.

Each model_type here was tried on small random checkpoints against full rows, with windows shorter
than the prefix (`tests/models/test_backbones.py`). Whatever is not listed runs in full rows, which
are right for every backbone whose rows do not depend on each other. `models.preflight` checks the
choice again on the model at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from transformers import PretrainedConfig

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


def path_of(config: PretrainedConfig) -> ScoringPath:
    """The fastest way that is exact for this backbone."""
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
    """The kinds of rotary embedding, of which a model may have one for each kind of layer."""
    rope = getattr(config, "rope_parameters", None) or {}
    each = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    return {str(one.get("rope_type", "default")) for one in each}
