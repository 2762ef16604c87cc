"""URM's head equals the published formula, and no wrong head is ever made."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rmaudit.checkpoints.heads import uncertainty
from rmaudit.errors import ModelError

HIDDEN, ATTRIBUTES = 6, 3
SHAPES: dict[str, tuple[int, ...]] = {
    "score.weight": (2 * ATTRIBUTES, HIDDEN),
    "weights.fc.0.weight": (7, HIDDEN),
    "weights.fc.0.bias": (7,),
    "weights.fc.2.weight": (5, 7),
    "weights.fc.2.bias": (5,),
    "weights.fc.4.weight": (ATTRIBUTES, 5),
    "weights.fc.4.bias": (ATTRIBUTES,),
}
BACKBONE: dict[str, tuple[int, ...]] = {"model.norm.weight": (HIDDEN,)}
CONFIG = {
    "architectures": ["LlamaForSequenceClassificationWithNormal_Weights"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
}
quick = settings(derandomize=True, deadline=None, max_examples=60)
keys = st.sampled_from(sorted(SHAPES))


def drawn(seed: int = 0) -> dict[str, Tensor]:
    """Random tensors of a checkpoint's head."""
    random = torch.Generator().manual_seed(seed)
    return {key: torch.randn(shape, generator=random) for key, shape in SHAPES.items()}


def reference(tensors: dict[str, Tensor], state: Tensor) -> float:
    """One state's reward, as the published class gives it (there with fc in float16)."""
    fc = nn.Sequential(
        nn.Linear(HIDDEN, 7), nn.SELU(), nn.Linear(7, 5), nn.SELU(), nn.Linear(5, ATTRIBUTES)
    )
    start = "weights.fc."
    own = {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}
    fc.load_state_dict(own, strict=True)
    pairs = (tensors["score.weight"] @ state).view(ATTRIBUTES, 2)
    return (pairs[:, 0] * fc(state)).sum().item()


@given(st.integers(0, 10_000))
@quick
def test_equals_the_published_formula(seed: int) -> None:
    """Row by row, for random heads and states."""
    tensors = drawn(seed)
    states = torch.randn(5, HIDDEN, generator=torch.Generator().manual_seed(seed + 1))
    expected = torch.tensor([reference(tensors, state) for state in states])

    found = uncertainty.build(tensors, CONFIG).after((1, 2), states[:2])(states)

    assert found.dtype == torch.float32
    assert found.shape == (5,)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_by_hand() -> None:
    """Means 1, 2 and 3 of weights 10, 20 and -5 are worth 35; log-deviations 0, ln 2, 0."""
    tensors = {key: torch.zeros(shape) for key, shape in SHAPES.items()}
    tensors["score.weight"][:, 0] = torch.tensor([1.0, 0.0, 2.0, 2.0, 3.0, 0.0])
    tensors["score.weight"][3, 0] = torch.tensor(2.0).log()
    tensors["weights.fc.4.bias"] = torch.tensor([10.0, 20.0, -5.0])
    head = uncertainty.build(tensors, CONFIG)
    states = torch.eye(HIDDEN)[:1]

    mean, deviation, weight = head.attributes(states)

    assert mean.tolist() == [[1, 2, 3]]
    assert deviation.tolist() == [[1, 2, 1]]
    assert weight.tolist() == [[10, 20, -5]]
    assert head.after((), states)(states).tolist() == [35]


def test_half_precision_tensors_are_widened() -> None:
    """The head computes in float32 whatever it was saved in, and keeps no gradient."""
    half = {key: tensor.half() for key, tensor in drawn().items()}
    states = torch.randn(3, HIDDEN, generator=torch.Generator().manual_seed(1))
    expected = torch.tensor(
        [reference({key: tensor.float() for key, tensor in half.items()}, x) for x in states]
    )

    found = uncertainty.build({k: v.requires_grad_() for k, v in half.items()}, CONFIG)
    rewards = found.after((1,), states[:1])(states)

    assert not rewards.requires_grad
    torch.testing.assert_close(rewards, expected, rtol=1e-5, atol=1e-5)


def test_keys_are_all_but_the_backbones() -> None:
    """The published keys; toy sizes and the published ones."""
    wide: dict[str, tuple[int, ...]] = {
        "score.weight": (10, 4096),
        "weights.fc.0.weight": (4096, 4096),
        "weights.fc.0.bias": (4096,),
        "weights.fc.2.weight": (4096, 4096),
        "weights.fc.2.bias": (4096,),
        "weights.fc.4.weight": (5, 4096),
        "weights.fc.4.bias": (5,),
    }

    assert uncertainty.keys(CONFIG, BACKBONE | SHAPES) == frozenset(SHAPES)
    assert uncertainty.keys(CONFIG | {"hidden_size": 4096}, wide) == frozenset(wide)


def test_another_familys_checkpoint_is_not_ours() -> None:
    """A plain classifier is left to others."""
    config = {"architectures": ["LlamaForSequenceClassification"], "hidden_size": HIDDEN}

    assert uncertainty.keys(config, BACKBONE | {"score.weight": (1, HIDDEN)}) is None
    assert uncertainty.keys({}, {}) is None


@given(keys, st.text(max_size=12))
@quick
def test_a_head_without_a_key_or_with_a_renamed_one_is_never_made(key: str, name: str) -> None:
    """Whichever key, whatever its new name."""
    left = {k: v for k, v in (BACKBONE | SHAPES).items() if k != key}

    for shapes in (left, *({**left, new: SHAPES[key]} for new in (name, f"model.{key}", key[1:]))):
        if key not in shapes:
            with pytest.raises(ModelError, match="among the head's tensors"):
                uncertainty.keys(CONFIG, shapes)


@given(keys, st.lists(st.integers(0, 15), max_size=3).map(tuple))
@quick
def test_a_head_with_another_shape_is_never_made(key: str, shape: tuple[int, ...]) -> None:
    """Of any tensor, in any axis; a transposed one too."""
    for new in (shape, SHAPES[key][::-1], (*SHAPES[key], 1)):
        if new != SHAPES[key]:
            with pytest.raises(ModelError, match=re.escape("has shape")):
                uncertainty.keys(CONFIG, BACKBONE | SHAPES | {key: new})
