"""The usual way to load a checkpoint: transformers' class for its backbone, and one of our heads.

An adapter is merged into its base as it is loaded.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.checkpoints import configuration, digest
from rmaudit.checkpoints.checked import Checked
from rmaudit.layout.layouts import Layout, layout_in
from rmaudit.models import backbones
from rmaudit.models.loader import dtype_of, refuse_too_many_layers
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from rmaudit.models.weights import Weights


class Native:
    """A checkpoint that needs no code of its own; see `rmaudit.models.loader.Loader`."""

    def __init__(self, checked: Checked) -> None:
        """What was found and checked. Its weights may be elsewhere: then it cannot be loaded.

        Raises:
            ModelError: the registry asks for what it does not have, or config.json for more
                layers than can be there.
        """
        self.checked = checked
        self.spec = checked.spec
        self.folder = checked.source.path
        self.layout: Layout = layout_in(
            checked.tokenizer_folder, checked.spec, pairs=checked.reads_pairs
        )
        refuse_too_many_layers(
            checked.config, checked.headers, checked.base.path, name=checked.name
        )

    @property
    def defaults(self) -> PretrainedConfig:
        """See `Loader`."""
        return self.checked.defaults

    @property
    def rows(self) -> int:
        """Those of an adapter that brings an embedding, or else what config.json says."""
        adapter = self.checked.adapter
        added = None if adapter is None else adapter.rows
        return added or int(self.defaults.get_text_config().vocab_size)

    @property
    def pad(self) -> int | None:
        """By transformers' rule the configuration's pad id, unless the registry says otherwise.

        An adapter was trained with its tokenizer's, which the base's config.json need not have.
        """
        pad = self.defaults.get_text_config().pad_token_id
        if self.checked.adapter is not None and self.layout.tokenizer.pad_token_id is not None:
            pad = self.layout.tokenizer.pad_token_id
        family, asked = self.checked.head.family, self.spec.pool
        pool = family.POOL if asked == "auto" else asked
        return None if pad is None or pool != "hf" else int(pad)

    @property
    def path(self) -> ScoringPath:
        """The path that is exact for its backbone, as far as its configuration tells."""
        return backbones.path_of(self.defaults)

    @property
    def dtype(self) -> str:
        """The registry's dtype, or else the checkpoint's own, or else float32."""
        config = self.checked.config
        own = config.get("dtype") or config.get("torch_dtype")
        return dtype_of(self.spec, own, self.checked.base.path, name=self.spec.name)

    @cached_property
    def settings(self) -> dict[str, str]:
        """Head, pooling, dtype and path; the id of a logit that is the reward."""
        logit = self.spec.logit
        return {
            "head": self.checked.head.family.NAME,
            "pool": "first id" if self.checked.reads_pairs else f"rightmost id but {self.pad}",
            "dtype": self.dtype,
            "path": str(self.path),
            **({} if logit is None else {"logit": str(logit)}),
        }

    @property
    def provenance(self) -> dict[str, str]:
        """The class that config.json names, and an adapter's base."""
        base = {} if self.checked.adapter is None else {"base": str(self.checked.base.path)}
        return {**base, "architecture": configuration.architecture(self.checked.config)}

    def files(self) -> list[Path]:
        """Those of the weights and, of an adapter, its own."""
        adapter, own = self.checked.adapter, digest.weights_files(self.checked.base.path)
        return own if adapter is None else [*own, *digest.adapter_files(adapter.folder)]

    def hashes(self, cache: Path) -> dict[str, str]:
        """Of weights and tokenizer; of an adapter also its own, and its base's commit."""
        found = {
            "weights": digest.weights_identity(self.checked.base.path, cache),
            "tokenizer": digest.tokenizer_identity(self.checked.tokenizer_folder, cache),
        }
        if (adapter := self.checked.adapter) is not None:
            found["adapter"] = digest.adapter_identity(adapter.folder, cache)
            if adapter.revision is not None:
                found["base_revision"] = adapter.revision
        return found

    def load(self, device: str) -> Weights:
        """See `Loader`."""
        from rmaudit.models import native_weights

        return native_weights.load(self, device)
