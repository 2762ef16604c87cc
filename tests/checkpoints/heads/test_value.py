"""Value heads are torch's own layers, normalised if they say so; anything less is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from rmaudit.checkpoints.heads import value
from rmaudit.errors import ModelError
from tests.checkpoints.heads.test_mlp import (
    BACKBONE,
    HIDDEN,
    WIDTH,
    states,
    tensors_of,
)

CONFIG: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "hidden_size": HIDDEN}
ONE = {"v_head.summary.weight": (1, HIDDEN), "v_head.summary.bias": (1,)}
OPENRLHF = {"value_head.weight": (1, HIDDEN)}
BUFFERS = {"mean": (1,), "std": (1,)}


def grm(depth: int) -> dict[str, tuple[int, ...]]:
    """The shapes of GRM's head with so many hidden layers (vhead_num_layers)."""
    widths = [HIDDEN, *[WIDTH] * depth, 1]
    return {
        f"v_head.summary.{2 * place}.{part}": shape
        for place, (inputs, outputs) in enumerate(pairwise(widths))
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,)))
    }


def named(name: str, **config: Any) -> dict[str, Any]:
    """OpenRLHF's config.json."""
    return {**CONFIG, "value_head_prefix": name, **config}


def rewards(tensors: dict[str, Tensor], config: dict[str, Any]) -> Tensor:
    """Return what the head gives to `states()`, from the tensors that `keys` names."""
    shapes = BACKBONE | {key: tuple(tensor.shape) for key, tensor in tensors.items()}
    found = value.keys(config, shapes)
    assert found is not None
    head = value.build({key: tensors[key] for key in found}, config)
    return head.after((3, 1), torch.empty(0))(states())


def linear(weight: Tensor) -> Tensor:
    """The values of `states()` before they are normalised."""
    return (states() * weight).sum(dim=1)


@pytest.mark.parametrize("shapes", [grm(1), grm(2), ONE], ids=["1", "2", "linear"])
def test_what_config_says_of_grm_is_not_read(shapes: dict[str, tuple[int, ...]]) -> None:
    """Stale vhead_* entries neither change a value head nor make one."""
    stale = {"vhead_layer_type": "mlp", "vhead_num_layers": 4, "vhead_num_neurons": 1024}

    assert value.keys({**CONFIG, **stale}, BACKBONE | shapes) == shapes.keys()
    assert value.keys({**CONFIG, **stale}, BACKBONE | {"score.weight": (1, HIDDEN)}) is None


# OpenRLHF


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (named("score"), "score"),
        (named("value_head"), "value_head"),
        (named("reward.out"), "reward.out"),
        (CONFIG, "value_head"),
        (CONFIG, "head"),
    ],
)
def test_openrlhf_is_the_scalar_product(config: dict[str, Any], name: str) -> None:
    """Reward = w · h, under the name in config.json or one of the older ones."""
    tensors = tensors_of({f"{name}.weight": (1, HIDDEN)})

    torch.testing.assert_close(
        rewards(tensors, config), linear(tensors[f"{name}.weight"]), rtol=1e-5, atol=1e-5
    )


def test_a_plain_score_is_openrlhfs_only_if_config_says_so() -> None:
    """`score.weight` alone is transformers' own head, which pools elsewhere."""
    plain = BACKBONE | {"score.weight": (1, HIDDEN)}

    assert value.keys(CONFIG, plain) is None
    assert value.keys(named("value_head"), plain) is None
    assert value.keys(named("score"), plain) == {"score.weight"}


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
    plain = linear(tensors["value_head.weight"])
    if mean is None or std is None:
        mean, std = (2.0, 0.5) if saved else (0, 1)

    reward = rewards(tensors, named("value_head", **config))

    assert (
        value.keys(CONFIG, {**BACKBONE, **OPENRLHF, **dict.fromkeys(saved, (1,))}) == tensors.keys()
    )
    torch.testing.assert_close(reward, (plain - mean) / std, rtol=1e-5, atol=1e-5)


def test_buffers_that_cannot_normalise() -> None:
    """Their numbers are seen when the head is built."""
    tensors = tensors_of(OPENRLHF) | {"mean": torch.tensor([2.0]), "std": torch.tensor([0.0])}

    with pytest.raises(ModelError, match=r"by mean 2\.0 and std 0\.0; they should be finite"):
        value.build(tensors, named("value_head", normalize_reward=True))
