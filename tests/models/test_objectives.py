"""Objectives score as their model's own formula says.

The formulas are written here, on transformers' own states of each whole row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForSequenceClassification

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_doctor import EXACT, examine
from rmaudit.models.checkpoint_model import Checkpoint
from tests.models.loaded import change, retensor, rows_of
from tests.models.test_families import FAMILIES, PROMPT, homes, opened, pattern
from tests.published_formulas import outputs
from tests.toys import SIZES, toy_checkpoint

__all__ = ["homes", "pattern"]  # fixtures

ANSWERS: list[tuple[int, ...]] = [*((i,) for i in range(5, 40)), (7, 8), (9, 10, 11)]
LABELS = ("helpful", "honest", "safe")
NAMES = ("ArmoRM", "QRM-Llama", "QRM-Gemma", "URM")


def several_labels(folder: Path, kind: str = "llama", **settings: Any) -> Path:
    """An ordinary sequence classifier with three labels, as transformers saves it."""
    toy_checkpoint(folder, kind=kind, **settings)
    head = torch.randn(3, SIZES["hidden_size"], generator=torch.Generator().manual_seed(5))
    retensor(folder, lambda tensors: tensors.update({"score.weight": head}))
    numbers = {name: i for i, name in enumerate(LABELS)}
    change(folder / "config.json", label2id=numbers, id2label={i: n for n, i in numbers.items()})
    return folder


def objective(folder: Path, name: str, **settings: Any) -> Checkpoint:
    """One objective of the checkpoint in a folder."""
    spec = ModelSpec(f"toy#{name}", str(folder), objective=name, dtype="float32", **settings)
    return Checkpoint(spec, cache=folder.parent / "cache")


@torch.inference_mode()
def by_formula(folder: Path, name: str, model: Checkpoint) -> Any:
    """All outputs of each row, (answers, outputs), as the published class returns them.

    ArmoRM's are not transformed.
    """
    backbone = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tensors, rows = load_file(folder / "model.safetensors"), rows_of(model, PROMPT, ANSWERS)
    states = [backbone(input_ids=torch.tensor([row])).last_hidden_state[0, -1] for row in rows]
    found = torch.stack([outputs(tensors, state, FAMILIES[name].config) for state in states])
    return found @ tensors["reward_transform_matrix"] if name == "QRM-Llama" else found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*position_ids:FutureWarning")
def test_an_objective_scores_as_its_published_class_says(
    homes: Callable[[str], Path], name: str
) -> None:
    """Each of a family, to 1e-4 sd; it is another number than the reward that they make."""
    folder = homes(name)
    expected = by_formula(folder, name, objective(folder, "0")).numpy()
    combined = opened(folder, FAMILIES[name]).score(PROMPT, ANSWERS)

    for place in range(expected.shape[1]):
        own = objective(folder, str(place)).score(PROMPT, ANSWERS)
        sd = expected[:, place].std()
        assert np.abs(own - expected[:, place]).max() / sd < EXACT
        assert np.abs(own - combined).max() / sd > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "gpt_neox"])
def test_a_label_scores_as_transformers_logit_of_it(tmp_path: Path, kind: str) -> None:
    """Of a classifier with several, by its forward; by name and by number alike."""
    folder = several_labels(tmp_path / "toy", kind)
    classifier = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    for place, name in enumerate(LABELS):
        model = objective(folder, name)
        with torch.inference_mode():
            rows = [torch.tensor([row]) for row in rows_of(model, PROMPT, ANSWERS)]
            expected = np.array([float(classifier(row).logits[0, place]) for row in rows])

        assert np.abs(model.score(PROMPT, ANSWERS) - expected).max() / expected.std() < EXACT
        assert model.identity == objective(folder, str(place)).identity
        assert examine(model, PROMPT, answers=32).ok


def test_an_objective_has_a_key_of_its_own_and_the_whole_keeps_its_own(
    homes: Callable[[str], Path],
) -> None:
    """The objective's number is a part of the identity, and nothing else of it changes."""
    folder = homes("URM")
    whole = opened(folder, FAMILIES["URM"])
    for place in ("0", "2"):
        one = objective(folder, place)
        assert one.identity == {**whole.identity, "objective": place}
    assert "objective" not in whole.identity
