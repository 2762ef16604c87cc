"""The plain head: one weight vector, reward = w · h (transformers' `score`, no bias)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

Shapes = Mapping[str, tuple[int, ...]]  # of tensors, by name
NAME, POOL, IGNORED = "linear", "hf", frozenset[str]()
KEY = "score.weight"
HIDDEN = ("word_embed_proj_dim", "hidden_size", "n_embd", "d_model")  # what configurations say


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the name `score.weight` if there is such a tensor, else None.

    Raises:
        ModelError: its shape is not (1, hidden).
    """
    if KEY not in shapes:
        return None
    hidden = hidden_size(config)
    if shapes[KEY][1:] == (hidden,) and shapes[KEY][0] > 1:
        message = (
            f"{KEY!r} has shape {shapes[KEY]}: {shapes[KEY][0]} labels, and which of them is the "
            f"reward is not known. Train with num_labels=1; or, if one of them is the reward, save "
            f"a copy whose {KEY} is that label's row alone, with num_labels 1"
        )
        raise ModelError(message)
    if shapes[KEY] != (1, hidden):
        message = (
            f"{KEY!r} has shape {shapes[KEY]}, a reward model of hidden size "
            f"{hidden} needs (1, {hidden}): take config.json and *.safetensors from one and the "
            f"same checkpoint"
        )
        raise ModelError(message)
    return frozenset({KEY})


def hidden_size(config: Mapping[str, Any]) -> object:
    """Return the hidden size as a configuration names it, or "(none named)"."""
    text = config.get("text_config") or config
    return next((text[key] for key in HIDDEN if key in text), "(none named)")


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:  # noqa: ARG001  (as all families have it)
    """Return the plain linear head with the tensor `score.weight`, shape (1, hidden)."""
    return Linear(tensors[KEY].detach().float()[0])


@dataclass(slots=True, eq=False)
class Linear:
    """A plain linear head: reward = `vector` · state, in float32.

    It moves to the device of the first states.
    """

    reads_prefix: ClassVar[bool] = False
    vector: Tensor

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Callable[[Tensor], Tensor]:  # noqa: ARG002  (as `Head` has it)
        """Return the head itself, the same for every prompt: (..., hidden) to (...)."""
        return self

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (...), of states (..., hidden), in float32."""
        if self.vector.device != states.device:
            from torch import inference_mode

            with inference_mode(mode=False):  # whose copy no gradient can be taken through
                self.vector = self.vector.to(states.device)
        return states @ self.vector
