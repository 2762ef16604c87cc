"""A score of two layers is torch's own Linear, ReLU, Linear; anything less is refused, in words."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rmaudit.checkpoints.heads import mlp
from rmaudit.errors import ModelError

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


def tensors_of(shapes: dict[str, tuple[int, ...]], seed: int = 0) -> dict[str, Tensor]:
    """Tensors of these shapes, large enough for every part of the head to matter."""
    generator = torch.Generator().manual_seed(seed)
    return {key: torch.randn(shape, generator=generator) for key, shape in shapes.items()}


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


@st.composite
def damaged(draw: st.DrawFn, shapes: dict[str, Any]) -> dict[str, Any]:
    """The shapes with one tensor gone, under another name, or of another shape."""
    key = draw(st.sampled_from(sorted(shapes)))
    rest = {k: shape for k, shape in shapes.items() if k != key}
    names = st.sampled_from(
        [f"{key}s", f"model.{key}", key.removesuffix(".weight"), key.replace("0", "1"), "x.weight"]
    )
    anything = st.text("score.vhadumy0123weightbias", min_size=1) | st.text(min_size=1)
    sizes = st.lists(st.integers(0, 12), max_size=3).map(tuple)
    near = st.integers(0, 2).flatmap(
        lambda at: st.integers(-1, 2).map(
            lambda by: tuple(n + by * (i == at) for i, n in enumerate(shapes[key]))
        )
    )
    how = draw(st.sampled_from(["gone", "renamed", "reshaped", "transposed"]))
    if how == "gone":
        return rest
    if how == "renamed":
        new = draw((names | anything).filter(lambda name: name not in shapes))
        return {**rest, new: shapes[key]}
    if how == "transposed" and shapes[key] != shapes[key][::-1]:
        return {**rest, key: shapes[key][::-1]}
    return {**rest, key: draw((near | sizes).filter(lambda shape: shape != shapes[key]))}


def gives_no_head(
    family: ModuleType,
    config: dict[str, Any],
    shapes: dict[str, Any],
    *,
    backbone: dict[str, Any] = BACKBONE,
) -> bool:
    """Whether it is of another family, or refused."""
    try:
        return family.keys(config, backbone | shapes) is None
    except ModelError:
        return True


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


def test_by_hand() -> None:
    """W₁ = (1 0; 0 -1), b₁ = (0, 1), w₂ = (2, 3), b₂ = 4; h = (-5, -6) is worth 0 + 3·7 + 4."""
    head = mlp.build(
        {
            "score.0.weight": torch.tensor([[1.0, 0.0], [0.0, -1.0]]),
            "score.0.bias": torch.tensor([0.0, 1.0]),
            "score.2.weight": torch.tensor([[2.0, 3.0]]),
            "score.2.bias": torch.tensor([4.0]),
        },
        {},
    )

    assert head(torch.tensor([[-5.0, -6.0]])).tolist() == [25.0]


def test_a_half_precision_head_scores_in_float32() -> None:
    """The tensors are widened, so that the sums are not rounded again."""
    tensors = {key: tensor.bfloat16() for key, tensor in tensors_of(SHAPES).items()}

    widened = rewards(mlp, {key: tensor.float() for key, tensor in tensors.items()}, CONFIG)

    assert torch.equal(rewards(mlp, tensors, CONFIG), widened)


def test_a_gradient_goes_through_after_inference() -> None:
    """Layers that scoring moved to where the states are serve a gradient too."""
    head = mlp.build(tensors_of(SHAPES), CONFIG)
    with torch.inference_mode():
        head(states().to("meta"))  # a device that is always there

    own = states().to("meta").requires_grad_()
    (slope,) = torch.autograd.grad(head(own).sum(), own)

    assert slope.shape == own.shape
    assert {layer.weight.device.type for layer in head.layers} == {"meta"}


def test_no_gradient_is_kept() -> None:
    """Scoring outside of inference mode builds no graph."""
    tensors = {key: nn.Parameter(tensor) for key, tensor in tensors_of(SHAPES).items()}

    assert not mlp.build(tensors, CONFIG)(states()).requires_grad


def test_goes_where_the_states_are() -> None:
    """The head is moved once, and stays there."""
    head = mlp.build(tensors_of(SHAPES), CONFIG)

    assert head(states().to("meta")).device.type == "meta"
    moved = [tensor for layer in head.layers for tensor in layer]
    head(states().to("meta"))

    assert all(old is new for old, new in zip(moved, sum(head.layers, ()), strict=True))


def test_scores_whole_rows_too() -> None:
    """(batch, length, hidden) gives (batch, length), each place as alone."""
    head, some = mlp.build(tensors_of(SHAPES), CONFIG), states(6)

    torch.testing.assert_close(head(some.reshape(2, 3, HIDDEN)).reshape(-1), head(some))


# Whose it is


def test_the_tensors_decide() -> None:
    """All four tensors, or the two weights; a plain score, or none, is another family."""
    assert mlp.keys(CONFIG, BACKBONE | SHAPES | {"lm_head.weight": (11, HIDDEN)}) == SHAPES.keys()
    assert mlp.keys(CONFIG, BACKBONE | WITHOUT_BIAS) == WITHOUT_BIAS.keys()
    assert mlp.keys(CONFIG, BACKBONE | {"score.weight": (1, HIDDEN)}) is None
    assert mlp.keys(CONFIG, BACKBONE) is None
    assert mlp.POOL == "hf"
    assert [*mlp.IGNORED] == ["lm_head.weight"]


def test_a_multimodal_models_width_is_its_text_models() -> None:
    """Where config.json has a text_config, that one counts."""
    config = {"hidden_size": 99, "text_config": {"hidden_size": HIDDEN}}

    assert mlp.keys(config, BACKBONE | SHAPES) == SHAPES.keys()


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data(), st.sampled_from([SHAPES, WITHOUT_BIAS]))
def test_a_damaged_head_is_none(data: st.DataObject, shapes: dict[str, Any]) -> None:
    """Any tensor gone, under another name or of another shape: never a head."""
    assert gives_no_head(mlp, CONFIG, data.draw(damaged(shapes)))
