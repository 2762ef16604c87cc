"""Find what lies in a PEFT adapter's folder, and the base that it was trained on.

A head that was trained and not saved is the trap here: it must be among the adapter's tensors or in
a base that is a reward model. Names of tensors are those that PEFT saves (`tensor_names`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import checkpoint_source, config_json, tensor_names, weights_headers
from rmaudit.checkpoints.adapter_settings import MERGE_IT_THERE, deciding_entries, refuse_endless
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.checkpoints.heads import linear
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.checkpoints.tensor_names import PART, in_base
from rmaudit.checkpoints.third_party_errors import short
from rmaudit.checkpoints.weights_headers import Headers
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.paths_and_atomic_writes import expanded, is_folder
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

CONFIG, WEIGHTS = weights_headers.ADAPTER_CONFIG, weights_headers.ADAPTER
_PATH = 200  # letters of a path that an error shows
# LoRA tensors that PEFT writes; others say `lora_` too.
_OF_PEFT = re.compile(r"\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)(\.|$)")
# What PEFT's model card says of bitsandbytes, and the quantized base that it names.
_CARD_SAYS = re.compile(r"(?m)^- (load_in_[48]bit: True)\s*$|^(base_model: \S*[48]bit\S*)\s*$")
_HUB_ID = re.compile(r"(?a:\w[\w.-]{0,95}/\w[\w.-]{0,95}|\w[\w.-]{0,95})")


@dataclass(frozen=True)
class Adapter:
    """A PEFT adapter's files and settings, and the base checkpoint that it is merged into.

    Attributes:
        model: the model's name in models.yaml.
        folder: the folder of the adapter's files.
        base: the files of the base.
        named: the base as adapter_config.json names it.
        revision: the base's commit if it is the hub's.
        release: PEFT's release that saved it, as adapter_config.json has it; "" if it says none.
        settings: the entries of adapter_config.json that change the merged weights.
        saved: the shapes of all tensors of the adapter, by the names that PEFT saves.
        stored: the tensors' names in the adapter's file, by those that PEFT saves.
        headers: the headers of the base's tensors.
        rounded: whether the base is rounded to 4 bits before the adapter is merged into it.
    """

    model: str
    folder: Path
    base: CheckpointFiles
    named: str
    revision: str | None
    release: str
    settings: Mapping[str, Any]
    saved: Shapes
    stored: Mapping[str, str]
    headers: Headers
    rounded: bool = False

    @property
    def config(self) -> Path:
        """Return the path of the adapter's adapter_config.json."""
        return self.folder / CONFIG

    @property
    def weights(self) -> Path:
        """Return the path of the file with the adapter's tensors."""
        return self.folder / WEIGHTS

    @cached_property
    def added(self) -> Shapes:
        """Return shapes of tensors that the adapter stores whole, by their names in the base model.

        Such tensors are a trained head or a resized embedding.
        """
        return {in_base(key): shape for key, shape in self.saved.items() if PART not in key}

    @property
    def tokenizer(self) -> Path:
        """Return the folder of the tokenizer: the adapter's if it has one, or else the base's."""
        return self.folder if _has_tokenizer(self.folder) else self.base.path

    @cached_property
    def rows(self) -> int | None:
        """Return the row count of the embedding that the adapter stores; None if it stores none."""
        base = {key: header.shape for key, header in self.headers.items()}
        rows = config_json.read(self.base.path, model=self.model).get("vocab_size")
        for name, shape in self.added.items():
            key = next((k for k in base if name == k or name.endswith(f".{k}")), None)
            if key and base[key][:1] == (rows,) and base[key][1:] == shape[1:]:
                return shape[0]
        return None

    def unchanging(self) -> str:
        """Return the name of a `lora_B` if all are zero, so that no weight changes; "" if not.

        PEFT starts with such ones, those of embeddings being called `lora_embedding_A`. Their files
        must be here.
        """
        ends = (f"{PART}B", f"{PART}embedding_A")
        names = sorted(name for name in self.stored if any(end in name for end in ends))
        if not names or self.settings.get("use_dora"):  # which has factors besides
            return ""
        zero = weights_headers.all_zero(self.weights, [self.stored[name] for name in names])
        return names[0] if zero else ""

    @cached_property
    def base_in_training(self) -> str:
        """Return what the adapter's README.md says of a base that was quantized while it trained.

        For example "load_in_4bit: True"; "" if it says nothing of it, or is not there.
        """
        found = _CARD_SAYS.search(self._card)
        return "" if found is None else next(filter(None, found.groups()))

    @property
    def base_was_nf4(self) -> bool:
        """Return whether the base was in 4 bits of QLoRA's type (NF4) while it trained."""
        return "4bit" in self.base_in_training and "quant_type: fp4" not in self._card

    @cached_property
    def _card(self) -> str:
        try:
            return (self.folder / "README.md").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def unapplied(self) -> Adapter:
        """Return the adapter with its LoRA scaled to nothing; what it saves whole stays applied."""
        return replace(self, settings={**self.settings, "lora_alpha": 0, "alpha_pattern": {}})

    def downloaded(self) -> Adapter:
        """Return the same adapter with its base's weights downloaded. Raises `ModelError`."""
        return replace(self, base=self.base.downloaded())

    def head(self, merged: Any, keys: frozenset[str]) -> dict[str, Tensor]:  # noqa: ANN401  (transformers' classes)
        """Return the head's tensors: `merged`'s if a LoRA changes the head, else the saved `keys`.

        Saved ones are the adapter's if it has any of them, else the base's.
        """
        from safetensors import safe_open

        if any(in_base(key).startswith(f"score{PART}") for key in self.saved):
            return {linear.KEY: merged.score.weight.detach()}
        if not keys & set(self.added):
            return weights_headers.tensors(self.base.path, keys)
        with safe_open(self.weights, framework="pt") as opened:
            own = {in_base(key): stored for key, stored in self.stored.items()}
            return {key: opened.get_tensor(own[key]) for key in keys & set(own)}

    def tensors(self, device: str) -> dict[str, Tensor]:
        """Return the adapter's tensors on a torch device, by the names that PEFT saves."""
        from safetensors.torch import load_file

        own = load_file(self.weights, device=device)
        return {name: own[stored] for name, stored in self.stored.items()}


