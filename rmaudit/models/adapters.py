"""LoRA adapters (PEFT): found with their base, checked, and merged into it in memory.

Merging is PEFT's own `merge_and_unload` on the base in the run's dtype, so rewards are those of
the merged model that a user would save in that dtype. Nothing in adapter_config.json is run or
imported: of its entries, those that decide the merged weights are handed to PEFT, those that decide
training only are left out, and any other is refused.

What PEFT saves: the LoRA's tensors as `base_model.model.LAYER.lora_A.weight`, and whole ones (a
trained head, a resized embedding) as `base_model.model.LAYER.weight`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.errors import ModelError
from rmaudit.models import files
from rmaudit.models.heads import Shapes, linear
from rmaudit.models.heads.dispatch import Found
from rmaudit.registry import ModelSpec

if TYPE_CHECKING:
    from torch import Tensor

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX, _WRAPPED, _LORA = "base_model.model.", ".base_layer.", ".lora_"
_HUB_ID = re.compile(r"(?a:\w[\w.-]*/\w[\w.-]*|\w[\w.-]*)")
_PROMPTS = ("PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "CARTRIDGE")
_MERGED = (  # entries of LoraConfig that decide the merged weights
    "r lora_alpha target_modules exclude_modules layers_to_transform layers_pattern rank_pattern "
    "alpha_pattern fan_in_fan_out bias use_rslora use_dora lora_bias modules_to_save "
    "trainable_token_indices target_parameters"
).split()
_TRAINING = (  # entries that do not: PEFT needs them to train, or to find what is found here
    "peft_type peft_version task_type auto_mapping base_model_name_or_path revision inference_mode "
    "init_lora_weights lora_dropout megatron_core qalora_group_size runtime_config loftq_config "
    "eva_config"
).split()
# Others change the base's weights before training, so an adapter alone is not what was trained.
_STARTS = (True, False, None, "gaussian", "eva", "orthogonal")
_HOW = "Merge it where it was trained, save the merged model, and audit that folder"


@dataclass(frozen=True)
class Adapter:
    """An adapter's folder and its base's; `revision` is the base's commit if it is the hub's."""

    model: str
    folder: Path
    base: Path
    revision: str | None
    settings: Mapping[str, Any]

    @cached_property
    def saved(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all tensors in it, by the names in the file."""
        return files.header(self.folder / WEIGHTS, model=self.model)

    @cached_property
    def added(self) -> Shapes:
        """Those that replace whole tensors of the base, by the base's names."""
        return {_plain(key): shape for key, shape in self.saved.items() if _LORA not in key}

    @property
    def tokenizer(self) -> Path:
        """The folder of its tokenizer: its own, or else its base's."""
        return tokenizer_of(self.folder, self.base)

    @cached_property
    def rows(self) -> int | None:
        """Rows of the embedding that it brings, None if it keeps its base's."""
        base = files.shapes(self.base, model=self.model)
        rows = files.read_config(self.base, model=self.model).get("vocab_size")
        for name, shape in self.added.items():
            key = next((k for k in base if name == k or name.endswith(f".{k}")), None)
            if key and base[key][:1] == (rows,) and base[key][1:] == shape[1:]:
                return shape[0]
        return None

    def head(self, merged: Any, keys: frozenset[str]) -> dict[str, Tensor]:  # noqa: ANN401
        """The head as it was saved; where the adapter changes its base's, as it was merged."""
        from safetensors import safe_open

        if any(key.startswith(f"{_PREFIX}score{_LORA}") for key in self.saved):
            return {linear.KEY: merged.score.weight.detach()}
        if not keys & set(self.added):
            return files.tensors(self.base, keys)
        with safe_open(self.folder / WEIGHTS, framework="pt") as opened:
            return {_plain(k): opened.get_tensor(k) for k in self.saved if _plain(k) in keys}


def find(folder: Path, spec: ModelSpec, cache: Path) -> Adapter | None:
    """The adapter in a folder, with its base found or downloaded; None if it is a checkpoint.

    Raises:
        ModelError: it cannot be merged, its weights are missing, or its base cannot be had.
    """
    if not (folder / CONFIG).is_file():
        return None
    both = sorted(p.name for p in folder.glob("model*.safetensors"))
    if both:
        message = (
            f"{spec.name}: {folder} holds both a checkpoint ({both[0]}) and an adapter ({CONFIG}), "
            f"and which of them is meant is unknown. Move one of them into a folder of its own"
        )
        raise ModelError(message)
    given = files.read_config(folder, model=spec.name, name=CONFIG)
    settings = _settings(given, folder, spec.name)
    if not (folder / WEIGHTS).is_file():
        pickle = (folder / "adapter_model.bin").is_file()
        found = "only adapter_model.bin, a pickle, which can run code" if pickle else "no weights"
        message = (
            f"{spec.name}: no {WEIGHTS} in {folder} ({found}). Load the adapter with peft where "
            f"you trust it, and save it again: model.save_pretrained(FOLDER) writes safetensors"
        )
        raise ModelError(message)
    base, revision = _base(given, folder, spec, cache)
    if (base / CONFIG).is_file():
        message = (
            f"{spec.name}: the base of the adapter {folder} is itself an adapter: {base}. Merge "
            f"that one into its own base first, and name the merged folder as "
            f"base_model_name_or_path in {folder / CONFIG}"
        )
        raise ModelError(message)
    return Adapter(spec.name, folder, base, revision, settings)


