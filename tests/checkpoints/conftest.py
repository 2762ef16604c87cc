"""Bases and adapters of them, made by PEFT, their tensors drawn at random so that they matter."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from tests.checkpoints.adapters import SIZE, Make
from tests.checkpoints.folders import save_adapter
from tests.toys import toy_checkpoint


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `rm`, a reward model, and `lm`, a language model; tests leave both alone."""
    home = tmp_path_factory.mktemp("bases")
    toy_checkpoint(home / "rm", seed=1)
    shutil.copytree(home / "rm", home / "lm")
    config = AutoModelForSequenceClassification.from_pretrained(home / "rm").config
    torch.manual_seed(2)
    AutoModelForCausalLM.from_config(config).save_pretrained(home / "lm")
    return home


@pytest.fixture
def make(bases: Path, tmp_path: Path) -> Make:
    """An adapter of a base, to be changed: `make("lm", **settings of LoraConfig)`."""

    def go(base: str, *, rows: int = SIZE, tokenizer: bool = True, **settings: Any) -> Path:
        name = hashlib.sha256(repr((base, rows, settings)).encode()).hexdigest()
        if not (bases / name).exists():
            save_adapter(model_of(base, rows, settings), bases / name, **settings)
        without = None if tokenizer else shutil.ignore_patterns("tokenizer*", "*.jinja")
        return shutil.copytree(bases / name, tmp_path / "adapter", ignore=without)

    def model_of(base: str, rows: int, settings: dict[str, Any]) -> Any:
        torch.manual_seed(3)
        language = settings.get("task_type") == "CAUSAL_LM"
        kind = AutoModelForCausalLM if language else AutoModelForSequenceClassification
        labels = {} if language else {"num_labels": 1}
        model: Any = kind.from_pretrained(bases / base, **labels)
        if rows != SIZE:
            model.resize_token_embeddings(rows)
        return model

    return go
