"""Read URM's head (uncertainty-aware reward model): a weighted sum of attributes' means.

The network reads the same state as the means. With x the pooled state and s = W x, whose entries
alternate between μ and log σ of an attribute:

    reward = Σ μ_i w_i    with w = fc(x), three Linears with SELU between; w is not normalised

σ, the uncertainty, has no part in the reward. The published class runs fc in float16; here all is
in float32, so rewards differ from its by that rounding. The head is quadratic in x and the same for
every prompt. Keys and formula: SGLang's `models/llama_reward.py`. The checkpoint's config.json was
not seen, so nothing is asked of it but the architecture and the hidden size.

URM: arXiv:2410.00847.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import mlp
from rmaudit.checkpoints.heads.linear import (
    Linear,
    SameForEveryPrompt,
    Shapes,
    architecture,
    match,
)
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "uncertainty", "last", frozenset({"lm_head.weight"})
ARCHITECTURE = "LlamaForSequenceClassificationWithNormal_Weights"
_SCORE, _FC = "score.weight", "weights.fc."
_LAYERS = [f"{_FC}{place}" for place in (0, 2, 4)]


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the names of the head's tensors if the checkpoint is a URM, else None.

    URM is an uncertainty-aware reward model, known by its architecture.

    Raises:
        ModelError: they are not exactly those of a URM, their shapes do not fit together, or
            another architecture has weights for its attributes.
    """
    others = {key for key in shapes if key.startswith("model.")} | IGNORED
    found = {key: tuple(shape) for key, shape in shapes.items() if key not in others}
    if architecture(config) != ARCHITECTURE:
        if own := sorted(key for key in found if key.startswith(_FC)):
            raise ModelError(
                f"{own[0]!r}, of a head that weighs attributes, under the architecture "
                f"{architecture(config)!r}; rmaudit knows this head of {ARCHITECTURE} only: "
                f"correct `architectures` in config.json if it is one"
            )
        return None
    hidden = config.get("hidden_size")
    layers = mlp.layer_shapes(found, _LAYERS, hidden, biases=True, outputs=None)
    attributes = layers[f"{_LAYERS[-1]}.bias"][0]
    wanted = {_SCORE: (2 * attributes, hidden), **layers}
    return match(found, found, wanted, what=f"{ARCHITECTURE} with hidden_size {hidden!r}")


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Uncertainty:
    """Return the URM head with these tensors as its weights."""
    from torch.nn import functional

    return Uncertainty(each(tensors, config), mlp.stack(tensors, _LAYERS, between=functional.selu))


def outputs(config: Mapping[str, Any], shapes: Shapes) -> int:  # noqa: ARG001  (as all families have it)
    """Return the number of attributes: half the rows of `score.weight`, which has two for each."""
    return shapes[_SCORE][0] // 2


def each(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:  # noqa: ARG001  (as `build`)
    """Return a head that maps states (..., hidden) to the attributes' means (..., attributes)."""
    return Linear(tensors[_SCORE].detach().float()[0::2].T)


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty(SameForEveryPrompt):
    """The head of a URM (uncertainty-aware reward model): attributes' means, and their weights."""

    means: Linear
    weights: mlp.Stack

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (...), of states (..., hidden), in float32."""
        return (self.means(states) * self.weights.outputs(states)).sum(-1)
