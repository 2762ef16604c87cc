"""Read a head of two linear layers, `score.0` and `score.2`: reward = w₂ · relu(W₁ h + b₁) + b₂.

INF-ORM (INFORMForSequenceClassification) and Qwen2.5-Math-RM (Qwen2ForRewardModel) have it. The
tensors cannot say what stands between the layers: it is ReLU in all published ones. `Stack` and
`check_layers` serve the value heads too, which are made of the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rmaudit.checkpoints.heads import linear
from rmaudit.checkpoints.heads.linear import HIDDEN, SameForEveryPrompt, Shapes, match
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "mlp", "hf", frozenset({"lm_head.weight"})
LAYERS = ("score.0", "score.2")
_WHAT = "a score of two layers"


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the tensor names of the layers `score.0` and `score.2`; None without such a head.

    Both layers have a bias, or neither has.

    Raises:
        ModelError: one is missing, unexpected or of a wrong shape; or the score has two outputs, as
            those of process reward models do.
    """
    there = [key for key in shapes if key.startswith("score.")]
    if not any(re.match(r"score\.[0-9]+\.", key) for key in there):
        return None
    if shapes.get("score.2.weight", ())[:1] == (2,):
        raise ModelError(
            "'score.2.weight' has 2 outputs, as in a process reward model: it judges each step of "
            "a solution as good or bad, and gives no reward to a whole answer. rmaudit scores "
            "models with 1 output; audit an outcome reward model instead"
        )
    biases = any(key.endswith(".bias") for key in there)
    return check_layers(config, shapes, "score.", LAYERS, what=_WHAT, biases=biases)


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Stack:  # noqa: ARG001  (as all families have it)
    """Return the two-layer head with these tensors (`score.0`, `score.2`) as its weights."""
    return stack(tensors, LAYERS)


class Layer(NamedTuple):
    """A linear layer: weight (outputs, inputs), bias (outputs,) or None."""

    weight: Tensor
    bias: Tensor | None

    def to(self, device: Any) -> Layer:  # noqa: ANN401  (whatever torch takes for one)
        """Return the layer with its tensors on `device`."""
        return Layer(self.weight.to(device), None if self.bias is None else self.bias.to(device))


@dataclass(slots=True, eq=False)
class Stack(SameForEveryPrompt):
    """A head of linear layers in float32, with the function `between`, or else ReLU, between them.

    The reward is the last layer's first output. The layers move to the device of the states.
    """

    layers: tuple[Layer, ...]
    between: Callable[[Tensor], Tensor] | None = None

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (...), of states (..., hidden), in float32."""
        return self.outputs(states)[..., 0]

    def outputs(self, states: Tensor) -> Tensor:
        """Return all outputs of the last layer, (..., outputs), of states (..., hidden)."""
        from torch import inference_mode

        with inference_mode(mode=False):  # whose copies no gradient can be taken through
            self.layers = tuple(layer.to(states.device) for layer in self.layers)
        for place, (weight, bias) in enumerate(self.layers):
            if place:
                states = self.between(states) if self.between else states.relu()
            states = states @ weight.T
            if bias is not None:
                states = states + bias
        return states


def stack(
    tensors: Mapping[str, Tensor],
    layers: Sequence[str],
    *,
    between: Callable[[Tensor], Tensor] | None = None,
) -> Stack:
    """Return a head of the named `layers` in float32, with `between` or else ReLU between them."""
    floats = {key: tensor.detach().float() for key, tensor in tensors.items()}
    linear = tuple(Layer(floats[f"{n}.weight"], floats.get(f"{n}.bias")) for n in layers)
    return Stack(linear, between)


def check_layers(  # noqa: PLR0913  (keyword-only after the shapes)
    config: Mapping[str, Any],
    shapes: Shapes,
    starts: str | tuple[str, ...],
    layers: Sequence[str],
    *,
    what: str,
    biases: bool = True,
) -> frozenset[str]:
    """Return the tensor names of a head with these `layers`; raise if names or shapes do not fit.

    Names of its tensors begin with `starts`, and `what` calls it in errors.

    Raises:
        ModelError: config.json names no hidden size, or a tensor is missing, unexpected or of a
            wrong shape.
    """
    hidden = hidden_size(config, what=what)
    there = [key for key in shapes if key.startswith(starts)]
    wanted = layer_shapes(shapes, layers, hidden, biases=biases)
    return match(shapes, there, wanted, what=f"{what} on a hidden size of {hidden}")


def layer_shapes(
    shapes: Shapes, layers: Sequence[str], hidden: object, *, biases: bool, outputs: int | None = 1
) -> dict[str, tuple[Any, ...]]:
    """Return the shapes that linear layers on a `hidden` size need, by name: each fits the last.

    The last one has so many `outputs`, or as many as there are if that is None.
    """
    wanted: dict[str, tuple[Any, ...]] = {}
    for layer in layers:
        last = layer == layers[-1] and outputs is not None
        rows = outputs if last else max((1, *shapes.get(f"{layer}.weight", ())[:1]))
        wanted[f"{layer}.weight"] = (rows, hidden)
        if biases:
            wanted[f"{layer}.bias"] = (rows,)
        hidden = rows
    return wanted


def hidden_size(config: Mapping[str, Any], *, what: str) -> int:
    """Return config.json's hidden size: the width of the hidden states that a head reads.

    Raises:
        ModelError: config.json names none.
    """
    hidden = linear.hidden_size(config)
    if not isinstance(hidden, int):
        raise ModelError(
            f"config.json names no hidden size, which {what} needs; it should have one of "
            f"{', '.join(HIDDEN)} as a whole number: copy it from the checkpoint's own"
        )
    return hidden
