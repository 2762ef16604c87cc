"""Value heads are torch's own layers, normalised if they say so; anything less is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from rmaudit.checkpoints.heads import value
from rmaudit.errors import ModelError
from tests.checkpoints.heads.whole import (
    NORM,
    ONE,
    OPENRLHF,
    SCORE,
    VALUE,
    WIDTH,
    Shapes,
    drawn_states,
    grm,
    named,
    tensors_of,
)

STATES = drawn_states(9, 1, WIDTH)


@pytest.mark.parametrize("shapes", [grm(1), grm(2), ONE], ids=["1", "2", "linear"])
def test_what_config_says_of_grm_is_not_read(shapes: Shapes) -> None:
    """Stale vhead_* entries neither change a value head nor make one."""
    stale = {"vhead_layer_type": "mlp", "vhead_num_layers": 4, "vhead_num_neurons": 1024}

    assert value.keys({**VALUE, **stale}, NORM | shapes) == shapes.keys()
    assert value.keys({**VALUE, **stale}, NORM | SCORE) is None


@pytest.mark.parametrize(
    ("config", "name", "found"),
    [
        *((named(name), name, True) for name in ("score", "value_head", "reward.out")),
        *((VALUE, name, True) for name in ("value_head", "head")),  # of older releases
        *((config, "score", False) for config in (VALUE, named("value_head"))),
    ],
)
def test_openrlhfs_layer_is_the_one_that_config_names(
    config: dict[str, Any], name: str, *, found: bool
) -> None:
    """Or one of the older names; `score.weight` alone is transformers' head, pooled elsewhere."""
    shapes: Shapes = {f"{name}.weight": (1, WIDTH)}

    assert value.keys(config, NORM | shapes) == (shapes.keys() if found else None)


NUMBERS = {"mean": -1.5, "std": 4.0}
SAVED = {"mean": torch.tensor([2.0]), "std": torch.tensor([0.5])}


@pytest.mark.parametrize(
    ("config", "mean", "std"),
    [
        ({**NUMBERS, "normalize_reward": True}, -1.5, 4),
        ({**NUMBERS, "normalize_reward": False}, 0, 1),
        (NUMBERS, 0, 1),
        ({"normalize_reward": True}, None, None),  # what was saved, or as OpenRLHF starts: 0, 1
    ],
)
@pytest.mark.parametrize("saved", [{}, SAVED], ids=["", "saved"])
def test_openrlhf_normalises_if_it_says_so(
    config: dict[str, Any], mean: float | None, std: float | None, saved: dict[str, Tensor]
) -> None:
    """(value - mean) / std with config.json's numbers, else those saved; else the value."""
    tensors = tensors_of(OPENRLHF) | saved
    plain = (STATES * tensors["value_head.weight"]).sum(dim=1)
    if mean is None or std is None:
        mean, std = (2.0, 0.5) if saved else (0, 1)

    reward = value.build(tensors, named("value_head", **config)).after((), STATES)(STATES)

    torch.testing.assert_close(reward, (plain - mean) / std, rtol=1e-5, atol=1e-5)


def test_buffers_that_cannot_normalise() -> None:
    """Their numbers are seen when the head is built."""
    tensors = tensors_of(OPENRLHF) | {"mean": torch.tensor([2.0]), "std": torch.tensor([0.0])}

    with pytest.raises(ModelError, match=r"by mean 2\.0 and std 0\.0; they should be finite"):
        value.build(tensors, named("value_head", normalize_reward=True))
