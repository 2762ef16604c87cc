"""A LoRA adapter scores as the model that PEFT merges, whole; a base may be rounded before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import adapter_merge
from rmaudit.models.checkpoint_model import Checkpoint
from tests.checkpoints.adapters import (
    CLASSIFIER,
    HEAD,
    PROMPT,
    SIZE,
    Make,
    refusal,
    rewrite,
    said,
)
from tests.checkpoints.folders import merged, refused, save_adapter
from tests.models.loaded import by_transformers, change, checkpoint, rows_of
from tests.models.test_transformers_loader import wrapped
from tests.toys import toy_checkpoint, toy_tokenizer

Patch = pytest.MonkeyPatch


ANSWERS = [(5,), (9,), (40,), (80,)]
PROJECTIONS = ["q_proj", "v_proj", "up_proj"]
Families = dict[str, Path]


@torch.inference_mode()
def merged_scores(folder: Path, base: Path, model: Checkpoint) -> list[float]:
    """What PEFT's own merged model gives every id of the vocabulary, row by row."""
    own: Any = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    rows = model.rows.size
    if rows != own.config.vocab_size:
        own.resize_token_embeddings(rows)
    model_of_peft = merged(own, folder)
    model_of_peft.config.pad_token_id = toy_tokenizer().pad_token_id
    slot = model.slot(PROMPT)
    ids = [[*slot.prefix, i, *slot.suffix] for i in model.vocabulary().ids]
    return [model_of_peft(input_ids=torch.tensor([row])).logits.item() for row in ids]


def assert_merged(folder: Path, base: Path, **settings: Any) -> Checkpoint:
    """Every id scores as PEFT's merged model scores it."""
    model = checkpoint(folder, **settings)
    scores = model.score(PROMPT, [(i,) for i in model.vocabulary().ids])
    expected = merged_scores(folder, base, model)
    assert np.std(expected) > 0.01
    if base.name == "rm":  # a language model has no scores of its own
        assert np.abs(checkpoint(base).score(PROMPT, [(5,), (6,)]) - scores[5:7]).max() > 1e-3
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "settings"),
    [
        ("lm", CLASSIFIER),
        ("rm", CLASSIFIER),
        ("lm", {"modules_to_save": ["score"], "target_modules": ["k_proj", "down_proj"]}),
        ("lm", {**CLASSIFIER, "use_dora": True}),
        ("lm", {**CLASSIFIER, "use_rslora": True, "rank_pattern": {"v_proj": 2}}),
        ("rm", {**CLASSIFIER, "lora_bias": False, "layers_to_transform": [1]}),
        ("rm", {**CLASSIFIER, "trainable_token_indices": [5, 6]}),
        ("rm", {"modules_to_save": ["score", "embed_tokens"], "target_modules": "all-linear"}),
        ("rm", {"target_modules": ["q_proj"]}),  # the base's head serves it
        ("rm", {"target_modules": ["q_proj", "score"]}),  # or with a LoRA merged into it
    ],
    ids=range(10),
)
def test_it_scores_as_its_merged_model(
    make: Make, bases: Path, base: str, settings: dict[str, Any]
) -> None:
    """On a language model, where the head is the adapter's alone, and on a reward model."""
    assert_merged(make(base, **settings), bases / base)


@pytest.mark.slow
def test_bfloat16_is_merged_in_bfloat16(make: Make, bases: Path) -> None:
    """The weights are bit for bit those of PEFT's merged model in that dtype; the head is not.

    No second copy is written, there or in the cache, and nothing is in training mode.
    """
    folder = make("lm", **CLASSIFIER)
    before = {path: path.stat().st_mtime_ns for path in bases.rglob("*")}
    own: Any = AutoModelForSequenceClassification.from_pretrained(
        bases / "lm", num_labels=1, dtype=torch.bfloat16
    )
    theirs = merged(own, folder).model.state_dict()

    loaded = checkpoint(folder, dtype="bfloat16").weights((1, 2), ())

    ours = loaded.model.model.state_dict()
    assert all(torch.equal(value, theirs[key]) for key, value in ours.items())
    saved = load_file(folder / "adapter_model.safetensors")["base_model.model.score.weight"]
    assert torch.equal(loaded.scorer.head.vector, saved[0])  # type: ignore[attr-defined]
    assert {path: path.stat().st_mtime_ns for path in bases.rglob("*")} == before
    assert not list(folder.parent.rglob("model*.safetensors"))
    assert not any(module.training for module in loaded.model.modules())
    assert not any("lora" in name for name, _ in loaded.model.named_modules())


