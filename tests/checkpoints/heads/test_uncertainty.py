"""URM's head: its attributes by hand, and which tensors are its own."""

from __future__ import annotations

import torch

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
