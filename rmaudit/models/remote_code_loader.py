"""Load a checkpoint by the Python code it comes with, if models.yaml allows and pins that code.

`trust_remote_code: true` needs the full commit hash of a hub id, so that the code that runs is the
code that was read; code of another repository, which that hash does not pin, is refused. The class
is the checkpoint's own and decides alone: its forward runs over full rows, many at a time, and its
output's field (`score_field`) is the reward. None of our heads is built, no prefix is shared.

Pickles stay refused: weights are safetensors, and all of them must be the class's.

The engine reads hidden states at a place of a row and gives them to a head. Here the state is the
reward, of width 1 and the same at every place, and the head takes it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from rmaudit.checkpoints import adapter_files, checkpoint_source, config_json, file_hashes
from rmaudit.checkpoints.heads import linear, token_value
from rmaudit.checkpoints.third_party_errors import as_model_error, brief
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Ids
from rmaudit.layout.layouts import ChatLayout, Layout
from rmaudit.models import loaded_weights
from rmaudit.models.loaded_weights import LoadRequest, Weights, first_non_finite
from rmaudit.models.loader_interface import dtype_of, refuse_too_many_layers
from rmaudit.scoring import ScoringPath, memory_sized_batches
from rmaudit.scoring.engine import Scorer

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_CLASSES = ("AutoModelForSequenceClassification", "AutoModel")  # in the order of preference
_NEEDED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")


def checked_config(spec: ModelSpec, folder: Path) -> dict[str, Any]:
    """Return config.json of a checkpoint folder, after checking that its own code may be run.

    Raises:
        ModelError: no commit pins all of the code, an adapter lies in the folder, or the weights
            are quantized and not asked for so.
    """
    config_json.refuse_unpinned_code(spec)
    config_json.refuse_foreign(folder, spec)
    adapter_files.refuse(folder, model=spec.name)
    config = config_json.read(folder, model=spec.name)
    config_json.refuse_quantized(config, folder, spec.name, wanted=spec.quantized)
    return config


class OwnCode:
    """A loader of checkpoints that bring their own model class; see `loader_interface.Loader`."""

    pad: int | None = None  # its code pools
    path = ScoringPath.FULL_ROWS

    def __init__(self, spec: ModelSpec, cache: Path) -> None:
        """Find the checkpoint's folder with its code; raise if its commit does not pin the code.

        Raises:
            ModelError: it cannot be had, its commit does not pin all of its code, an adapter lies
                in its folder, or its weights are quantized and not asked for so.
        """
        self.spec = spec
        config_json.refuse_unpinned_code(spec)
        found = checkpoint_source.find(spec, cache)
        config = checked_config(spec, found.path)
        refuse_too_many_layers(config, checkpoint_source.read(found), found.path, name=spec.name)
        self.folder = found.downloaded().path
        self.config = config_json.read(self.folder, model=spec.name)
        self.layout: Layout = ChatLayout(self.folder, spec, token_value.reward_id(self.config))
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
        """Return the name of the field of the model's output that is the reward."""
        return self.spec.score_field or "logits"

    @cached_property
    def defaults(self) -> PretrainedConfig:
        """Return config.json as read by the checkpoint's own configuration class, if it has one."""
        import transformers

        with as_model_error(self.spec.name, "config.json", self.folder):
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
        """Return the embedding's row count, which is the configuration's `vocab_size`."""
        return int(self.defaults.get_text_config().vocab_size)

    @property
    def dtype(self) -> str:
        """Return models.yaml's dtype, or else the checkpoint's own, or else float32."""
        own = self.config.get("dtype") or self.config.get("torch_dtype")
        return dtype_of(self.spec, own, self.folder, name=self.spec.name)

    @property
    def settings(self) -> dict[str, str]:
        """Return the output field with the reward, the code's commit, dtype and `ScoringPath`."""
        return {
            "head": f"its own code, {self.field}",
            "code": f"{self.spec.source}@{self.spec.revision}",
            "dtype": self.dtype,
            "path": str(self.path),
        }

    @property
    def provenance(self) -> dict[str, str]:
        """Return facts for the report: the model class that config.json names."""
        return {"architecture": linear.architecture(self.config)}

    def files(self) -> list[Path]:
        """Return the files of the weights and the tokenizer."""
        return [
            *file_hashes.config_and_weights_files(self.folder),
            *file_hashes.tokenizer_files(self.folder),
        ]

    def hashes(self, cache: Path) -> dict[str, str]:
        """Return the hashes of weights and tokenizer."""
        return {
            "weights": file_hashes.weights_identity(self.folder, cache),
            "tokenizer": file_hashes.tokenizer_identity(self.folder, cache),
        }

    def decided_by(self, cache: Path) -> None:
        """Return None, so that no token ids are cached: the model's own code may change them."""

    def load(self, device: str) -> Weights:
        """Load the weights onto `device` by the checkpoint's own class, whose code runs here.

        See `Loader`.
        """
        asked = LoadRequest(
            name=self.spec.name,
            folder=self.folder,
            kind=self.kind,
            dtype=self.dtype,
            device=device,
            backbone="its own class",
            code=str(self.spec.revision),
        )
        model = loaded_weights.load(asked)
        backbone = RewardsAsStates(model, self.field, self.spec.name)

        def own(row: Ids) -> float:
            at = backbone.get_input_embeddings().weight.device
            ids = torch.tensor([row], device=at)  # type: ignore[arg-type]
            return float(backbone(ids).last_hidden_state[0, -1, 0])

        scorer = Scorer(backbone, RewardIsState(), self.pad, self.path)
        scorer.odd_in_files = partial(first_non_finite, self.files(), name=self.spec.name)
        # Its attention is the one that it was made with.
        return Weights(asked.name, model, scorer, own, attention=None)


