"""The linear head is transformers' own, in float32."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rmaudit.checkpoints.heads.linear import KEY, Linear, build, keys
from rmaudit.errors import ModelError


def head_of(weight: torch.Tensor) -> Linear:
    """The head of a checkpoint that has this weight."""
    return build({KEY: weight}, {})


def test_equals_the_layer_it_replaces() -> None:
    """Random states score as torch's own layer without a bias scores them, shape (n,)."""
    torch.manual_seed(0)
    layer, states = nn.Linear(16, 1, bias=False), torch.randn(5, 16)

    torch.testing.assert_close(head_of(layer.weight)(states), layer(states).detach()[:, 0])


def test_other_tensors_are_another_family() -> None:
    """Without `score.weight` there is no plain head; with it, its shape must be one reward's."""
    assert keys({"hidden_size": 4}, {"model.norm.weight": (4,)}) is None
    assert keys({"hidden_size": 4}, {KEY: (1, 4), "x": (1,)}) == {KEY}
    with pytest.raises(
        ModelError, match=r"^'score.weight' has shape \(2, 4\): 2 labels, and which "
    ):
        keys({"hidden_size": 4}, {KEY: (2, 4)})