def tokenizer_folder(folder: Path, spec: ModelSpec, cache: Path) -> Path:
    """Where the tokenizer of a checkpoint or an adapter is; no weights are downloaded for it.

    Raises:
        ModelError: it is the base's, and that cannot be had.
    """
    if not (folder / CONFIG).is_file() or tokenizer_of(folder, folder.parent) == folder:
        return folder
    given = files.read_config(folder, model=spec.name, name=CONFIG)
    return _base(given, folder, spec, cache, weights=False)[0]


def tokenizer_of(folder: Path, base: Path) -> Path:
    """The first of the two folders, if it has a tokenizer."""
    return folder if (folder / "tokenizer_config.json").is_file() else base


def check(adapter: Adapter, config: Mapping[str, Any], head: Found) -> None:
    """Only plain heads on weights that are not quantized are merged.

    Raises:
        ModelError: it is another.
    """
    if head.family.NAME != linear.NAME:
        message = (
            f"{adapter.model}: an adapter on a {head.family.NAME} head; rmaudit merges adapters of "
            f"plain sequence classifiers (score.weight) only. {_HOW}"
        )
        raise ModelError(message)
    if files.quantization(config) is not None:
        message = (
            f"{adapter.model}: its base {adapter.base} is quantized, and merging an adapter into "
            f"quantized weights rounds it away. Name the base from before it was quantized as "
            f"base_model_name_or_path in {adapter.folder / CONFIG}"
        )
        raise ModelError(message)


def merge(model: Any, adapter: Adapter) -> Any:  # noqa: ANN401  (transformers' classes)
    """The base with the adapter merged into it, in place.

    Raises:
        ModelError: the adapter's tensors are not those of this base.
    """
    from peft import LoraConfig, PeftModel

    if any(parameter.is_meta for parameter in model.parameters()):
        message = (
            f"{adapter.model}: its base does not fit into memory and was left on disk, where an "
            f"adapter cannot be merged into it. {_HOW}"
        )
        raise ModelError(message)
    try:
        if adapter.rows not in (None, model.get_input_embeddings().num_embeddings):
            model.resize_token_embeddings(adapter.rows, mean_resizing=False)
        wrapped = PeftModel(model, LoraConfig(**adapter.settings), low_cpu_mem_usage=True)
        loaded = wrapped.load_adapter(
            str(adapter.folder), "default", torch_device=str(model.device), low_cpu_mem_usage=True
        )
        odd = {"missing": loaded.missing_keys, "unexpected": loaded.unexpected_keys}
        if not any(odd.values()):
            return wrapped.merge_and_unload(safe_merge=True)
    except Exception as error:  # PEFT raises anything
        message = (
            f"{adapter.model}: the adapter {adapter.folder} could not be merged into its base "
            f"{adapter.base} ({files.brief(error)}). Is it the base that it was trained on? "
            f"Correct base_model_name_or_path and revision in {adapter.folder / CONFIG}"
        )
        raise ModelError(message) from error
    kind = next(kind for kind, keys in odd.items() if keys)
    message = (
        f"{adapter.model}: {len(odd[kind])} {kind} keys in {adapter.folder / WEIGHTS}, first "
        f"{odd[kind][0]!r}, for its base {adapter.base}: a part of the adapter would be left out. "
        f"Correct base_model_name_or_path and revision in {adapter.folder / CONFIG} if it is "
        f"another base's; else save the adapter again with save_pretrained(FOLDER)"
    )
    raise ModelError(message)


def _plain(key: str) -> str:
    return key.removeprefix(_PREFIX).replace(_WRAPPED, ".")


def _settings(given: Mapping[str, Any], folder: Path, model: str) -> dict[str, Any]:
    """What decides the merged weights."""
    kind, path = given.get("peft_type"), folder / CONFIG
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
    known = {*_MERGED, *_TRAINING}
    if odd := sorted(key for key, value in given.items() if value and key not in known):
        message = (
            f"{model}: {path} has {odd[0]} {given[odd[0]]!r}, which rmaudit does not merge: what "
            f"it does to the weights, or which code it loads, is not checked. {_HOW}"
        )
        raise ModelError(message)
    return {key: given[key] for key in _MERGED if given.get(key) is not None}


def _base(
    given: Mapping[str, Any], folder: Path, spec: ModelSpec, cache: Path, *, weights: bool = True
) -> tuple[Path, str | None]:
    """The base's folder, and its commit if it is the hub's."""
    named, revision = given.get("base_model_name_or_path"), given.get("revision")
    where = f"base_model_name_or_path in {folder / CONFIG}"
    if not isinstance(named, str) or not named.strip():
        message = f"{spec.name}: no {where}; write there the folder or the hub id of its base"
        raise ModelError(message)
    there = Path(named).expanduser()
    if there.is_dir():
        return files.locate(ModelSpec(spec.name, str(there.resolve())), cache, weights=weights), None
    if not _HUB_ID.fullmatch(named):
        message = (
            f"{spec.name}: its base is not here: there is no folder {named!r}, which is "
            f"{where}; correct it, or run where that folder is"
        )
        raise ModelError(message)
    asked = ModelSpec(spec.name, named, revision=revision if isinstance(revision, str) else None)
    found = files.locate(asked, cache, weights=weights)
    return found, found.name if found.parent.name == "snapshots" else None
