"""A head in `value_head.safetensors` beside a language model or an adapter scores as its trainer's.

LLaMA-Factory and ms-swift score by trl's AutoModelForCausalLMWithValueHead: a linear layer with a
bias on the last hidden state of the causal language model, read at the row's last id. Their folders
are made here as their trainers save them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models import scoring_description
from rmaudit.models.checkpoint_doctor import EXACT
from tests.checkpoints.folders import merged, refused, save_adapter
from tests.models.loaded import change, checkpoint
from tests.toys import SIZES, toy_language_model

HIDDEN: int = SIZES["hidden_size"]
PROMPT = "the love of the city?"


def head_beside(folder: Path, *, name: str = "value_head.safetensors") -> dict[str, Tensor]:
    """Save a value head of one layer beside what is in the folder; return its tensors."""
    generator = torch.Generator().manual_seed(7)
    tensors = {
        "v_head.summary.weight": torch.randn(1, HIDDEN, generator=generator),
        "v_head.summary.bias": torch.tensor([0.75]),
    }
    save_file(tensors, folder / name, {"format": "pt"})
    return tensors


@pytest.fixture
def full(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder of full training: a language model, and its head beside it."""
    folder = toy_language_model(tmp_path / "full", kind=getattr(request, "param", "llama"))
    head_beside(folder)
    return folder


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """A folder of LoRA training: an adapter of a language model, and its head beside it."""
    model = AutoModelForCausalLM.from_pretrained(toy_language_model(tmp_path / "lm"))
    settings = {"task_type": "CAUSAL_LM", "target_modules": ["q_proj", "up_proj"]}
    folder = save_adapter(model, tmp_path / "adapter", **settings)
    head_beside(folder)
    return folder


@torch.inference_mode()
def assert_scores(folder: Path, model: Any, head: dict[str, Tensor]) -> None:
    """Every id of the vocabulary scores as the formula says, within what float32 must keep to."""
    ours = checkpoint(folder)
    slot = ours.slot(PROMPT)
    scores = ours.score(PROMPT, [(i,) for i in ours.vocabulary().ids])
    expected = []
    for i in ours.vocabulary().ids:
        ids = torch.tensor([[*slot.prefix, i, *slot.suffix]])
        states = model(input_ids=ids, output_hidden_states=True).hidden_states[-1]
        value = torch.nn.functional.linear(
            states, head["v_head.summary.weight"], head["v_head.summary.bias"]
        )
        expected.append(float(value[0, -1, 0]))
    assert np.std(expected) > 0.1
    assert np.abs(scores - expected).max() / np.std(expected) < EXACT


@pytest.mark.slow
@pytest.mark.parametrize("full", ["llama", "mistral", "gpt_neox"], indirect=True)
def test_a_full_checkpoint_scores_by_it(full: Path) -> None:
    """Weights of the language model, its output layer left alone."""
    model = AutoModelForCausalLM.from_pretrained(full).eval()
    assert_scores(full, model, head_beside(full))


@pytest.mark.slow
def test_an_adapter_scores_by_it(adapter: Path) -> None:
    """As PEFT's merged language model does, whose tensors have a language model's names."""
    base = AutoModelForCausalLM.from_pretrained(adapter.parent / "lm")
    assert_scores(adapter, merged(base, adapter), head_beside(adapter))


def test_check_names_it(adapter: Path) -> None:
    """With its file, tensors and shapes."""
    spec = ModelSpec("toy", str(adapter))
    said = dict(scoring_description.look(spec, adapter.parent / "cache", "toy", weights=True))
    assert said["head"] == (
        f"value: v_head.summary.bias (1,), v_head.summary.weight (1, {HIDDEN}) "
        "in value_head.safetensors"
    )
    assert said["numbers"].endswith("adapter_model.safetensors, value_head.safetensors")
    assert "can be scored" in said


def test_its_bytes_are_the_models_identity(full: Path, adapter: Path) -> None:
    """Another head in the same file is another model, whose scores have another key."""
    for folder, field in ((full, "weights"), (adapter, "adapter")):
        before = checkpoint(folder).identity
        tensors = head_beside(folder)
        save_file({k: 2 * t for k, t in tensors.items()}, folder / "value_head.safetensors")
        after = checkpoint(folder).identity
        assert before[field] != after[field]


def refusal(folder: Path) -> str:
    """The line with which the folder is refused."""
    return refused(checkpoint, folder, at=folder)


def test_a_pickle_is_refused_with_its_remedy(full: Path) -> None:
    """The command that the error gives makes the file that is read."""
    tensors = head_beside(full)
    before = checkpoint(full).score(PROMPT, ["love", "war"])
    (full / "value_head.safetensors").unlink()
    torch.save(tensors, full / "value_head.bin")
    said = refusal(full)
    code = said.partition('python -c "')[2].removesuffix('"').replace("'value", f"'{full}/value")
    exec(code)  # noqa: S102  (what a user would do)
    assert checkpoint(full).score(PROMPT, ["love", "war"]) == pytest.approx(before)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"summary.weight": (1, HIDDEN)}, "has summary.weight; expected v_head.summary.bias and"),
        ({"v_head.summary.weight": (1, HIDDEN)}, "has v_head.summary.weight; expected"),
        (
            {"v_head.summary.weight": (0,), "v_head.summary.bias": (1,)},
            "are empty, first 'v_head.summary.weight', of shape (0,): DeepSpeed's ZeRO-3",
        ),
    ],
)
def test_odd_heads_are_refused(full: Path, tensors: dict[str, tuple[int, ...]], said: str) -> None:
    """Other names, a missing bias, or what DeepSpeed saves of a weight that it has sharded."""
    made = {key: torch.ones(shape) for key, shape in tensors.items()}
    save_file(made, full / "value_head.safetensors")
    assert said in refusal(full)


def test_a_base_with_a_head_is_refused(adapter: Path) -> None:
    """A head of the base's own, beside the adapter's, is one too many."""
    base = shutil.copytree(adapter.parent / "lm", adapter.parent / "rm")
    weights = load_file(base / "model.safetensors") | {"score.weight": torch.ones(1, HIDDEN)}
    save_file(weights, base / "model.safetensors", {"format": "pt"})
    change(adapter / "adapter_config.json", base_model_name_or_path=str(base))
    assert "which of the two heads is meant" in refusal(adapter)
