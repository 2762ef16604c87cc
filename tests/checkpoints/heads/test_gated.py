"""Gated heads equal the published formulas, row by row, and no wrong head is ever made.

The references below run a row at a time, as the published classes do: the gate reads the row's own
state at the pattern, and quantiles, transform and gate are applied one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rmaudit.checkpoints.heads import gated
from rmaudit.errors import ModelError

LLAMA = (128009, 128006, 78191, 128007, 271)
GEMMA = (107, 108, 106, 2516, 108)
LAYERS = "gating.layers."
quick = settings(derandomize=True, deadline=None, max_examples=60)


@dataclass(frozen=True)
class Toy:
    """A checkpoint's configuration and head, and how its published class scores a row."""

    config: dict[str, Any]
    tensors: dict[str, Tensor]
    pattern: tuple[int, ...]
    reference: Callable[[dict[str, Tensor], Tensor, Tensor], float]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the head and of some of the backbone."""
        head = {key: tuple(tensor.shape) for key, tensor in self.tensors.items()}
        return {"model.embed_tokens.weight": (300, 6), "model.norm.weight": (6,), **head}

    @property
    def prefix(self) -> tuple[int, ...]:
        """Two turns: the pattern stands in it twice, at 3 and at 10."""
        return (1, 2, 3, *self.pattern, 4, 5, *self.pattern)


def armorm() -> Toy:
    """4 objectives, hidden size 6, a gate of two hidden layers 5 wide."""
    shapes = {
        "regression_layer.weight": (4, 6),
        "reward_transform_matrix": (4, 4),
        "gating.layers.0.weight": (5, 6),
        "gating.layers.0.bias": (5,),
        "gating.layers.1.weight": (5, 5),
        "gating.layers.1.bias": (5,),
        "gating.layers.2.weight": (4, 5),
        "gating.layers.2.bias": (4,),
        "gating.logit_scale": (1,),
    }
    config = {
        "architectures": ["LlamaForRewardModelWithGating"],
        "model_type": "llama",
        "hidden_size": 6,
        "num_objectives": 4,
        "gating_temperature": 10,
        "gating_hidden_dim": 5,
        "gating_n_hidden": 2,
    }

    def reference(t: dict[str, Tensor], x: Tensor, p: Tensor) -> float:
        a = torch.relu(t["gating.layers.0.weight"] @ p + t["gating.layers.0.bias"])
        a = torch.relu(t["gating.layers.1.weight"] @ a + t["gating.layers.1.bias"])
        a = t["gating.layers.2.weight"] @ a + t["gating.layers.2.bias"]
        gate = torch.softmax(a / 10, dim=0) * t["gating.logit_scale"][0]
        rewards = (t["regression_layer.weight"] @ x) @ t["reward_transform_matrix"]
        return (gate * rewards).sum().item()

    return Toy(config, drawn(shapes, 10), LLAMA, reference)


def quantile(kind: str) -> Toy:
    """A QRM with a gate of three hidden layers, 7 wide: "llama", "v2" or "gemma"."""
    objectives, quantiles, temperature, places, last = {
        "llama": (4, 3, 5.0, (0, 3, 6), 9),
        "v2": (5, 3, 5.0, (0, 3, 6), 9),
        "gemma": (3, 4, 1.0, (0, 4, 8), 11),
    }[kind]
    shapes: dict[str, tuple[int, ...]] = {
        "regression_layer.weight": (objectives * quantiles, 6),
        "gating.logit_scale": (1,),
        f"gating.layers.{last}.weight": (objectives, 7),
        f"gating.layers.{last}.bias": (objectives,),
    }
    for place in places:
        shapes[f"gating.layers.{place}.weight"] = (7, 7 if place else 6)
        for name in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"gating.layers.{place + 2}.{name}"] = (7,)
        shapes[f"gating.layers.{place + 2}.num_batches_tracked"] = ()
    if kind == "llama":
        shapes["reward_transform_matrix"] = (objectives, objectives)
    config = {
        "architectures": ["LlamaForRewardModelWithGating"],
        "model_type": "llama",
        "hidden_size": 6,
        "num_objectives": objectives,
        "num_quantiles": quantiles,
        "gating_temperature": temperature,
        "gating_hidden_dim": 7,
        "gating_n_hidden": 3,
    }
    if kind == "gemma":
        config |= {
            "architectures": ["Gemma2ForQuantileSequenceClassification"],
            "model_type": "gemma2",
        }
        del config["gating_temperature"]

    def reference(t: dict[str, Tensor], x: Tensor, p: Tensor) -> float:
        layers: list[nn.Module] = []
        for place in places:
            layers += [nn.Linear(7 if place else 6, 7, bias=False), nn.ReLU(), nn.BatchNorm1d(7)]
            layers += [nn.Dropout(0.2)] if kind == "gemma" and place != places[-1] else []
        network = nn.Sequential(*layers, nn.Linear(7, objectives)).eval()
        own = {k.removeprefix(LAYERS): v for k, v in t.items() if k.startswith(LAYERS)}
        network.load_state_dict(own, strict=True)
        gate = torch.softmax(network(p[None]) / temperature, dim=1) * t["gating.logit_scale"][0]
        curves = (t["regression_layer.weight"] @ x).reshape(1, objectives, quantiles)
        rewards = curves.mean(2)
        if kind == "llama":
            rewards = rewards @ t["reward_transform_matrix"]
        return (gate * rewards).sum().item()

    tensors = drawn(shapes, temperature)
    for key in shapes:
        if key.endswith("num_batches_tracked"):
            tensors[key] = torch.tensor(1000)
    return Toy(config, tensors, GEMMA if kind == "gemma" else LLAMA, reference)


def drawn(shapes: dict[str, tuple[int, ...]], temperature: float) -> dict[str, Tensor]:
    """Random tensors, with which a gate of this temperature is neither even nor saturated."""
    random = torch.Generator().manual_seed(0)
    tensors = {key: torch.randn(shape, generator=random) for key, shape in shapes.items()}
    last = max(
        (key for key in shapes if key.startswith(LAYERS)), key=lambda k: int(k.split(".")[2])
    )
    for key, tensor in tensors.items():
        if key.endswith("running_var"):
            tensor.abs_().add_(0.3)
        elif key.startswith(last.rpartition(".")[0]):
            tensor.mul_(temperature / 3)
        if key.startswith(LAYERS) and tensor.dim() == 2:
            tensor.div_(2)
    return tensors | {"gating.logit_scale": torch.tensor([2.5])}


TOYS = {"ArmoRM": armorm(), **{f"QRM-{k}": quantile(k) for k in ("llama", "v2", "gemma")}}
every = pytest.mark.parametrize("toy", TOYS.values(), ids=TOYS)


def drawn_states(count: int, seed: int) -> Tensor:
    """Random states."""
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))


def rewards(toy: Toy, tensors: dict[str, Tensor], pooled: Tensor, states: Tensor) -> Tensor:
    """The head's own."""
    return gated.build(tensors, toy.config).after(toy.prefix, states)(pooled)