@pytest.mark.slow
@pytest.mark.parametrize("rows", [SIZE + 8, SIZE - 1])
@pytest.mark.filterwarnings("ignore:.*have no row in the embedding:UserWarning")
def test_a_resized_embedding_comes_with_the_adapter(make: Make, bases: Path, rows: int) -> None:
    """Larger or smaller than its base's; ids go as far as it has rows."""
    model = assert_merged(make("lm", rows=rows, **CLASSIFIER), bases / "lm")

    assert model.vocabulary().ids == tuple(range(min(rows, SIZE)))
    assert model.rows.size == rows


def test_the_pad_id_is_the_adapters_tokenizers(make: Make, bases: Path) -> None:
    """The base's config.json is from before the trainer chose one; without a tokenizer, that is."""
    folder = make("lm", **CLASSIFIER)
    tokenizer = toy_tokenizer(pad="<|end|>")
    tokenizer.save_pretrained(folder)

    assert checkpoint(folder).rows.pad == tokenizer.pad_token_id != toy_tokenizer().pad_token_id
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert checkpoint(folder).rows.pad == toy_tokenizer().pad_token_id


@pytest.mark.parametrize(
    ("settings", "part", "kind"),
    [
        ({}, ".lora_A", "missing"),
        ({}, "layers.7", "unexpected"),
        ({"modules_to_save": ["score"]}, "score.weight", "missing"),
        ({"bias": "all"}, "bias", "missing"),
        ({"trainable_token_indices": [5, 6]}, "trainable_tokens", "missing"),
    ],
    ids=["LoRA", "a layer more", "head", "bias", "tokens"],
)
def test_no_part_is_left_out(
    make: Make, bases: Path, settings: dict[str, Any], part: str, kind: str
) -> None:
    """PEFT warns of missing LoRA tensors only; the base's own would be scored in their place."""
    toy_checkpoint(bases / "biased", kind="qwen2", seed=4)
    folder = make("biased", **CLASSIFIER, **settings)
    checkpoint(folder).score(PROMPT, ["love"])
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    lost = sorted(key for key in tensors if part in key and (".lora_" not in key or "lora" in part))
    if kind == "unexpected":
        first = min(tensors)
        lost = [first.replace("layers.0", part)]
        tensors[lost[0]] = tensors[first].clone()
    save_file({key: t for key, t in tensors.items() if kind != "missing" or key not in lost}, path)

    text = refusal(folder)

    assert f"{len(lost)} {kind} keys in FOLDER/adapter_model.safetensors, first {lost[0]!r}" in text
    assert f"for its base {bases / 'biased'}: " in text


@pytest.mark.slow
def test_other_names_of_the_same_tensors_are_read(make: Make) -> None:
    """As PEFT reads them by its own (transformers#26160); `test_tensor_names` has more of them."""
    folder = make("lm", **CLASSIFIER)
    expected = checkpoint(folder).score(PROMPT, [(5,), (6,)])
    rewrite(folder / "adapter_model.safetensors", by_other_names)

    assert "can be scored" in said(folder)
    found = checkpoint(folder).score(PROMPT, [(5,), (6,)])
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def by_other_names(tensors: Any) -> None:
    """As a compiled model under DDP saves them, with the untrained head beside the trained one."""
    part = "score.{}.weight".format
    tensors["base_model.model." + part("original_module")] = torch.zeros(1, 32)
    tensors["base_model.model." + part("modules_to_save.default")] = tensors.pop(HEAD)
    tensors.update({f"module._orig_mod.{key}": tensors.pop(key) for key in list(tensors)})


