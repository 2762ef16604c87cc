"""The weights of a checkpoint with its own class, and that class's rewards as hidden states.

The engine reads hidden states at a place of a row and gives them to a head. Here the state is the
reward, of width 1 and the same at every place, and the head takes it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from rmaudit.checkpoints.reading import brief
from rmaudit.errors import ModelError
from rmaudit.models import loading
from rmaudit.models.loading import Asked
from rmaudit.models.trusted import Trusted
from rmaudit.models.weights import Ids, Weights
from rmaudit.scoring import memory
from rmaudit.scoring.engine import Scorer


class Rewards(nn.Module):
    """A class of the checkpoint's, as a backbone whose final hidden states are its rewards."""

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


def load(trusted: Trusted, device: str) -> Weights:
    """Load the weights into the checkpoint's own class, whose code runs from here on.

    Raises:
        ModelError: they cannot be read, are not those of the class, or the device is not there.
    """
    asked = Asked(
        name=trusted.spec.name,
        folder=trusted.folder,
        kind=trusted.kind,
        dtype=trusted.dtype,
        device=device,
        backbone="its own class",
        code=str(trusted.spec.revision),
    )
    model = loading.load(asked)
    backbone = Rewards(model, trusted.field, trusted.spec.name)

    def own(row: Ids) -> float:
        at = backbone.get_input_embeddings().weight.device
        ids = torch.tensor([row], device=at)  # type: ignore[arg-type]
        return float(backbone(ids).last_hidden_state[0, -1, 0])

    scorer = Scorer(backbone, AsItIs(), trusted.pad, trusted.path)
    return Weights(
        asked.name, model, scorer, own, attention=None
    )  # it runs in the one that it was made with
