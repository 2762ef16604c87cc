"""A score of two layers is torch's own Linear, ReLU, Linear; anything less is refused, in words."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rmaudit.checkpoints.heads import mlp

HIDDEN, WIDTH = 5, 7
CONFIG = {"architectures": ["INFORMForSequenceClassification"], "hidden_size": HIDDEN}
BACKBONE = {"model.embed_tokens.weight": (11, HIDDEN), "model.norm.weight": (HIDDEN,)}
SHAPES = {
    "score.0.weight": (WIDTH, HIDDEN),
    "score.0.bias": (WIDTH,),
    "score.2.weight": (1, WIDTH),
    "score.2.bias": (1,),
}
WITHOUT_BIAS = {key: shape for key, shape in SHAPES.items() if key.endswith(".weight")}


def tensors_of(shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Tensors of these shapes, such that every part of the head matters and no gate is closed."""
    generator = torch.Generator().manual_seed(0)
    tensors = {key: torch.randn(shape, generator=generator) for key, shape in shapes.items()}
    for key, tensor in tensors.items():
        if key.startswith("gating.layers.") and tensor.dim() == 2:
            tensor.div_(tensor.shape[1] ** 0.5)
        elif key.endswith(("running_var", "logit_scale")):
            tensor.abs_().add_(0.5)
    return tensors


def states(rows: int = 9) -> Tensor:
    """Some pooled states."""
    return torch.randn(rows, HIDDEN, generator=torch.Generator().manual_seed(1))


def rewards(family: ModuleType, tensors: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """What the head gives to `states()` after some prompt, from the tensors that `keys` names."""
    shapes = BACKBONE | {key: tuple(tensor.shape) for key, tensor in tensors.items()}
    found = family.keys(config, shapes)
    assert found is not None
    head = family.build({key: tensors[key] for key in found}, config)
    assert head.reads_prefix is False
    reward: Tensor = head.after((3, 1), torch.empty(0))(states())
    return reward


# What it is worth


@pytest.mark.parametrize("shapes", [SHAPES, WITHOUT_BIAS], ids=["bias", "no bias"])
def test_is_torchs_own(shapes: dict[str, tuple[int, ...]]) -> None:
    """Linear, ReLU, Linear with the tensors under their published names, shape (n,), float32."""
    tensors = tensors_of(shapes)
    bias = "score.0.bias" in shapes
    layers = nn.Sequential(nn.Linear(HIDDEN, WIDTH, bias), nn.ReLU(), nn.Linear(WIDTH, 1, bias))
    layers.load_state_dict({key.removeprefix("score."): t for key, t in tensors.items()})

    reward = rewards(mlp, tensors, CONFIG)

    assert reward.dtype == torch.float32
    torch.testing.assert_close(reward, layers(states()).detach()[:, 0], rtol=1e-5, atol=1e-5)


def test_a_gradient_goes_through_after_inference() -> None:
    """Layers that scoring moved to where the states are serve a gradient too."""
    head = mlp.build(tensors_of(SHAPES), CONFIG)
    with torch.inference_mode():
        head(states().to("meta"))  # a device that is always there

    own = states().to("meta").requires_grad_()
    (slope,) = torch.autograd.grad(head(own).sum(), own)

    assert slope.shape == own.shape
    assert {layer.weight.device.type for layer in head.layers} == {"meta"}


def test_scores_whole_rows_too() -> None:
    """(batch, length, hidden) gives (batch, length), each place as alone."""
    head, some = mlp.build(tensors_of(SHAPES), CONFIG), states(6)

    torch.testing.assert_close(head(some.reshape(2, 3, HIDDEN)).reshape(-1), head(some))


def test_a_multimodal_models_width_is_its_text_models() -> None:
    """Where config.json has a text_config, that one counts."""
    config = {"hidden_size": 99, "text_config": {"hidden_size": HIDDEN}}

    assert mlp.keys(config, BACKBONE | SHAPES) == SHAPES.keys()