# A multimodal model, or its text model


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Families:
    """A Qwen3.5 with its vision tower, its text model alone, and one adapter in the names of each.

    All have the same numbers.
    """
    home = tmp_path_factory.mktemp("qwen")
    names = ("whole", "text", "adapter of whole", "adapter of text")
    found = {name: home / name for name in names}
    model = wrapped(found["whole"], "qwen3_5")
    targets = rf"^.*language_model(?=\.).*\.({'|'.join(PROJECTIONS)})$"  # as ms-swift writes them
    save_adapter(model, found["adapter of whole"], task_type="SEQ_CLS", target_modules=targets)
    for name in ("whole", "adapter of whole"):
        folder = shutil.copytree(found[name], found[name.replace("whole", "text")])
        (path,) = folder.glob("*model.safetensors")
        tensors = {k.replace(".language_model", ""): v for k, v in load_file(path).items()}
        save_file({k: v for k, v in tensors.items() if "visual" not in k}, path, {"format": "pt"})
    change(found["adapter of text"] / "adapter_config.json", target_modules=PROJECTIONS)
    said = json.loads((found["whole"] / "config.json").read_text())["text_config"]
    kind = {"architectures": ["Qwen3_5TextForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    (found["text"] / "config.json").write_text(json.dumps({**said, **kind}))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ["whole", "text"])
@pytest.mark.parametrize("base", ["whole", "text"])
def test_an_adapter_of_a_multimodal_model(
    made: Families, tmp_path: Path, adapter: str, base: str
) -> None:
    """On a base of its own class it scores as PEFT's merged model; on the other it is refused.

    The base is the right one then, and no other name of it would help (modelscope/ms-swift#8477).
    """
    folder = shutil.copytree(made[f"adapter of {adapter}"], tmp_path / "adapter")
    change(folder / "adapter_config.json", base_model_name_or_path=str(made[base]))
    model = checkpoint(folder)

    if adapter == base:
        own: Any = AutoModelForSequenceClassification.from_pretrained(made[base])
        theirs = by_transformers(merged(own, folder), rows_of(model, PROMPT, ANSWERS))
        scores = model.score(PROMPT, ANSWERS)
        assert scores.tolist() == pytest.approx(theirs, abs=1e-4 * scores.std())
        return
    text = refused(model.score, PROMPT, ANSWERS)
    names = {"whole": "model.language_model.layers", "text": "model.layers"}
    assert f"names the layers {names[adapter]}, and its base {names[base]}: " in text
    assert "Merge it where it was trained" in text
    assert "Correct base_model_name_or_path" not in text


# Rounding the base


def test_each_weight_becomes_the_nearest_of_sixteen_numbers() -> None:
    """Of its block of 64, whose largest stays; a last block may be shorter, or all zeros."""
    weight = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    weight[2:4] = 0
    numbers = torch.tensor(adapter_merge._NUMBERS)

    found = adapter_merge.rounded(weight)

    for block, new in zip(weight.flatten().split(64), found.flatten().split(64), strict=True):
        scaled = numbers * block.abs().max()
        nearest = (block[:, None] - scaled).abs().argmin(dim=1)
        assert torch.allclose(new, scaled[nearest])
        assert new[block.abs().argmax()] == block[block.abs().argmax()]
    assert torch.allclose(adapter_merge.rounded(found), found)


def test_embeddings_and_layers_that_give_outputs_stay() -> None:
    """As bitsandbytes leaves them; other linear layers change."""
    layers = {name: torch.nn.Linear(64, 2) for name in ("q_proj", "score", "lm_head")}
    model = torch.nn.ModuleDict({**layers, "embed_tokens": torch.nn.Embedding(4, 64)})
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    adapter_merge.round_layers(model)

    after = model.state_dict()
    assert [k for k in before if not torch.equal(before[k], after[k])] == ["q_proj.weight"]
