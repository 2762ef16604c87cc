"""How the rows of a served model are made: from the tokenizer that models.yaml names for it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from rmaudit import json_cache
from rmaudit.checkpoints import adapters, configuration, digest, source
from rmaudit.config.registry import ModelSpec
from rmaudit.layout.layouts import Layout, layout_in


def local_spec(spec: ModelSpec, where: str) -> ModelSpec:
    """Return the entry of a served model as one of a folder or a hub id on this side."""
    plain = ModelSpec(spec.name, where)
    return replace(plain, template=spec.template, trained_on=spec.trained_on, notes=spec.notes)


def tokenizer_spec(spec: ModelSpec) -> ModelSpec | None:
    """Return where the tokenizer of a served model is: its own, or else its checkpoint's."""
    where = spec.tokenizer or spec.checkpoint
    return None if where is None else local_spec(spec, where)


class ServedRows:
    """A tokenizer's folder and the layout in it; what `rows.Rows` needs of a loader."""

    def __init__(self, spec: ModelSpec, cache: Path) -> None:
        """Find the folder; small files of a hub id are downloaded.

        Raises:
            ModelError: it cannot be had.
        """
        own = tokenizer_spec(spec)
        assert own is not None, "whoever asks has seen that there is one"  # noqa: S101  (for types)
        found = source.find(own, cache, instead=f"tokenizer: FOLDER of {spec.name} in models.yaml")
        self._spec, self._cache = own, cache
        self.folder = adapters.tokenizer_folder(found, own, cache)
        self._files = digest.states(digest.tokenizer_files(self.folder))  # before any is read
        self.layout: Layout = layout_in(
            self.folder, own, pairs=configuration.reads_pairs(found.path, model=spec.name)
        )

    @property
    def defaults(self) -> None:
        """Nothing of a configuration is checked: the server has its own."""

    @cached_property
    def rows(self) -> int:
        """Ids go from 0 to one less: as config.json says, or else as the tokenizer knows."""
        if (self.folder / configuration.NAME).is_file():
            config = configuration.read(self.folder, model=self._spec.name)
            text = config.get("text_config")
            said = (text if isinstance(text, dict) else config).get("vocab_size")
            if isinstance(said, int) and said > 0:
                return said
        return 1 + int(max(self.layout.tokenizer.get_vocab().values()))

    @cached_property
    def identity(self) -> str:
        """Hash of the tokenizer's files."""
        return digest.tokenizer_identity(self.folder, self._cache)

    def refuse_changed(self) -> None:
        """Refuse rows of a tokenizer whose files were written to since it was opened.

        Raises:
            ModelError: it is so: the rows, and the hash in the scores' key, may be two tokenizers'.
        """
        digest.refuse_changed(self._files, model=self._spec.name)

    def decided_by(self, cache: Path) -> dict[str, str]:
        """Return all that decides the rows: see `loader.Loader`."""
        template = self._spec.template
        return {
            "rmaudit": json_cache.code(),
            "entry": repr(self._spec),
            "files": digest.layout_identity(self.folder, cache),
            "template": digest.file_identity(Path(template), cache) if template else "",
        }