def find(found: CheckpointFiles, spec: ModelSpec, cache: Path) -> Adapter | None:
    """Return the adapter among a model's files, with its base; None if there is no adapter.

    If the base is on the hub, its small files are downloaded.

    Raises:
        ModelError: it cannot be merged, its weights are missing, or its base cannot be had.
    """
    folder = found.path
    if not (folder / CONFIG).is_file():
        return None
    both = sorted(p.name for p in folder.glob("model*.safetensors"))
    if both:
        raise ModelError(
            f"{spec.name}: {folder} holds both a checkpoint ({both[0]}) and an adapter ({CONFIG}), "
            f"and which of them is meant is unknown. Move one of them into a folder of its own"
        )
    given = config_json.read(folder, model=spec.name, name=CONFIG)
    decides = deciding_entries(given, folder / CONFIG, model=spec.name)
    own = _adapter_headers(found)
    weights_headers.refuse_no_floats(own, folder / WEIGHTS, model=spec.name)
    weights_headers.refuse_empty(own, folder / WEIGHTS, model=spec.name)
    stored = tensor_names.as_peft_saves(own)
    shapes = {name: own[key].shape for name, key in stored.items()}
    if odd := sorted(key for key in shapes if PART in key and not _OF_PEFT.search(key)):
        raise ModelError(
            f"{spec.name}: {len(odd)} tensors of {folder / WEIGHTS}, such as {odd[0]!r} "
            f"{shapes[odd[0]]}, are no LoRA of PEFT's, so what they do to the weights is not "
            f"known here (NeMo Automodel saves those of all experts of a layer in one). "
            f"{MERGE_IT_THERE}"
        )
    base, revision = _base(found, given, spec, cache)
    if (base.path / CONFIG).is_file():
        raise ModelError(
            f"{spec.name}: the base of the adapter {folder} is itself an adapter: {base.path}. "
            f"Merge that one into its own base first, and name the merged folder as "
            f"base_model_name_or_path in {folder / CONFIG}"
        )
    named = str(given["base_model_name_or_path"])
    headers = checkpoint_source.read(replace(base, model=f"{spec.name}: its base {named}"))
    refuse_endless(decides, headers, folder / CONFIG, model=spec.name)
    release = str(given.get("peft_version") or "")
    return Adapter(
        spec.name, folder, base, named, revision, release, decides, shapes, stored, headers
    )


