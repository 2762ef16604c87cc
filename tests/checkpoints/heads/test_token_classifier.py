"""Token classifiers of one label: `score` or `classifier`, as transformers' class has it."""

from __future__ import annotations

from typing import Any

import pytest

from rmaudit.checkpoints.heads import find, linear, token_classifier

WIDTH = 5
Shapes = dict[str, tuple[int, ...]]
HEADS: dict[str, tuple[dict[str, Any], Shapes]] = {
    f"{kind}, every token": (
        {
            "architectures": [f"{kind}ForTokenClassification"],
            "model_type": kind.lower(),
            "hidden_size": WIDTH,
        },
        {f"{name}.weight": (1, WIDTH), f"{name}.bias": (1,)},
    )
    for kind, name in [("Llama", "score"), ("GPT2", "classifier")]
}


@pytest.mark.parametrize("name", HEADS)
def test_only_the_class_tells(name: str) -> None:
    """A sequence classifier with the same tensors is another head."""
    config, shapes = HEADS[name]
    assert find(config, shapes) == (token_classifier, shapes.keys())

    config = config | {"architectures": ["LlamaForSequenceClassification"]}

    assert token_classifier.keys(config, shapes) is None
    if "score.weight" in shapes:
        assert linear.keys(config, shapes) == {"score.weight"}
