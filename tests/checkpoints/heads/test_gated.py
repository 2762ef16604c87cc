"""Gated heads read the prompt in one place, and are never half one.

That they equal the published formulas is in `test_every_family`, whose toys these are.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

from rmaudit.checkpoints.heads import gated
from rmaudit.errors import ModelError
from tests.checkpoints.heads.whole import GATED as TOYS
from tests.checkpoints.heads.whole import drawn_states, head_of, prefix_of
from tests.models.test_families import Toy

LLAMA = (128009, 128006, 78191, 128007, 271)
GEMMA = (107, 108, 106, 2516, 108)


every = pytest.mark.parametrize("toy", TOYS.values(), ids=TOYS)


def rewards(toy: Toy, tensors: dict[str, Tensor], states: Tensor) -> Tensor:
    """The head's own, of nine pooled states after the prompt with these `states`."""
    head = gated.build(tensors, toy.config)
    return head.after(prefix_of(toy.kind), states)(drawn_states(9, seed=1))


@every
def test_the_gate_is_read_at_the_last_pattern_only(toy: Toy) -> None:
    """Its state decides, and no other of the prefix: not the first pattern's, not the last id's."""
    tensors, states = head_of(toy), drawn_states(15, seed=2)
    before = rewards(toy, tensors, states)

    def moves(at: int) -> bool:
        changed = states.clone()
        changed[at] = -2 * changed[at] + 1
        return bool((rewards(toy, tensors, changed) != before).any())

    assert [at for at in range(len(states)) if moves(at)] == [10]


@every
def test_a_prefix_without_the_pattern_is_refused(toy: Toy) -> None:
    """A cut or foreign template has no place for the gate, and the error says the way out."""
    pattern = GEMMA if toy.kind == "gemma2" else LLAMA
    head = gated.build(head_of(toy), toy.config)
    said = rf"ids {re.escape(str(list(pattern)))} start, .* the 7 ids before .* `template` in"

    with pytest.raises(ModelError, match=said):
        head.after((1, 2, *pattern[:-1], 3), drawn_states(7, seed=1))
    with pytest.raises(ModelError, match="the 0 ids before the answer"):
        head.after((), drawn_states(0, seed=1))


def test_the_defaults_are_those_of_the_published_class() -> None:
    """QRM-Gemma's config.json may say nothing of the head."""
    said = ("architectures", "model_type", "hidden_size")
    gemma = {key: TOYS["QRM-Gemma"].config[key] for key in said} | {"hidden_size": 4608}
    shapes: dict[str, tuple[int, ...]] = {
        "gating.logit_scale": (1,),
        "regression_layer.weight": (95, 4608),
    }
    shapes |= {"gating.layers.11.weight": (5, 1024), "gating.layers.11.bias": (5,)}
    for place in (2, 6, 10):
        for name in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"gating.layers.{place}.{name}"] = (1024,)
        shapes[f"gating.layers.{place}.num_batches_tracked"] = ()
        shapes[f"gating.layers.{place - 2}.weight"] = (1024, 1024 if place > 2 else 4608)
    assert gated.keys(gemma, shapes) == shapes.keys()
    assert len(shapes) == 22


def test_a_saved_transform_that_nothing_applies_must_change_nothing() -> None:
    """A QRM of five objectives has none in its class; one that is the identity may be saved."""
    toy, states = TOYS["QRM-v2"], drawn_states(15, seed=2)
    tensors = head_of(toy)
    identity = tensors | {"reward_transform_matrix": torch.eye(5)}
    shapes: Any = {key: tuple(tensor.shape) for key, tensor in identity.items()}

    assert gated.keys(toy.config, shapes) == shapes.keys()
    assert torch.equal(rewards(toy, identity, states), rewards(toy, tensors, states))
    other = tensors | {"reward_transform_matrix": 2 * torch.eye(5)}
    with pytest.raises(ModelError, match="'reward_transform_matrix' is not the identity"):
        gated.build(other, toy.config)
