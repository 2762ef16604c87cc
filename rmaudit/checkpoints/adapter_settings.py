"""What an adapter_config.json says, and what of it decides the merged weights.

Nothing that it names is run or imported. Of its entries, those that decide the merged weights are
handed to PEFT; those that only guide training, or that PEFT needs to find the base's class by
itself (`auto_mapping`), are left out; any other that is set is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmaudit.checkpoints.reading import short
from rmaudit.errors import ModelError

HOW = "Merge it where it was trained, save the merged model, and audit that folder"
_PROMPTS = ("PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "CARTRIDGE")
_DECIDES = (  # entries of LoraConfig that decide the merged weights
    "r lora_alpha target_modules exclude_modules layers_to_transform layers_pattern rank_pattern "
    "alpha_pattern fan_in_fan_out bias use_rslora use_dora lora_bias modules_to_save "
    "trainable_token_indices target_parameters"
)
_IDLE = (  # entries that do not: PEFT needs them to train, or to find what is found here
    "peft_type peft_version task_type auto_mapping base_model_name_or_path revision inference_mode "
    "init_lora_weights lora_dropout megatron_core qalora_group_size runtime_config loftq_config "
    "eva_config"
)
MERGED = frozenset(_DECIDES.split())
_KNOWN = frozenset(f"{_DECIDES} {_IDLE}".split())
# Others change the base's weights before training, so an adapter alone is not what was trained.
_STARTS = (True, False, None, "gaussian", "eva", "orthogonal")


def deciding(given: Mapping[str, Any], path: Path, *, model: str) -> dict[str, Any]:
    """Of an adapter_config.json, what decides the merged weights.

    Raises:
        ModelError: it is no LoRA, or one that cannot be merged or is not checked.
    """
    kind = given.get("peft_type")
    if kind in _PROMPTS:
        message = (
            f"{model}: {path} has peft_type {kind!r}, which puts trained vectors before the prompt "
            f"and cannot be merged into weights; rmaudit audits full checkpoints and LoRA adapters"
        )
        raise ModelError(message)
    if kind != "LORA":
        message = f"{model}: {path} has peft_type {kind!r}; rmaudit merges LORA only. {HOW}"
        raise ModelError(message)
    start = given.get("init_lora_weights")
    if start not in _STARTS:
        message = (
            f"{model}: {path} has init_lora_weights {start!r}, which changed the base's weights "
            f"before training, so base and adapter are not what was trained. {HOW}"
        )
        raise ModelError(message)
    if odd := sorted(key for key, value in given.items() if value and key not in _KNOWN):
        message = (
            f"{model}: {path} has {odd[0]} {short(repr(given[odd[0]]))}, which rmaudit does not "
            f"merge: what it does to the weights, or which code it loads, is not checked. {HOW}"
        )
        raise ModelError(message)
    return {key: given[key] for key in MERGED if given.get(key) is not None}
