"""Checkpoints are read as transformers' own classes read them; what does not fit is known early.

Early is before any weights are downloaded, in `models check` and in a run, by headers alone.
Layouts from public reports are named by their reports; multimodal wrappers score by their text.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForSequenceClassification

from rmaudit.checkpoints import head_detection
from rmaudit.config.model_registry import ModelSpec
from rmaudit.distributed.cost import size_of
from rmaudit.errors import ModelError
from rmaudit.models import scoring_description
from rmaudit.models.checkpoint_doctor import EXACT, examine
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.checkpoint_rows import CheckpointRows
from rmaudit.models.transformers_loader import refuse_misfits
from tests.hub import Hub, serving
from tests.models.loaded import Folders, by_transformers, change, checkpoint, retensor, rows_of
from tests.toys import EXTRA, SIZES, toy_tokenizer

PROMPT = "the love of the city"
VISION: dict[str, dict[str, Any]] = {
    "gemma3": {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
    },
    "qwen3_5": {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": 32,
        "deepstack_visual_indexes": [],
    },
}


def wrapped(folder: Path, kind: str) -> Any:
    """A multimodal classifier with one label, random, saved in a folder with its tokenizer."""
    tokenizer = toy_tokenizer()
    text = {**SIZES, **EXTRA[f"{kind}_text"], "vocab_size": len(tokenizer)}
    text["pad_token_id"] = tokenizer.pad_token_id
    config = AutoConfig.for_model(
        kind, text_config=text, vision_config=VISION[kind], num_labels=1, mm_tokens_per_image=4
    )
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=1 / parameter.shape[-1] ** 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "path"), [("gemma3", "shared prefix"), ("qwen3_5", "expanded cache")]
)
@pytest.mark.filterwarnings("ignore")
def test_a_multimodal_wrapper_scores_texts(tmp_path: Path, kind: str, path: str) -> None:
    """To 1e-4 sd of its class's forward, on the text backbone's own path, at its cost."""
    own = wrapped(tmp_path / "toy", kind)
    model = checkpoint(tmp_path / "toy", dtype="float32")
    answers = [*((i,) for i in range(5, 40)), (7, 8), (9, 10, 11)]
    expected = np.array(by_transformers(own, rows_of(model, PROMPT, answers)))

    scores = model.score(PROMPT, answers)

    assert expected.std() > 0.05
    assert np.abs(scores - expected).max() / expected.std() < EXACT
    assert model.provenance["path"] == path
    assert examine(model, PROMPT, answers=32).ok
    layers = sum(p.numel() for p in own.model.language_model.layers.parameters())
    size = size_of(model)
    assert size is not None
    assert layers < size.passed < layers + 200 < size.parameters


def test_what_fits_is_remembered_by_its_headers(folders: Folders, tmp_path: Path) -> None:
    """A tensor of another shape is refused, though all other files are as they were."""
    folder, cache = shutil.copytree(folders("llama"), tmp_path / "toy"), tmp_path / "cache"
    name = "model.layers.1.mlp.up_proj.weight"

    def looked_at() -> list[Path]:
        found = head_detection.find(ModelSpec("toy", str(folder)), cache)
        refuse_misfits(CheckpointRows(found, cache))
        return [*cache.glob("kept/fits-*.json")]

    (kept,) = looked_at()
    written = kept.stat().st_mtime_ns
    assert [path.stat().st_mtime_ns for path in looked_at()] == [written]
    retensor(folder, lambda tensors: tensors.update({name: tensors[name][:-1]}))

    with pytest.raises(ModelError, match=f"^toy: 1 mismatched keys in .*, first '{name}': "):
        looked_at()


# Layouts from public reports

ANSWERS = [(5,), (6,), (7, 8)]
Tensors = dict[str, Tensor]
Change = Callable[[Tensors], Tensors]


def prefixed(prefix: str) -> Change:
    """Before every name."""
    return lambda tensors: {prefix + name: tensor for name, tensor in tensors.items()}


def compiled(tensors: Tensors) -> Tensors:
    """With layers that were compiled one by one."""
    return {
        name.replace("layers.1.", "layers.1._orig_mod."): tensor for name, tensor in tensors.items()
    }


def added(name: str, *shape: int) -> Change:
    """With one tensor more."""
    return lambda tensors: {**tensors, name: torch.ones(shape)}


def partitioned(tensors: Tensors) -> Tensors:
    """As DeepSpeed's ZeRO-3 leaves them in each process."""
    return {
        name: torch.empty(0) if "layers.1" in name else tensor for name, tensor in tensors.items()
    }


