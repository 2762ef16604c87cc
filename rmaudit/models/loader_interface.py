"""What a configuration says of a model: dtype, layers, and the scoring path of its backbone.

Nothing here loads torch.

Each model_type of `SHARED` and `EXPANDED` was tried on small random checkpoints against full rows,
with windows shorter than the prefix (`tests/models/test_backbones.py`). Whatever is not listed runs
in full rows, which are right for every backbone whose rows do not depend on each other.
`models.forward_parity_check` checks the choice again on the model at hand.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from transformers import PretrainedConfig

DTYPES = ("float32", "bfloat16", "float16")
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


def versions_and_machine() -> dict[str, str]:
    """Return the versions of torch and transformers, and the machine's type. Imports torch."""
    import torch
    import transformers

    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": platform.machine(),
    }


def dtype_of(
    spec: ModelSpec, own: object, folder: Path, *, name: str, entry: str = "in models.yaml"
) -> str:
    """Return models.yaml's dtype, else the checkpoint's `own`, else float32; raise if unsupported.

    `entry` says, for errors, where another dtype can be named.

    Raises:
        ModelError: it is none of `DTYPES`.
    """
    dtype = spec.dtype if spec.dtype != "auto" else str(own or "float32").removeprefix("torch.")
    if dtype not in DTYPES:
        message = (
            f"{name}: dtype {dtype!r} in {folder / 'config.json'}; known: {', '.join(DTYPES)}. "
            f"Name one of these as `dtype` {entry}"
        )
        raise ModelError(message)
    return dtype


def refuse_too_many_layers(
    config: Mapping[str, Any], tensors: Iterable[str], folder: Path, *, name: str
) -> None:
    """Raise if config.json claims more layers than there are tensors: building them takes ages.

    Raises:
        ModelError: config.json has more layers than the weights have tensors.
    """
    there = len(list(tensors))
    text = config.get("text_config") or {}
    for part in (config, text):
        for key in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
            layers = part.get(key)
            if isinstance(layers, int) and layers > there:
                message = (
                    f"{name}: {key} in {folder / 'config.json'} is {layers:,}, and the weights "
                    f"have {there:,} tensors in all, fewer than one a layer; copy config.json from "
                    f"the checkpoint's own"
                )
                raise ModelError(message)


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