@every
def test_equals_the_published_formula_row_by_row(toy: Toy) -> None:
    """Gate and rewards of each whole row, its gate at the pattern's last start, give the same."""
    pooled = drawn_states(9, seed=1)
    for seed in range(2, 8):
        states = drawn_states(len(toy.prefix), seed)
        expected = torch.tensor([toy.reference(toy.tensors, x, states[10]) for x in pooled])

        found = rewards(toy, toy.tensors, pooled, states)

        assert found.dtype == torch.float32
        assert found.shape == (9,)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@every
def test_the_toys_depend_on_every_tensor(toy: Toy) -> None:
    """So equality with the reference says something of each: a changed one changes rewards."""
    pooled, states = drawn_states(9, seed=1), drawn_states(len(toy.prefix), seed=2)
    before = rewards(toy, toy.tensors, pooled, states)

    for key, tensor in toy.tensors.items():
        if key.endswith("num_batches_tracked"):
            continue
        # reversed, so that a transposed or permuted tensor is another one too
        other = toy.tensors | {key: tensor.flip(0) * 1.5 + 0.1}
        assert (rewards(toy, other, pooled, states) - before).abs().max() > 1e-3, key


@every
def test_the_gate_is_read_at_the_last_pattern_only(toy: Toy) -> None:
    """Its state decides, and no other of the prefix: not the first pattern's, not the last id's."""
    pooled, states = drawn_states(9, seed=1), drawn_states(len(toy.prefix), seed=2)
    before = rewards(toy, toy.tensors, pooled, states)
    moved = [
        bool((rewards(toy, toy.tensors, pooled, change(states, at)) != before).any())
        for at in range(len(states))
    ]

    assert [at for at, changed in enumerate(moved) if changed] == [10]


def change(states: Tensor, at: int) -> Tensor:
    """One state replaced."""
    changed = states.clone()
    changed[at] = -2 * changed[at] + 1
    return changed


