"""URM's head equals the published formula, and no wrong head is ever made."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rmaudit.checkpoints.heads import uncertainty

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


def test_a_language_model_head_that_was_saved_beside_it_is_no_part_of_it() -> None:
    """Its authors' checkpoint may have one; no reward reads it."""
    beside = {**BACKBONE, **SHAPES, "lm_head.weight": (50, HIDDEN)}

    assert uncertainty.keys(CONFIG, beside) == uncertainty.keys(CONFIG, {**BACKBONE, **SHAPES})
    assert "lm_head.weight" in uncertainty.IGNORED