READ = {
    "LLaMA-Factory#10556": added("lm_head.weight", 40, 32),
    "DDP": prefixed("module."),
    "torch.compile": prefixed("_orig_mod."),
    "a merged PEFT model": prefixed("base_model.model."),
    "DDP of a compiled PEFT model": prefixed("module._orig_mod.base_model.model."),
    "compiled layers": compiled,
    "no model.": lambda tensors: {k.removeprefix("model."): t for k, t in tensors.items()},
}
REFUSED = {
    "OpenRLHF#839": (partitioned, "9 tensors in FOLDER are empty, first 'model.layers.1.input_la"),
    "prime-rl#2640": (prefixed("model.model.model."), "no 'score.weight' in FOLDER (Llama"),
    "verl's critic": (added("score.bias", 1), "1 unexpected keys in FOLDER, first 'score.bias'"),
    "a backbone saved within another": (
        lambda tensors: {k.replace("model.", "model.model.model."): t for k, t in tensors.items()},
        "20 missing keys in FOLDER, first 'model.embed_tokens.weight'",
    ),
}


def variant(folder: Path, where: Path, change_of: Change) -> Path:
    """A copy of the folder with other tensors."""
    shutil.copytree(folder, where)
    tensors = change_of(load_file(where / "model.safetensors"))
    save_file(tensors, where / "model.safetensors", {"format": "pt"})
    return where


@pytest.mark.parametrize("kind", ["llama", "qwen3_moe"])
@pytest.mark.parametrize("report", READ)
def test_it_is_read(folders: Folders, tmp_path: Path, kind: str, report: str) -> None:
    """It scores as transformers scores the plain checkpoint, experts fused or not."""
    folder = variant(folders(kind), tmp_path / "toy", READ[report])
    model = checkpoint(folder, dtype="float32")

    said = dict(scoring_description.look(model.spec, tmp_path / "cache", "toy"))
    scores = model.score(PROMPT, ANSWERS)

    assert "can be scored" in said
    expected = by_transformers(folders(kind), rows_of(model, PROMPT, ANSWERS))
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)
    assert np.std(expected) > 0.01


def refused_early(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How `models check` and a run refuse it on a hub, before they download its weights."""
    cache = tmp_path / "cache of the hub"
    spec = ModelSpec("toy", "owner/toy")
    with serving(Hub({"owner/toy": folder}), cache, monkeypatch):
        lines = [*scoring_description.look(spec, tmp_path / "cache", "toy")]
        with pytest.raises(ModelError) as caught:
            Checkpoint(spec, cache=tmp_path / "cache")
    label, said = lines[-1]
    assert label == "refused"
    assert str(caught.value) == f"toy: {said}"
    assert not list(cache.rglob("*.safetensors"))
    (snapshot,) = cache.glob("*/snapshots/*")
    return said.replace(str(snapshot), "FOLDER")


@pytest.mark.parametrize("report", REFUSED)
def test_it_is_refused_before_it_is_downloaded(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    """In a run with the sentence of `models check`."""
    change_of, said = REFUSED[report]
    folder = variant(folders("llama"), tmp_path / "toy", change_of)

    assert refused_early(folder, tmp_path, monkeypatch).startswith(said)


def test_a_pad_id_beyond_the_vocabulary_is_refused_before_the_download(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class cannot be built with it; -1 is none."""
    folder = shutil.copytree(folders("llama"), tmp_path / "toy")
    change(folder / "config.json", pad_token_id=10**5)

    said = refused_early(folder, tmp_path, monkeypatch)

    assert said.startswith("pad_token_id in FOLDER/config.json is 100000, and the vocabulary has ")
    change(folder / "config.json", pad_token_id=-1)
    assert checkpoint(folder).score(PROMPT, ANSWERS).shape == (3,)
