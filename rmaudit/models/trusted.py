"""A checkpoint scored by the code that it brings: only if models.yaml says so, beside a commit.

`trust_remote_code: true` needs the full commit hash of a hub id, so that the code that runs is the
code that was read; code of another repository, which that hash does not pin, is refused. The class
is the checkpoint's own and decides alone: its forward runs over full rows, many at a time, and its
output's field (`score_field`) is the reward. None of our heads is built, no prefix is shared.

Pickles stay refused: weights are safetensors, and all of them must be the class's.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rmaudit.checkpoints import adapters, configuration, source, trust
from rmaudit.checkpoints.reading import told
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from rmaudit.models.loading import Weights

_CLASSES = ("AutoModelForSequenceClassification", "AutoModel")  # in the order of preference
_NEEDED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")


class Remote(Checkpoint):
    """A reward model whose class comes with it; see `rmaudit.models.protocol.RewardModel`."""

    def __init__(self, spec: ModelSpec, *, cache: Path, device: str = "auto") -> None:
        """Find the folder, its code too, and refuse code that its commit does not pin.

        Raises:
            ModelError: it cannot be had, its commit does not pin all of its code, an adapter lies
                beside it, or its weights are quantized and not asked for so.
        """
        self.spec = spec
        self.cache = cache
        trust.refuse_loose(spec)
        found = source.find(spec, cache)
        trust.refuse_foreign(found.path, spec)
        adapters.refuse(found.path, model=spec.name)
        config = configuration.read(found.path, model=spec.name)
        configuration.refuse_quantized(config, found.path, spec.name, wanted=spec.quantized)
        self.folder = self._base = found.downloaded().path
        self._adapter, self._pairs = None, False
        self._config = configuration.read(self.folder, model=spec.name)
        mapped = self._config.get("auto_map") or {}
        self._class = next((name for name in _CLASSES if name in mapped), "")
        if not self._class:  # transformers would take a class of its own, with another reward
            message = (
                f"{spec.name}: {self.folder / 'config.json'} names no class in auto_map under "
                f"{' or '.join(_CLASSES)}, so there is no code to trust; remove trust_remote_code "
                f"from its entry in models.yaml"
            )
            raise ModelError(message)
        self.device = device
        self._weights = None

    @property
    def settings(self) -> dict[str, str]:
        """As of any checkpoint, but for the head: its code's commit, and the field that is read."""
        return {
            "head": f"its own code, {self._field}",
            "code": f"{self.spec.source}@{self.spec.revision}",
            "dtype": self.dtype,
            "path": str(self._path),
        }

    @property
    def _field(self) -> str:
        return self.spec.score_field or "logits"

    @cached_property
    def _defaults(self) -> PretrainedConfig:
        import transformers

        with told(self.name, "config.json", self.folder):
            config = transformers.AutoConfig.from_pretrained(
                self.folder, trust_remote_code=True, code_revision=self.spec.revision
            )
        if missing := [key for key in _NEEDED if not hasattr(config.get_text_config(), key)]:
            message = (
                f"{self.name}: the configuration class that it brings has no {missing[0]!r}; "
                f"rmaudit needs {', '.join(_NEEDED)} to plan a sweep"
            )
            raise ModelError(message)
        return config

    @property
    def _path(self) -> ScoringPath:
        return ScoringPath.FULL_ROWS

    @property
    def _pad(self) -> None:
        """Its code pools."""

    def _load(self) -> Weights:
        from rmaudit.models import trusted_loading

        return trusted_loading.load(
            self.folder,
            name=self.name,
            kind=self._class,
            revision=str(self.spec.revision),
            field=self._field,
            dtype=self.dtype,
            device=self.device,
        )
