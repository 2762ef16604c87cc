"""Merge LoRA adapters into their base in memory, by PEFT's own `merge_and_unload`.

The base is in the run's dtype, as it is where a user merges: so rewards are those of the merged
model that PEFT makes in that dtype. (Merging in float32 and rounding afterwards is another model.)

`round_layers` rounds a base to 4 bits (NF4) as it is while QLoRA trains: sixteen numbers, scaled by
the largest of each block of 64 weights (Dettmers et al. 2023, arXiv:2305.14314, appendix E).
bitsandbytes also rounds the scales ("double quantization"), which is left out here. Embeddings, and
layers that give outputs, it leaves as they are.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.adapter_files import Adapter
from rmaudit.checkpoints.adapter_settings import MERGE_IT_THERE
from rmaudit.checkpoints.tensor_names import PART, PEFT
from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 64
_NUMBERS = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_OUTPUTS = ("score", "lm_head")
_EXPERT = re.compile(r"\.experts\.\d+\.")
_EXPERTS_SINCE = (0, 19, 1)  # PEFT's release
_OF_EXPERTS = 3  # dimensions of a parameter that holds many experts
_CONSEQUENCE = {
    "missing": "what was trained would stay as it is in the base",
    "unexpected": "a part of the adapter would be left out",
}


def merge(model: Any, adapter: Adapter, tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401  (transformers' classes)
    """Merge the adapter into `model` (its base) in place, and return the merged model.

    `tensors` are the adapter's, by the names that PEFT saves. They may be on the meta device as the
    model may be: so it is tried whether they fit.

    Raises:
        ModelError: the adapter's tensors are not those of this base.
        RuntimeError, MemoryError: it does not fit into memory.
    """
    from peft import LoraConfig, PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
    from peft.utils.transformers_weight_conversion import (
        convert_peft_adapter_state_dict_for_transformers as as_this_release_has_it,
    )

    from rmaudit.scoring import memory_sized_batches  # which loads torch

    tried = all(tensor.is_meta for tensor in tensors.values())
    if not tried and any(parameter.is_meta for parameter in model.parameters()):
        raise ModelError(
            f"{adapter.model}: its base does not fit into memory and was left on disk, where an "
            f"adapter cannot be merged into it. {MERGE_IT_THERE}"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of PEFT's, about transformers
            if adapter.rows not in (None, model.get_input_embeddings().num_embeddings):
                model.resize_token_embeddings(adapter.rows, mean_resizing=False)
            _refuse_scaled_experts(adapter)
            if any(map(_EXPERT.search, adapter.saved)):  # PEFT then sets patterns of its own
                warnings.filterwarnings("ignore", ".*_pattern keys did not match", RuntimeWarning)
            if adapter.rounded and not tried:
                round_layers(model)
            wrapped = PeftModel(model, LoraConfig(**adapter.settings), low_cpu_mem_usage=tried)
            _refuse_turned_experts(wrapped, adapter)
            # PEFT's own `missing_keys` are of LoRA tensors only, not of a trained head or bias.
            wanted = get_peft_model_state_dict(wrapped, save_embedding_layers=False)
            saved = as_this_release_has_it(wrapped, wrapped.peft_config["default"], dict(tensors))
            kind, odd = "missing", sorted(wanted.keys() - saved.keys())
            if not odd:
                loaded: Any = set_peft_model_state_dict(wrapped, saved, low_cpu_mem_usage=tried)
                kind, odd = "unexpected", loaded.unexpected_keys
            if not odd:
                # Not `safe_merge`, which rounds the update before it is added: another model.
                return wrapped.merge_and_unload()
    except ModelError:
        raise
    except Exception as error:  # PEFT raises anything
        if memory_sized_batches.is_out_of_memory(error):
            raise
        own = (
            f"Is it the base that it was trained on? Correct base_model_name_or_path and revision "
            f"in {adapter.config}"
        )
        raise ModelError(
            f"{adapter.model}: the adapter {adapter.folder} could not be merged into its base "
            f"{adapter.base.path} ({brief(error)}). {_advice(adapter) or own}"
        ) from error
    own = (
        f"Correct base_model_name_or_path and revision in {adapter.config} if it is "
        f"another base's; else save the adapter again with save_pretrained(FOLDER)"
    )
    raise ModelError(
        f"{adapter.model}: {len(odd)} {kind} keys in {adapter.weights}, first "
        f"{odd[0]!r}, for its base {adapter.base.path}: {_CONSEQUENCE[kind]}. "
        f"{_advice(adapter) or own}"
    )


def _advice(adapter: Adapter) -> str:
    return _of_experts(adapter) or _named_otherwise(adapter)


def _of_experts(adapter: Adapter) -> str:
    """Return sentences on a LoRA of single experts, which has a layout of its own; "" if none is.

    PEFT fuses it where it knows how this release of transformers has the experts.
    """
    expert = next(filter(_EXPERT.search, adapter.saved), "")
    if not expert:
        return ""
    return (
        f"It has LoRA for single experts ({expert!r}), as of transformers 4; transformers 5 keeps "
        f"experts fused in one tensor, and PEFT fuses such a LoRA for some models only, and whole. "
        f"{MERGE_IT_THERE}, with the transformers that trained it; or, if this is not its base, "
        f"correct base_model_name_or_path in {adapter.config}"
    )


def _refuse_scaled_experts(adapter: Adapter) -> None:
    """Raise if a LoRA of single experts has scales that PEFT loses where it fuses the experts.

    PEFT doubles r and alpha, which keeps alpha / r, and not alpha / sqrt(r); ranks of their own
    are not looked at.

    Raises:
        ModelError: it has such a setting.
    """
    keys = ("use_rslora", "rank_pattern", "alpha_pattern")
    odd = [key for key in keys if adapter.settings.get(key)]
    if odd and any(map(_EXPERT.search, adapter.saved)):
        raise ModelError(
            f"{adapter.model}: {adapter.config} has {odd[0]}, and LoRA for single experts, which "
            f"transformers 5 keeps fused in one tensor; PEFT does not keep that setting where it "
            f"fuses them. {MERGE_IT_THERE}, with the transformers that trained it"
        )


def _refuse_turned_experts(wrapped: Any, adapter: Adapter) -> None:  # noqa: ANN401  (PEFT's class)
    """Raise if a LoRA of fused experts is of a release of PEFT that had its two factors turned.

    Of a parameter (experts, a, b), PEFT up to 0.18 takes a for the inputs. Since 0.19.1 it takes b,
    unless the module says `is_transposed`; 0.19.0 has that the wrong way round
    (huggingface/peft#3112, #3165). Where a equals b, no shape would tell.

    Raises:
        ModelError: the release is not known to be one that has the factors as this one has.
    """
    from peft.tuners.lora.layer import ParamWrapper

    numbers = tuple(map(int, re.findall(r"\d+", adapter.release)[:3]))
    if not adapter.settings.get("target_parameters") or (
        numbers >= _EXPERTS_SINCE and "dev" not in adapter.release
    ):
        return
    for name, module in wrapped.named_modules():
        if isinstance(module, ParamWrapper) and module.get_param().ndim == _OF_EXPERTS:  # type: ignore[no-untyped-call]
            inputs_first = getattr(module.get_base_layer(), "is_transposed", False)
            if inputs_first and numbers < (0, 19):
                continue
            said = f"PEFT {adapter.release}" if adapter.release else "a PEFT that it does not name"
            raise ModelError(
                f"{adapter.model}: {adapter.config} has target_parameters, LoRA on fused experts "
                f"({name.removeprefix(PEFT)}.{module.parameter_name}), saved by {said}; PEFT has "
                f"had its factors in today's order since 0.19.1, and the shapes do not tell. "
                f"{MERGE_IT_THERE}, with the PEFT that trained it"
            )


def _named_otherwise(adapter: Adapter) -> str:
    """Return what to do with an adapter that names its base's layers by another class; else "".

    A multimodal model has its text model's layers under `language_model`; who trains on the text
    model's own class saves an adapter without it (modelscope/ms-swift#8477, vllm#48019).
    """
    of_base, own = _layers(adapter.headers), _layers(k for k in adapter.saved if PART in k)
    if own == of_base or {*map(_plain, own)} != {*map(_plain, of_base)}:
        return ""
    return (
        f"It names the layers {', '.join(own)}, and its base {', '.join(of_base)}: one is the text "
        f"model alone, the other a multimodal model around it. {MERGE_IT_THERE}"
    )


def _layers(names: Iterable[str]) -> list[str]:
    """Return what stands before the layers' numbers in the names, but for those of images."""
    found = (name.removeprefix(PEFT).partition(".layers.") for name in names)
    return sorted(
        {f"{before}.layers" for before, layers, _ in found if layers and "vis" not in before}
    )


def _plain(layers: str) -> str:
    return layers.replace("language_model.", "")


def round_layers(model: Any) -> None:  # noqa: ANN401  (transformers' classes)
    """Round the weights of all linear layers of `model` in place, but for `score` and `lm_head`."""
    import torch

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and name.rpartition(".")[2] not in _OUTPUTS:
            with torch.no_grad():
                module.weight.copy_(rounded(module.weight))


def rounded(weight: Any) -> Any:  # noqa: ANN401  (a torch.Tensor)
    """Return a tensor's numbers rounded to NF4 in blocks of 64, in float32 and of its shape."""
    import torch

    numbers = torch.tensor(_NUMBERS, device=weight.device)
    flat = weight.float().flatten()
    blocks = torch.nn.functional.pad(flat, (0, -len(flat) % _BLOCK)).view(-1, _BLOCK)
    scales = blocks.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
    middles = (numbers[1:] + numbers[:-1]) / 2
    nearest = numbers[torch.bucketize(blocks / scales, middles)]
    return (nearest * scales).flatten()[: len(flat)].view(weight.shape)
