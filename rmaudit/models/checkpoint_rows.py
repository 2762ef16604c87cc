"""Lay out a checkpoint's rows and find where rewards are read, by its configuration alone.

What the configuration means is remembered in the cache: to read it again takes transformers, which
takes seconds. No weights are read here, and they need not be on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit import json_cache
from rmaudit.checkpoints import config_json, file_hashes, internlm2
from rmaudit.checkpoints.checked_checkpoint import Checked
from rmaudit.checkpoints.heads import linear, single_objective, token_value, verdict_logits
from rmaudit.config.model_registry import checkpoint_of
from rmaudit.errors import ModelError
from rmaudit.layout import layouts
from rmaudit.layout.encoder_pair import PairLayout
from rmaudit.layout.layouts import ChatLayout, Layout
from rmaudit.models.cached_token_rows import Rows
from rmaudit.scoring import ScoringPath, path_of

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig

    from rmaudit.scoring import Head


class CheckpointRows(Rows):
    """The rows of a checkpoint, the place in them where its reward is read, and its identity."""

    def __init__(self, checked: Checked, cache: Path) -> None:
        """Take a checked checkpoint, of which nothing is read yet.

        Raises:
            ModelError: models.yaml asks for what the checkpoint does not have, or config.json
                claims more layers than there can be.
        """
        self.checked = checked
        self._configs = self._states_of_configs()
        self.folder = checked.source.path
        at_token = checked.head.family.POOL == "token"
        self.token = token_value.reward_id(checked.config) if at_token else None
        if self.token is not None and checked.spec.pool != "auto":
            message = (
                f"{checked.name}: its reward is read at the token {self.token}, which ends its "
                f"rows; remove `pool` from its entry in models.yaml"
            )
            raise ModelError(message)
        folder, spec = checked.tokenizer_folder, checked.spec
        pairs = checked.reads_pairs
        layout = PairLayout(folder, spec) if pairs else ChatLayout(folder, spec, self.token)
        super().__init__(layout, cache)
        config_json.refuse_too_many_layers(
            checked.config, checked.headers, checked.base.path, name=checked.name
        )
        self._opened = file_hashes.states(self.files() if checked.is_here else [])

    @property
    def defaults(self) -> PretrainedConfig:
        """Return the configuration with the defaults of its class filled in."""
        return self.checked.defaults

    @cached_property
    def layout(self) -> Layout:
        """Return the layout of prompts and answers; raise `ModelError` if config.json is wrong."""
        _ = self.defaults
        return super().layout

    def remembered_of_config(self, kind: str, make: Callable[[], Any], **more: str) -> Any:  # noqa: ANN401  (JSON)
        """Return the cached value for `kind` of the configuration, or call `make` and cache it."""

        def unchanged() -> bool:
            return self._states_of_configs() == self._configs

        fields = {**self.decided_by(), **more}
        return json_cache.cached(self.cache, kind, fields, make, sure=unchanged)

    def _states_of_configs(self) -> file_hashes.States:
        """Return size and times of the configuration files as they are now."""
        checked = self.checked
        folders = {checked.base.path, checked.tokenizer_folder, checked.source.path}
        return file_hashes.states(
            path for each in folders for path in file_hashes.layout_files(each)
        )

    @cached_property
    def _configured(self) -> Mapping[str, Any]:
        """Return the embedding's `rows`, the `pad` id and the `ScoringPath` as `path`, by name."""

        def make() -> dict[str, Any]:
            adapter, text = self.checked.adapter, self.defaults.get_text_config()
            rows, pad = int((adapter and adapter.rows) or text.vocab_size), text.pad_token_id
            if adapter is not None and self._unread.tokenizer.pad_token_id is not None:
                pad = self._unread.tokenizer.pad_token_id
            family, asked = self.checked.head.family, self.spec.pool
            pool = family.POOL if asked == "auto" else asked
            pad = None if pad is None or pool != "hf" else int(pad)
            return {"rows": rows, "pad": pad, "path": str(path_of(self.defaults))}

        found: Mapping[str, Any] = self.remembered_of_config("configuration", make)
        return found

    @property
    def size(self) -> int:
        """Return the embedding's row count: the adapter's if it has one, else config.json's."""
        return int(self._configured["rows"])

    @property
    def pad(self) -> int | None:
        """Return the pad id that pooling skips (transformers' rule); None if pooling skips no id.

        It is the configuration's, unless the registry says otherwise. An adapter was
        trained with its tokenizer's pad id, which the base's config.json need not have.
        """
        pad: int | None = self._configured["pad"]
        return pad

    @property
    def path(self) -> ScoringPath:
        """Return the fastest exact way to run many rows (`ScoringPath`), going by config.json."""
        return ScoringPath(self._configured["path"])

    @property
    def dtype(self) -> str:
        """Return models.yaml's dtype, or else the checkpoint's own, or else float32."""
        config = self.checked.config
        own = config.get("dtype") or config.get("torch_dtype")
        return config_json.dtype_of(self.spec, own, self.checked.base.path, name=self.spec.name)

    @cached_property
    def settings(self) -> dict[str, str]:
        """Return how the model is scored: head, pooling, dtype, `ScoringPath` and others."""
        logit, objective = self.spec.logit, self.checked.objective
        pool = "first id" if self.checked.reads_pairs else f"rightmost id but {self.pad}"
        converted = internlm2.is_one(self.checked.config)
        return {
            "head": self.checked.head.family.NAME,
            "pool": pool if self.token is None else f"rightmost id {self.token}",
            "dtype": self.dtype,
            "path": str(self.path),
            **({} if logit is None else {"logit": str(logit)}),
            **({} if objective is None else {"objective": str(objective)}),
            **({} if self.spec.judge is None else {"verdict": "{} less {}".format(*self.verdict)}),
            **({"compiled": "layers"} if self.spec.compiled else {}),
            **({"conversion": internlm2.CONVERSION} if converted else {}),
        }

    @property
    def provenance(self) -> dict[str, str]:
        """Return facts for the report: model class, an adapter's base, if layers are compiled."""
        base = {} if self.checked.adapter is None else {"base": str(self.checked.base.path)}
        compiled = {"compiled": "layers"} if self.spec.compiled else {}
        kind = linear.architecture(self.checked.config)
        return {**base, **compiled, "architecture": kind}

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return hashes of weights and tokenizer, and the settings that change a reward."""
        _ = self.hashed  # first: a file that changes between the two is refused at the load
        return {**self._hashes(), **self.settings}

    @cached_property
    def hashed(self) -> Mapping[Path, str]:
        """Return the files' hashes; raise if one changed since the model was opened."""
        found = file_hashes.hashes(self.files(), self.cache)
        file_hashes.refuse_changed(self._opened, model=self.spec.name)
        return found

    def files(self) -> list[Path]:
        """Return the files of weights and tokenizer, and of the adapter if there is one."""
        return [path for files in self._files_by_name().values() for path in files]

    def _files_by_name(self) -> dict[str, list[Path]]:
        checked = self.checked
        adapter = {}
        if checked.adapter is not None:
            adapter = {"adapter": file_hashes.adapter_files(checked.adapter.folder)}
        return {
            "weights": file_hashes.config_and_weights_files(checked.base.path),
            "tokenizer": file_hashes.tokenizer_files(checked.tokenizer_folder),
            **adapter,
        }

    def _hashes(self) -> dict[str, str]:
        """Return hashes of weights, tokenizer and adapter, and the commit of the adapter's base."""
        found = {
            name: file_hashes.identity(files, self.cache)
            for name, files in self._files_by_name().items()
        }
        if (adapter := self.checked.adapter) is not None and adapter.revision is not None:
            found["base_revision"] = adapter.revision
        return found

    def decided_by(self) -> dict[str, str]:
        """Return what determines the rows of token ids, as fields of a cache key."""
        checked = self.checked
        folders = [checked.base.path, checked.tokenizer_folder, self.folder]
        return layouts.decided_by(checkpoint_of(self.spec), folders, self.cache)

    def head_of(self, saved: Mapping[str, Tensor]) -> Head:
        """Return the head with these tensors, `saved` by name, reduced to the chosen output."""
        family, config, at = self.checked.head.family, self.checked.config, self.checked.objective
        if at is None:
            return family.build(saved, {**config, verdict_logits.SETTING: self.verdict})
        return single_objective.build(family.NAME, saved, config, at)