def _base(
    found: CheckpointFiles, given: Mapping[str, Any], spec: ModelSpec, cache: Path
) -> tuple[CheckpointFiles, str | None]:
    """Return the files of an adapter's base, and the base's commit if it is on the hub.

    `given` is the adapter's adapter_config.json. Raises `ModelError` if the base cannot be had.
    """
    base, where = _base_folder(found.path, given, spec.name)
    if base is not None:
        return checkpoint_source.Folder(spec.name, base), None
    named, revision = str(given["base_model_name_or_path"]), given.get("revision")
    asked = ModelSpec(spec.name, named, revision=revision if isinstance(revision, str) else None)
    on_hub = checkpoint_source.find(asked, cache, folder_hint=where)
    return on_hub, checkpoint_source.commit_of(on_hub.path)


def refuse_missing_base(folder: Path, *, model: str) -> None:
    """Raise if a folder has an adapter whose base is a folder that is missing.

    A base on the hub is not looked for.

    Raises:
        ModelError: it is missing, or adapter_config.json names none or cannot be read.
    """
    if is_folder(folder) and (folder / CONFIG).is_file():
        _base_folder(folder, config_json.read(folder, model=model, name=CONFIG), model)


def _base_folder(folder: Path, given: Mapping[str, Any], model: str) -> tuple[Path | None, str]:
    """Return the folder of an adapter's base, None if that is on the hub, and where it is named.

    Raises `ModelError` if it is neither.
    """
    named = given.get("base_model_name_or_path")
    where = f"base_model_name_or_path in {folder / CONFIG}"
    if not isinstance(named, str) or not named.strip():
        message = f"{model}: no {where}; write there the folder or the hub id of its base"
        raise ModelError(message)
    given_path, own = expanded(named), folder.absolute()
    around = list(dict.fromkeys([own, own.parent, Path.cwd()]))  # beside it, or where training ran
    relative = not given_path.is_absolute()
    for place in [each / given_path for each in around] if relative else [given_path]:
        # The adapter's own folder is no base of it: one called `rm` may have a base of that name.
        if is_folder(place) and not (relative and place.samefile(folder)):
            return place.resolve(), where
    looked = f" in {', '.join(short(str(each), _PATH) for each in around)}" if relative else ""
    if named == "embedded" or not _HUB_ID.fullmatch(named):  # which is a model of the registry only
        raise ModelError(
            f"{model}: its base is not here: there is no folder {short(named)!r}{looked}; it "
            f"is {where}: correct it, or run where that folder is"
        )
    return None, f"{where} (there is no folder {short(named)!r}{looked})"


def tokenizer_folder(found: CheckpointFiles, spec: ModelSpec, cache: Path) -> Path:
    """Return the folder of a checkpoint's or an adapter's tokenizer, without downloading weights.

    Raises:
        ModelError: the tokenizer is the base's, and the adapter cannot be merged or its base had.
    """
    folder = found.path
    if not (folder / CONFIG).is_file() or _has_tokenizer(folder):
        return folder
    given = config_json.read(folder, model=spec.name, name=CONFIG)
    deciding_entries(given, folder / CONFIG, model=spec.name)
    return _base(found, given, spec, cache)[0].path


def refuse(folder: Path, *, model: str) -> None:
    """Raise if a folder holds an adapter; called for models on which adapters are not supported.

    transformers would merge one unasked, and name no missing keys.

    Raises:
        ModelError: there is one in the folder.
    """
    if (folder / CONFIG).is_file():
        raise ModelError(
            f"{model}: {CONFIG} lies in {folder}, so transformers would put an adapter into its "
            f"weights; rmaudit merges adapters into plain reward models only. Remove it from "
            f"there, or merge it where it was trained and give the folder of the merged model"
        )


def _adapter_headers(found: CheckpointFiles) -> Headers:
    """Return the tensor headers in adapter_model.safetensors; raise if there is no such file."""
    names = found.names()
    if WEIGHTS in names:
        return found.headers(WEIGHTS)
    pickle = "adapter_model.bin"
    said = f"only {pickle}, a pickle, which can run code" if pickle in names else "no weights"
    raise ModelError(
        f"{found.model}: no {WEIGHTS} in {found.where} ({said}). Load the adapter with peft where "
        f"you trust it, and save it again: model.save_pretrained(FOLDER) writes safetensors"
    )


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "tokenizer_config.json").is_file()
