"""Make rows of token ids by a tokenizer alone, for served models and implicit rewards.

A served model's is that of its checkpoint in models.yaml; an implicit reward has its policy's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from rmaudit import json_cache
from rmaudit.checkpoints import adapter_files, checkpoint_source, config_json, file_hashes
from rmaudit.config.model_registry import ModelSpec
from rmaudit.layout.layouts import Layout, layout_in
from rmaudit.layout.verdict_words import verdict_ids


def local_spec(spec: ModelSpec, where: str) -> ModelSpec:
    """Return a served model's entry with the folder or hub id `where` as source, not its server."""
    plain = ModelSpec(spec.name, where)
    return replace(
        plain,
        template=spec.template,
        judge=spec.judge,
        trained_on=spec.trained_on,
        notes=spec.notes,
    )


def tokenizer_spec(spec: ModelSpec) -> ModelSpec | None:
    """Return an entry whose source has the tokenizer of a served or implicit model, or None.

    The source is what a served model's entry names as its checkpoint. For an implicit reward this
    is the entry itself, whose source is the policy.
    """
    if spec.implicit is not None:
        return spec
    return None if spec.checkpoint is None else local_spec(spec, spec.checkpoint)


class ServedRows:
    """A `RowSource` for served models and implicit rewards: it has a tokenizer, but no weights."""

    def __init__(self, spec: ModelSpec, cache: Path) -> None:
        """Find the tokenizer's folder; small files of a hub id are downloaded.

        Raises:
            ModelError: it cannot be had.
        """
        own = tokenizer_spec(spec)
        assert own is not None, "whoever asks has seen that there is one"  # noqa: S101  (for types)
        found = checkpoint_source.find(
            own, cache, folder_hint=f"checkpoint: FOLDER of {spec.name} in models.yaml"
        )
        self._spec, self._cache = own, cache
        self.folder = adapter_files.tokenizer_folder(found, own, cache)
        # Before any is read:
        self._files = file_hashes.states(file_hashes.tokenizer_files(self.folder))
        self.layout: Layout = layout_in(
            self.folder,
            own,
            pairs=config_json.reads_pairs(found.path, model=spec.name),
            reward_id=config_json.reward_id(found.path, model=spec.name),
        )

    @property
    def defaults(self) -> None:
        """Return None: the server has the configuration, so none is checked here."""

    @cached_property
    def rows(self) -> int:
        """Return how many token ids there are: by config.json, or else by the tokenizer."""
        if (self.folder / config_json.NAME).is_file():
            config = config_json.read(self.folder, model=self._spec.name)
            text = config.get("text_config")
            said = (text if isinstance(text, dict) else config).get("vocab_size")
            if isinstance(said, int) and said > 0:
                return said
        return 1 + int(max(self.layout.tokenizer.get_vocab().values()))

    @cached_property
    def identity(self) -> str:
        """Return the hash of the tokenizer's files."""
        return file_hashes.tokenizer_identity(self.folder, self._cache)

    def refuse_changed(self) -> None:
        """Raise if the tokenizer's files were written to since they were opened.

        Raises:
            ModelError: they were: the rows and the hash in the cache key may be of different
                tokenizers.
        """
        file_hashes.refuse_changed(self._files, model=self._spec.name)

    @cached_property
    def verdict(self) -> tuple[int, ...]:
        """Return the token ids of a judge's yes and no; () for other models. See `verdict_ids`."""
        return verdict_ids(self._spec, self.layout, self.folder)

    def decided_by(self, cache: Path) -> dict[str, str]:
        """Return what determines the rows of token ids, as fields of a cache key."""
        template = self._spec.template
        return {
            "rmaudit": json_cache.code(),
            "entry": repr(self._spec),
            "files": file_hashes.layout_identity(self.folder, cache),
            "template": file_hashes.file_identity(Path(template), cache) if template else "",
        }