class RewardsAsStates(nn.Module):
    """The checkpoint's own model, wrapped as a backbone whose hidden states are rewards."""

    def __init__(self, model: Any, field: str, name: str) -> None:  # noqa: ANN401  (the checkpoint's own class)
        """Wrap `model`, whose output's `field` is the reward; `name` is for errors."""
        super().__init__()
        self.model, self.config, self._field, self._name = model, model.config, field, name

    def get_input_embeddings(self) -> nn.Module:
        """Return the model's own input embedding."""
        found: nn.Module = self.model.get_input_embeddings()
        return found

    def forward(self, input_ids: Tensor, **_: Any) -> SimpleNamespace:  # noqa: ANN401  (the checkpoint's own class)
        """Return the reward of each row of (B, L) ids at each of its ids, as states (B, L, 1).

        Raises:
            ModelError: the code fails, or gives anything but one number a row.
        """
        try:
            output = self.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids))
        except Exception as error:
            if memory_sized_batches.is_out_of_memory(error):
                raise
            message = (
                f"{self._name}: its own code failed ({brief(error)}); it may be of another "
                f"release of transformers, or need a native head: see `rmaudit models check`"
            )
            raise ModelError(message) from error
        reward = getattr(output, self._field, None)
        rows = len(input_ids)
        if not isinstance(reward, Tensor) or reward.shape not in {(rows,), (rows, 1)}:
            found = (
                f"shape {tuple(reward.shape)}" if isinstance(reward, Tensor) else repr(type(reward))
            )
            fields = ", ".join(output) if isinstance(output, dict) else type(output).__name__
            message = (
                f"{self._name}: {self._field!r} of its own code's output has {found}, and a reward "
                f"is one number a row; the output has: {fields}. Name another as `score_field`"
            )
            raise ModelError(message)
        states = reward.float().reshape(rows, 1, 1).expand(-1, input_ids.shape[1], -1)
        return SimpleNamespace(last_hidden_state=states)


@dataclass(frozen=True, slots=True)
class RewardIsState:
    """A head for states that are rewards already: it drops their last axis, which has size 1."""

    reads_prefix: ClassVar[bool] = False

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Callable[[Tensor], Tensor]:  # noqa: ARG002  (as `Head` has it)
        """Return a function from states (..., 1) to rewards (...), the same for every prompt."""
        return lambda state: state[..., 0]
