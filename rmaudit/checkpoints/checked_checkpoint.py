"""Hold what is known of a checkpoint before its load: config.json and tensor shapes, checked.

Whoever looks at headers only (`rmaudit models check`) and whoever loads weights go by the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import checkpoint_source, config_json, internlm2, weights_headers
from rmaudit.checkpoints.adapter_files import Adapter
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.checkpoints.heads import FoundHead, encoder, single_objective
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.checkpoints.third_party_errors import as_model_error, named
from rmaudit.checkpoints.weights_headers import Headers
from rmaudit.config.model_registry import ModelSpec

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True)
class Unchecked:
    """A checkpoint's config.json and its tensors' shapes, before any check. Made by `look`.

    Attributes:
        spec: the entry of models.yaml.
        source: its files; of an adapter, the adapter's.
        config: config.json, with what the entry says of the head added, by which the head is found.
        headers: the headers of all tensors of `base`.
        adapter: what is merged into the weights, if anything is.
        beside: the headers of a head in a file beside the weights, in `source`; also in `headers`.
    """

    spec: ModelSpec
    source: CheckpointFiles
    config: Mapping[str, Any]
    headers: Headers
    adapter: Adapter | None
    beside: Headers

    @property
    def base(self) -> CheckpointFiles:
        """Return the files of config.json and the weights; of an adapter, its base's."""
        return self.source if self.adapter is None else self.adapter.base

    @property
    def shapes(self) -> Shapes:
        """Return the shapes of all tensors; an adapter's whole ones replace its base's."""
        added = {} if self.adapter is None else self.adapter.added
        return {**{key: header.shape for key, header in self.headers.items()}, **added}


@dataclass(frozen=True)
class Checked(Unchecked):
    """A checkpoint that rmaudit can score; `head` has its head's family and tensor names."""

    head: FoundHead

    @property
    def name(self) -> str:
        """Return the model's name in models.yaml."""
        return self.spec.name

    @property
    def tokenizer_folder(self) -> Path:
        """Return the tokenizer's folder: the checkpoint's, or an adapter's own, or its base's."""
        return self.source.path if self.adapter is None else self.adapter.tokenizer

    @property
    def reads_pairs(self) -> bool:
        """Return whether the model is an encoder, which reads pairs of texts.

        An encoder has no chat template.
        """
        return self.head.family.NAME == encoder.NAME

    @property
    def head_shapes(self) -> Shapes:
        """Return the shapes of the head's tensors, by their names."""
        shapes = self.shapes
        return {key: shapes[key] for key in sorted(self.head.keys)}

    @property
    def objectives(self) -> tuple[str, ...]:
        """Return the names of the head's outputs; () if it has one. Raises `ModelError`."""
        with named(self.name):
            return single_objective.names(self.head.family.NAME, self.config, self.head_shapes)

    @property
    def objective(self) -> int | None:
        """Return the index of the head's output that is audited; None if none was chosen.

        Raises `ModelError` if the head has no such output.
        """
        if (asked := self.spec.objective) is None:
            return None
        found = self.objectives
        with named(self.name):
            return single_objective.index_of(asked, self.head.family.NAME, found)

    @cached_property
    def defaults(self) -> PretrainedConfig:
        """Return transformers' configuration of the model, with its class's defaults filled in.

        InternLM2's is that of the Llama as which it is loaded. Raises `ModelError`.
        """
        if internlm2.is_one(self.config):
            with as_model_error(self.name, config_json.NAME, self.base.path):
                return internlm2.configuration(self.config)
        return config_json.defaults(self.base.path, model=self.name)

    @property
    def is_here(self) -> bool:
        """Return whether all weights are on this machine."""
        return all(isinstance(each, checkpoint_source.Folder) for each in (self.source, self.base))

    def cautions(self) -> Iterator[str]:
        """Yield sentences on weights that stay unused, and on what an adapter is merged into."""
        folder, adapter = self.base.path, self.adapter
        if (
            adapter
            and isinstance(self.source, checkpoint_source.Folder)
            and (zero := adapter.unchanging())
        ):
            yield (
                f"its LoRA changes nothing, for every lora_B in {adapter.weights} is zero, first "
                f"{zero!r}: all but what the adapter stores whole is its base's. Was it saved "
                f"before it was trained? Take a later checkpoint"
            )
        if adapter and adapter.base_in_training:
            yield (
                f"its adapter was trained on a quantized base ({adapter.base_in_training!r} in "
                f"{adapter.folder / 'README.md'}), and is merged here into {adapter.named} as it "
                f"is: the rewards differ from those in training by the rounding of the base. "
                f"`rmaudit doctor` measures by how much"
            )
        if not isinstance(self.base, checkpoint_source.Folder):
            return
        if left := weights_headers.unread_weights(folder, model=self.name):
            yield (
                f"{', '.join(left)} in {folder} are not read, for transformers reads "
                f"{weights_headers.SINGLE}, or else what {weights_headers.INDEX} names: weights of "
                f"an earlier save? Remove them if they are"
            )
        if left := weights_headers.newer_pickles(folder, model=self.name):
            yield (
                f"{', '.join(left)} in {folder} was written after the *.safetensors, which are "
                f"read: if a later save wrote it, load it with transformers where you trust it, "
                f"and save the model again: model.save_pretrained(FOLDER) writes safetensors"
            )

    def downloaded(self) -> Checked:
        """Download the weights; return the checkpoint with them; warn of weights that stay unused.

        Raises:
            ModelError: the weights cannot be had, or transformers does not know the configuration.
        """
        if not isinstance(self.base, checkpoint_source.Folder):
            _ = self.defaults  # whose errors cost no download
        own = self.source.downloaded()  # before an adapter's base, which is larger
        adapter = None if self.adapter is None else self.adapter.downloaded()
        found = replace(self, source=own, adapter=adapter)
        for said in found.cautions():
            warnings.warn(f"{self.name}: {said}", stacklevel=2)
        return found
