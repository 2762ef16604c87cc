"""A score of two layers serves gradients and whole rows; its formula is in `test_every_family`."""

from __future__ import annotations

import torch
from torch import Tensor

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
