"""A checkpoint loaded by the code that it brings: only if models.yaml says so, and pins a commit.

`trust_remote_code: true` needs the full commit hash of a hub id, so that the code that runs is the
code that was read; code of another repository, which that hash does not pin, is refused. The class
is the checkpoint's own and decides alone: its forward runs over full rows, many at a time, and its
output's field (`score_field`) is the reward. None of our heads is built, no prefix is shared.

Pickles stay refused: weights are safetensors, and all of them must be the class's.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import adapters, configuration, digest, source, trust
from rmaudit.checkpoints.reading import told
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout.layouts import Chat, Layout
from rmaudit.models.loader import dtype_of, refuse_too_many_layers
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from rmaudit.models.weights import Weights

_CLASSES = ("AutoModelForSequenceClassification", "AutoModel")  # in the order of preference
_NEEDED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")


def checked_config(spec: ModelSpec, folder: Path) -> dict[str, Any]:
    """config.json in a folder whose code may be run. Runs none of it.

    Raises:
        ModelError: no commit pins all of the code, an adapter lies in the folder, or the weights
            are quantized and not asked for so.
    """
    trust.refuse_loose(spec)
    trust.refuse_foreign(folder, spec)
    adapters.refuse(folder, model=spec.name)
    config = configuration.read(folder, model=spec.name)
    configuration.refuse_quantized(config, folder, spec.name, wanted=spec.quantized)
    return config


class Trusted:
    """A checkpoint whose class comes with it; see `rmaudit.models.loader.Loader`."""

    pad: int | None = None  # its code pools
    path = ScoringPath.FULL_ROWS

    def __init__(self, spec: ModelSpec, cache: Path) -> None:
        """Find the folder, its code too, and refuse code that its commit does not pin.

        Raises:
            ModelError: it cannot be had, its commit does not pin all of its code, an adapter lies
                in its folder, or its weights are quantized and not asked for so.
        """
        self.spec = spec
        trust.refuse_loose(spec)
        found = source.find(spec, cache)
        config = checked_config(spec, found.path)
        refuse_too_many_layers(config, source.read(found), found.path, name=spec.name)
        self.folder = found.downloaded().path
        self.config = configuration.read(self.folder, model=spec.name)
        self.layout: Layout = Chat(self.folder, spec)
        mapped = self.config.get("auto_map") or {}
        self.kind = next((name for name in _CLASSES if name in mapped), "")
        if not self.kind:  # transformers would take a class of its own, with another reward
            message = (
                f"{spec.name}: {self.folder / 'config.json'} names no class in auto_map under "
                f"{' or '.join(_CLASSES)}, so there is no code to trust; remove trust_remote_code "
                f"from its entry in models.yaml"
            )
            raise ModelError(message)

    @property
    def field(self) -> str:
        """What of its output is the reward."""
        return self.spec.score_field or "logits"

    @cached_property
    def defaults(self) -> PretrainedConfig:
        """By its own configuration class, if it brings one, which runs here."""
        import transformers

        with told(self.spec.name, "config.json", self.folder):
            config = transformers.AutoConfig.from_pretrained(
                self.folder, trust_remote_code=True, code_revision=self.spec.revision
            )
        if missing := [key for key in _NEEDED if not hasattr(config.get_text_config(), key)]:
            message = (
                f"{self.spec.name}: the configuration class that it brings has no {missing[0]!r}; "
                f"rmaudit needs {', '.join(_NEEDED)} to plan a sweep"
            )
            raise ModelError(message)
        return config

    @property
    def rows(self) -> int:
        """What its configuration says."""
        return int(self.defaults.get_text_config().vocab_size)

    @property
    def dtype(self) -> str:
        """The registry's dtype, or else the checkpoint's own, or else float32."""
        own = self.config.get("dtype") or self.config.get("torch_dtype")
        return dtype_of(self.spec, own, self.folder, name=self.spec.name)

    @property
    def settings(self) -> dict[str, str]:
        """Its code's commit, and the field that is read."""
        return {
            "head": f"its own code, {self.field}",
            "code": f"{self.spec.source}@{self.spec.revision}",
            "dtype": self.dtype,
            "path": str(self.path),
        }

    @property
    def provenance(self) -> dict[str, str]:
        """The class that config.json names."""
        return {"architecture": configuration.architecture(self.config)}

    def files(self) -> list[Path]:
        """Those of the weights."""
        return digest.weights_files(self.folder)

    def hashes(self, cache: Path) -> dict[str, str]:
        """Of weights and tokenizer."""
        return {
            "weights": digest.weights_identity(self.folder, cache),
            "tokenizer": digest.tokenizer_identity(self.folder, cache),
        }

    def load(self, device: str) -> Weights:
        """See `Loader`. Its code runs from here on."""
        from rmaudit.models import trusted_weights

        return trusted_weights.load(self, device)