@every
def test_a_prefix_without_the_pattern_is_refused(toy: Toy) -> None:
    """A cut or foreign template has no place for the gate, and the error says the way out."""
    prefix = (1, 2, *toy.pattern[:-1], 3)
    said = rf"ids {re.escape(str(list(toy.pattern)))} start, .* the 7 ids before .* `template` in"

    with pytest.raises(ModelError, match=said):
        gated.build(toy.tensors, toy.config).after(prefix, drawn_states(7, seed=1))
    with pytest.raises(ModelError, match="the 0 ids before the answer"):
        gated.build(toy.tensors, toy.config).after((), drawn_states(0, seed=1))


def test_the_pattern_is_that_of_the_backbone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen by model_type; a toy vocabulary's takes its place in PATTERNS."""
    toy = TOYS["QRM-gemma"]

    assert gated.build(toy.tensors, toy.config).pattern == GEMMA
    assert gated.build(TOYS["ArmoRM"].tensors, TOYS["ArmoRM"].config).pattern == LLAMA
    monkeypatch.setitem(gated.PATTERNS, "gemma2", (7, 8))
    head = gated.build(toy.tensors, toy.config)
    states = drawn_states(5, seed=1)
    reward = head.after((7, 8, 7, 8, 9), states)(states)[0]
    assert float(reward) == pytest.approx(toy.reference(toy.tensors, states[0], states[2]), 1e-5)


def test_weights_by_hand() -> None:
    """Logits 0, 10 ln 2, 10 ln 5 at temperature 10 and scale 16 weigh 2, 4 and 10."""
    toy = TOYS["QRM-gemma"]
    logits = torch.tensor([0.0, 2.0, 5.0]).clamp(min=1).log() * 10
    tensors = toy.tensors | {
        "gating.layers.11.weight": torch.zeros(3, 7),
        "gating.layers.11.bias": logits,
        "gating.logit_scale": torch.tensor([16.0]),
    }
    head = gated.build(tensors, toy.config | {"gating_temperature": 10})

    torch.testing.assert_close(head.weights(torch.ones(6)), torch.tensor([2.0, 4.0, 10.0]))


def test_published_sizes() -> None:
    """Those of ArmoRM and QRM-Gemma; the latter's config.json may say nothing of the head."""
    llama = TOYS["ArmoRM"].config | {"hidden_size": 4096, "num_objectives": 19}
    llama |= {"gating_hidden_dim": 1024, "gating_n_hidden": 3}
    shapes: dict[str, tuple[int, ...]] = {
        "gating.logit_scale": (1,),
        "regression_layer.weight": (19, 4096),
        "reward_transform_matrix": (19, 19),
    }
    for place, outputs in enumerate((1024, 1024, 1024, 19)):
        shapes[f"gating.layers.{place}.weight"] = (outputs, 1024 if place else 4096)
        shapes[f"gating.layers.{place}.bias"] = (outputs,)
    assert gated.keys(llama, shapes) == shapes.keys()
    assert len(shapes) == 11

    said = ("architectures", "model_type", "hidden_size")
    gemma = {key: TOYS["QRM-gemma"].config[key] for key in said} | {"hidden_size": 4608}
    shapes = {"gating.logit_scale": (1,), "regression_layer.weight": (95, 4608)}
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
    toy = TOYS["QRM-v2"]
    identity = {**toy.tensors, "reward_transform_matrix": torch.eye(5)}
    shapes = {key: tuple(tensor.shape) for key, tensor in identity.items()}
    pooled, states = drawn_states(3, seed=1), drawn_states(len(toy.prefix), seed=2)

    assert gated.keys(toy.config, shapes) == shapes.keys()
    assert torch.equal(
        rewards(toy, identity, pooled, states), rewards(toy, toy.tensors, pooled, states)
    )
    other = {**identity, "reward_transform_matrix": 2 * torch.eye(5)}
    with pytest.raises(ModelError, match="'reward_transform_matrix' is not the identity"):
        gated.build(other, toy.config)


toys = st.sampled_from(sorted(TOYS)).map(TOYS.__getitem__)


@given(toys, st.permutations(range(8)))
@quick
def test_the_order_of_the_tensors_is_nothing(toy: Toy, order: list[int]) -> None:
    """Files list keys by name, and gating.layers.11 comes before gating.layers.2 there."""
    names = sorted(toy.tensors)
    names = [names[i] for i in order] + names[8:]
    tensors = {name: toy.tensors[name] for name in names}
    pooled, states = drawn_states(3, seed=1), drawn_states(len(toy.prefix), seed=2)

    torch.testing.assert_close(
        rewards(toy, tensors, pooled, states), rewards(toy, toy.tensors, pooled, states)
    )
