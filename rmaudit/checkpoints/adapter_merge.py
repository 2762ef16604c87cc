"""Merge LoRA adapters into their base in memory, by PEFT's own `merge_and_unload`.

The base is in the run's dtype, as it is where a user merges: so rewards are those of the merged
model that PEFT makes in that dtype. (Merging in float32 and rounding afterwards is another model.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from rmaudit.checkpoints import nf4_rounding
from rmaudit.checkpoints.adapter_files import PREFIX, Adapter
from rmaudit.checkpoints.adapter_settings import MERGE_IT_THERE
from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.errors import ModelError

_CONSEQUENCE = {
    "missing": "what was trained would stay as it is in the base",
    "unexpected": "a part of the adapter would be left out",
}


def merge(model: Any, adapter: Adapter) -> Any:  # noqa: ANN401  (transformers' classes)
    """Merge the adapter into `model` (its base) in place, and return the merged model.

    Raises:
        ModelError: the adapter's tensors are not those of this base.
        RuntimeError, MemoryError: it does not fit into memory.
    """
    from peft import LoraConfig, PeftModel, get_peft_model_state_dict

    from rmaudit.scoring import memory_sized_batches  # which loads torch

    if any(parameter.is_meta for parameter in model.parameters()):
        message = (
            f"{adapter.model}: its base does not fit into memory and was left on disk, where an "
            f"adapter cannot be merged into it. {MERGE_IT_THERE}"
        )
        raise ModelError(message)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of PEFT's, about transformers
            if adapter.rows not in (None, model.get_input_embeddings().num_embeddings):
                model.resize_token_embeddings(adapter.rows, mean_resizing=False)
            if adapter.rounded:
                nf4_rounding.round_layers(model)
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
        if memory_sized_batches.is_out_of_memory(error):
            raise
        own = (
            f"Is it the base that it was trained on? Correct base_model_name_or_path and revision "
            f"in {adapter.config}"
        )
        message = (
            f"{adapter.model}: the adapter {adapter.folder} could not be merged into its base "
            f"{adapter.base.path} ({brief(error)}). {_named_otherwise(adapter) or own}"
        )
        raise ModelError(message) from error
    own = (
        f"Correct base_model_name_or_path and revision in {adapter.config} if it is "
        f"another base's; else save the adapter again with save_pretrained(FOLDER)"
    )
    message = (
        f"{adapter.model}: {len(odd)} {kind} keys in {adapter.weights}, first "
        f"{odd[0]!r}, for its base {adapter.base.path}: {_CONSEQUENCE[kind]}. "
        f"{_named_otherwise(adapter) or own}"
    )
    raise ModelError(message)


def _named_otherwise(adapter: Adapter) -> str:
    """Return what to do with an adapter that names its base's layers by another class; else "".

    A multimodal model has its text model's layers under `language_model`; who trains on the text
    model's own class saves an adapter without it (modelscope/ms-swift#8477, vllm#48019).
    """
    of_base, own = _layers(adapter.headers), _layers(k for k in adapter.saved if ".lora_" in k)
    if own == of_base or {*map(_plain, own)} != {*map(_plain, of_base)}:
        return ""
    return (
        f"It names the layers {', '.join(own)}, and its base {', '.join(of_base)}: one is the text "
        f"model alone, the other a multimodal model around it. {MERGE_IT_THERE}"
    )


def _layers(names: Iterable[str]) -> list[str]:
    """Return what stands before the layers' numbers in the names, but for those of images."""
    found = (name.removeprefix(PREFIX).partition(".layers.") for name in names)
    return sorted(
        {f"{before}.layers" for before, layers, _ in found if layers and "vis" not in before}
    )


def _plain(layers: str) -> str:
    return layers.replace("language_model.", "")
