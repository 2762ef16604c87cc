"""Layouts of a tokenizer at hand, which no folder has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmaudit.config.model_registry import ModelSpec
from rmaudit.layout.encoder_pair import PairLayout
from rmaudit.layout.layouts import ChatLayout

TOY = ModelSpec("toy", "toy")


def chat(tokenizer: Any) -> ChatLayout:
    """By the tokenizer's chat template."""
    made = ChatLayout(Path(), TOY)
    made.tokenizer = tokenizer
    return made


def pair(tokenizer: Any) -> PairLayout:
    """Of pairs of texts."""
    made = PairLayout(Path(), TOY)
    made.tokenizer = tokenizer
    return made
