"""docs/published-models.md is what `scripts/published_page.py` writes, and its sizes are right."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from rmaudit.config.model_registry import load_registry
from rmaudit.models import device_placement
from scripts import published_page
from scripts.published_page import CHECKED, MODELS, PAGE, SHAPES, page, section
from tests.hollow import GEMMA_2B, GEMMA_27B, LLAMA_3B, LLAMA_8B, LLAMA_70B

HOLLOW = {
    ("Llama", 3): LLAMA_3B,
    ("Llama", 8): LLAMA_8B,
    ("Llama", 70): LLAMA_70B,
    ("Gemma", 2): GEMMA_2B,
    ("Gemma", 27): GEMMA_27B,
}


def test_the_page_is_written_from_the_registry() -> None:
    """`python -m scripts.published_page` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert published_page.ROOM == device_placement.ROOM


def test_every_model_has_a_short_section() -> None:
    """With each of its notes; and nothing is said of a model that the registry does not have."""
    specs = load_registry(MODELS).models
    assert CHECKED.keys() <= specs.keys()
    text = PAGE.read_text(encoding="utf-8")
    for spec in specs.values():
        if not spec.default:
            lines = "\n".join(section(spec)).splitlines()
            assert len(lines) <= 12
            assert all(line in text for line in (f"## {spec.name}", *spec.notes))


@pytest.mark.parametrize("which", SHAPES, ids=str)
def test_sizes_are_those_of_the_class(which: tuple[str, int]) -> None:
    """As transformers builds the backbone and a plain head."""
    config: Any = AutoConfig.for_model(**HOLLOW[which], num_labels=1)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config)
    shape = SHAPES[which]

    assert shape.passed + shape.embedding == sum(p.numel() for p in model.parameters())
