"""The weights of a checkpoint with its own class, and that class's rewards as hidden states.

The engine reads hidden states at a place of a row and gives them to a head. Here the state is the
reward, of width 1 and the same at every place, and the head takes it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.checkpoints.reading import brief, unreadable
from rmaudit.errors import ModelError
from rmaudit.models.loading import Weights, device_map, quiet, refuse_odd_keys
from rmaudit.scoring import ScoringPath, memory
from rmaudit.scoring.engine import Scorer, too_small


class Rewards(nn.Module):
    """A class of the checkpoint's, as a trunk whose final hidden states are its rewards."""

    def __init__(self, model: Any, field: str, name: str) -> None:  # noqa: ANN401
        """`field` of the model's output is the reward; `name` is for errors."""
        super().__init__()
        self.model, self.config, self._field, self._name = model, model.config, field, name

    def get_input_embeddings(self) -> nn.Module:
        """The model's."""
        found: nn.Module = self.model.get_input_embeddings()
        return found

    def forward(self, input_ids: Tensor, **_: Any) -> SimpleNamespace:  # noqa: ANN401
        """(B, L) ids to states (B, L, 1).

        Raises:
            ModelError: the code fails, or gives anything but one number a row.
        """
        try:
            output = self.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids))
        except Exception as error:
            if memory.is_out_of_memory(error):
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
class AsItIs:
    """The head of a state that is a reward."""

    reads_prefix: ClassVar[bool] = False

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Callable[[Tensor], Tensor]:  # noqa: ARG002
        """The same for every prompt: (..., 1) to (...)."""
        return lambda state: state[..., 0]


@dataclass(slots=True)
class RemoteWeights(Weights):
    """The model, run by its own code in full rows only, in the attention that it was made with."""

    def go(self, path: ScoringPath) -> None:
        """Full rows are its only path."""
        self.scorer.path = path
        self.scorer.forget()

    @torch.inference_mode()
    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """The rewards of whole rows, one at a time.

        Raises:
            ScoreError: a row does not fit into memory.
        """
        trunk = self.scorer.trunk
        device = trunk.get_input_embeddings().weight.device  # type: ignore[operator]
        try:
            states = [trunk(torch.tensor([row], device=device)).last_hidden_state for row in rows]
        except (RuntimeError, MemoryError) as error:
            if not memory.is_out_of_memory(error):
                raise
        else:
            return np.array([float(state[0, -1, 0]) for state in states], dtype=np.float32)
        memory.release()  # outside of the handler, whose error would hold the tensors
        raise too_small(max(map(len, rows)))


def load(  # noqa: PLR0913  (keyword-only; what decides where and how they are loaded)
    folder: Path, *, name: str, kind: str, revision: str, field: str, dtype: str, device: str
) -> RemoteWeights:
    """Load the weights into the checkpoint's own class, whose code runs from here on.

    `kind` is transformers' auto class that config.json maps to it.

    Raises:
        ModelError: they cannot be read, are not those of the class, or the device is not there.
    """
    import transformers

    place = device_map(device, folder, dtype, name=name)
    try:
        with quiet():
            model, loaded = getattr(transformers, kind).from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                device_map=place,
                use_safetensors=True,
                trust_remote_code=True,
                code_revision=revision,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # so that they are told to us, and refused below
            )
    except Exception as error:
        raise unreadable(name, "its weights, by its own code,", folder, error) from error
    refuse_odd_keys(loaded, frozenset(), folder, name, trunk="its own class", head="its head")
    model = model.eval().requires_grad_(requires_grad=False)
    scorer = Scorer(Rewards(model, field, name), AsItIs(), None, ScoringPath.FULL_ROWS)
    return RemoteWeights(model, scorer, "its own")
