"""PEFT adapters: what lies in their folder, and the base that they were trained on.

PEFT saves a LoRA's tensors as `base_model.model.LAYER.lora_A.weight`, and whole ones (a trained
head, a resized embedding) as `base_model.model.LAYER.weight`. A head that was trained and not saved
is the trap here: it must be among the adapter's tensors or in a base that is a reward model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import hub, lora, peek, source
from rmaudit.checkpoints.headers import Headers
from rmaudit.checkpoints.heads import Shapes, linear
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

CONFIG, WEIGHTS = source.ADAPTER, "adapter_model.safetensors"
_PREFIX, _WRAPPED, _PART = "base_model.model.", ".base_layer.", ".lora_"
_HUB_ID = re.compile(r"(?a:\w[\w.-]*/\w[\w.-]*|\w[\w.-]*)")


@dataclass(frozen=True)
class Adapter:
    """An adapter's folder and its base's; `revision` is the base's commit if it is the hub's.

    `named` is the base as adapter_config.json names it, `saved` has the shapes of all tensors of
    the adapter by their names in its file, and `there` the headers of its base.
    """

    model: str
    folder: Path
    base: Path
    named: str
    revision: str | None
    settings: Mapping[str, Any]
    saved: Shapes
    there: Headers

    @property
    def config(self) -> Path:
        """Its adapter_config.json."""
        return self.folder / CONFIG

    @property
    def weights(self) -> Path:
        """Its tensors."""
        return self.folder / WEIGHTS

    @cached_property
    def added(self) -> Shapes:
        """Those that replace whole tensors of the base, by the base's names."""
        return {_plain(key): shape for key, shape in self.saved.items() if _PART not in key}

    @property
    def tokenizer(self) -> Path:
        """The folder of its tokenizer: its own, or else its base's."""
        return tokenizer_of(self.folder, self.base)

    @cached_property
    def rows(self) -> int | None:
        """Rows of the embedding that it brings, None if it keeps its base's."""
        base = {key: header.shape for key, header in self.there.items()}
        rows = source.read_config(self.base, model=self.model).get("vocab_size")
        for name, shape in self.added.items():
            key = next((k for k in base if name == k or name.endswith(f".{k}")), None)
            if key and base[key][:1] == (rows,) and base[key][1:] == shape[1:]:
                return shape[0]
        return None

    def head(self, merged: Any, keys: frozenset[str]) -> dict[str, Tensor]:  # noqa: ANN401
        """The head as it was saved; where the adapter changes its base's, as it was merged."""
        from safetensors import safe_open

        if any(key.startswith(f"{_PREFIX}score{_PART}") for key in self.saved):
            return {linear.KEY: merged.score.weight.detach()}
        if not keys & set(self.added):
            return source.tensors(self.base, keys)
        with safe_open(self.weights, framework="pt") as opened:
            return {_plain(k): opened.get_tensor(k) for k in self.saved if _plain(k) in keys}


def find(folder: Path, spec: ModelSpec, cache: Path, *, weights: bool = True) -> Adapter | None:
    """The adapter in a folder, with its base found or downloaded; None if it is a checkpoint.

    The base's weights come last, once their headers were looked at; without `weights`, not at all.

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
    given = source.read_config(folder, model=spec.name, name=CONFIG)
    settings = lora.settings(given, folder / CONFIG, model=spec.name)
    saved = peek.adapter(folder / WEIGHTS, spec.source, model=spec.name)
    shapes = {key: header.shape for key, header in saved.items()}
    base, revision = _base(given, folder, spec, cache, weights=False)
    if (base / CONFIG).is_file():
        message = (
            f"{spec.name}: the base of the adapter {folder} is itself an adapter: {base}. Merge "
            f"that one into its own base first, and name the merged folder as "
            f"base_model_name_or_path in {folder / CONFIG}"
        )
        raise ModelError(message)
    named = given["base_model_name_or_path"]
    there = peek.weights(base, named, model=f"{spec.name}: its base {named}")
    adapter = Adapter(spec.name, folder, base, named, revision, settings, shapes, there)
    _check(adapter, spec)
    if weights and revision is not None and not hub.has_weights(base):
        _base(given, folder, spec, cache)
    return adapter


def _check(adapter: Adapter, spec: ModelSpec) -> None:
    """Before anything else is asked of its base, whose `quantized: true` would be no way out."""
    lora.refuse_quantized(adapter, source.read_config(adapter.base, model=spec.name))
    config = source.check(
        adapter.base,
        model=spec.name,
        logit=spec.logit,
        quantized=spec.quantized,
        added=adapter.added,
        there=adapter.there,
    )
    head = source.head(
        adapter.base, config, model=spec.name, added=adapter.added, there=adapter.there
    )
    lora.refuse_head(adapter, head)


def tokenizer_folder(folder: Path, spec: ModelSpec, cache: Path) -> Path:
    """Where the tokenizer of a checkpoint or an adapter is; no weights are downloaded for it.

    Raises:
        ModelError: it is the base's, and that cannot be had.
    """
    if not (folder / CONFIG).is_file() or tokenizer_of(folder, folder.parent) == folder:
        return folder
    return base_of(folder, spec, cache)[0]


def base_of(folder: Path, spec: ModelSpec, cache: Path) -> tuple[Path, str | None]:
    """The folder of an adapter's base, and its commit on the hub; without its weights.

    Raises:
        ModelError: the adapter cannot be merged, or its base cannot be had.
    """
    given = source.read_config(folder, model=spec.name, name=CONFIG)
    lora.settings(given, folder / CONFIG, model=spec.name)
    return _base(given, folder, spec, cache, weights=False)


def tokenizer_of(folder: Path, base: Path) -> Path:
    """The first of the two folders, if it has a tokenizer."""
    return folder if (folder / "tokenizer_config.json").is_file() else base


def _plain(key: str) -> str:
    return key.removeprefix(_PREFIX).replace(_WRAPPED, ".")


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
        return there.resolve(), None
    if named == "embedded" or not _HUB_ID.fullmatch(named):  # which is a model of the registry only
        message = (
            f"{spec.name}: its base is not here: there is no folder {named!r}, which is "
            f"{where}; correct it, or run where that folder is"
        )
        raise ModelError(message)
    asked = ModelSpec(spec.name, named, revision=revision if isinstance(revision, str) else None)
    found = source.locate(asked, cache, weights=weights, headed=False, instead=where)
    return found, hub.commit(found)
