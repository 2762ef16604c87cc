"""LoRA adapters merged into their base in memory, by PEFT's own `merge_and_unload`.

The base is in the run's dtype, as it is where a user merges: so rewards are those of the merged
model that PEFT makes in that dtype. (Merging in float32 and rounding afterwards is another model.)

Nothing that adapter_config.json names is run or imported. Of its entries, those that decide the
merged weights are handed to PEFT; those that only guide training, or that PEFT needs to find the
base's class by itself (`auto_mapping`), are left out; any other that is set is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import source
from rmaudit.checkpoints.heads import linear
from rmaudit.checkpoints.heads.dispatch import Found
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from rmaudit.checkpoints.adapters import Adapter

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
_MERGED, _KNOWN = frozenset(_DECIDES.split()), frozenset(f"{_DECIDES} {_IDLE}".split())
# Others change the base's weights before training, so an adapter alone is not what was trained.
_STARTS = (True, False, None, "gaussian", "eva", "orthogonal")
_ODD = {
    "missing": "what was trained would stay as it is in the base",
    "unexpected": "a part of the adapter would be left out",
}
_HOW = "Merge it where it was trained, save the merged model, and audit that folder"


def settings(given: Mapping[str, Any], path: Path, *, model: str) -> dict[str, Any]:
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
        message = f"{model}: {path} has peft_type {kind!r}; rmaudit merges LORA only. {_HOW}"
        raise ModelError(message)
    start = given.get("init_lora_weights")
    if start not in _STARTS:
        message = (
            f"{model}: {path} has init_lora_weights {start!r}, which changed the base's weights "
            f"before training, so base and adapter are not what was trained. {_HOW}"
        )
        raise ModelError(message)
    if odd := sorted(key for key, value in given.items() if value and key not in _KNOWN):
        message = (
            f"{model}: {path} has {odd[0]} {given[odd[0]]!r}, which rmaudit does not merge: what "
            f"it does to the weights, or which code it loads, is not checked. {_HOW}"
        )
        raise ModelError(message)
    return {key: given[key] for key in _MERGED if given.get(key) is not None}


def refuse_head(adapter: Adapter, head: Found) -> None:
    """Only adapters of plain heads are merged.

    Raises:
        ModelError: it is another.
    """
    if head.family.NAME != linear.NAME:
        message = (
            f"{adapter.model}: an adapter on a {head.family.NAME} head; rmaudit merges adapters of "
            f"plain sequence classifiers (score.weight) only. {_HOW}"
        )
        raise ModelError(message)


def refuse_quantized(adapter: Adapter, config: Mapping[str, Any]) -> None:
    """Adapters are not merged into quantized weights, asked for or not.

    Raises:
        ModelError: its base has such weights.
    """
    if source.quantization(config) is not None:
        message = (
            f"{adapter.model}: its base {adapter.base} is quantized, and merging an adapter into "
            f"quantized weights rounds it away. Name the base from before it was quantized as "
            f"base_model_name_or_path in {adapter.config}"
        )
        raise ModelError(message)


def merge(model: Any, adapter: Adapter) -> Any:  # noqa: ANN401  (transformers' classes)
    """The base with the adapter merged into it, in place.

    Raises:
        ModelError: the adapter's tensors are not those of this base.
        RuntimeError, MemoryError: it does not fit into memory.
    """
    from peft import LoraConfig, PeftModel, get_peft_model_state_dict

    from rmaudit.scoring import memory  # which loads torch

    if any(parameter.is_meta for parameter in model.parameters()):
        message = (
            f"{adapter.model}: its base does not fit into memory and was left on disk, where an "
            f"adapter cannot be merged into it. {_HOW}"
        )
        raise ModelError(message)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of PEFT's, about transformers
            if adapter.rows not in (None, model.get_input_embeddings().num_embeddings):
                model.resize_token_embeddings(adapter.rows, mean_resizing=False)
            wrapped = PeftModel(model, LoraConfig(**adapter.settings))
            # PEFT's own `missing_keys` are of LoRA tensors only, not of a trained head or bias.
            wanted = get_peft_model_state_dict(wrapped, save_embedding_layers=False)
            kind, odd = "missing", sorted(wanted.keys() - adapter.saved.keys())
            if not odd:
                where = str(model.device)
                loaded = wrapped.load_adapter(str(adapter.folder), "default", torch_device=where)
                kind, odd = "unexpected", loaded.unexpected_keys
            if not odd:
                # Not `safe_merge`, which rounds the update before it is added: another model.
                return wrapped.merge_and_unload()
    except Exception as error:  # PEFT raises anything
        if memory.is_out_of_memory(error):
            raise
        message = (
            f"{adapter.model}: the adapter {adapter.folder} could not be merged into its base "
            f"{adapter.base} ({source.brief(error)}). Is it the base that it was trained on? "
            f"Correct base_model_name_or_path and revision in {adapter.config}"
        )
        raise ModelError(message) from error
    message = (
        f"{adapter.model}: {len(odd)} {kind} keys in {adapter.weights}, first "
        f"{odd[0]!r}, for its base {adapter.base}: {_ODD[kind]}. "
        f"Correct base_model_name_or_path and revision in {adapter.config} if it is "
        f"another base's; else save the adapter again with save_pretrained(FOLDER)"
    )
    raise ModelError(message)
