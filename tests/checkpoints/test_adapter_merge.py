"""An adapter of a multimodal model or of its text model: merged, or told whose names it has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import adapter_merge
from rmaudit.errors import ModelError
from tests.checkpoints.folders import merged, save_adapter
from tests.models.loaded import by_transformers, change, checkpoint, rows_of
from tests.models.test_transformers_loader import wrapped

PROMPT, ANSWERS = "the love of the city?", [(5,), (9,), (40,), (80,)]
PROJECTIONS = ["q_proj", "v_proj", "up_proj"]
Families = dict[str, Path]


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
    with pytest.raises(ModelError) as caught:
        model.score(PROMPT, ANSWERS)
    names = {"whole": "model.language_model.layers", "text": "model.layers"}
    assert f"names the layers {names[adapter]}, and its base {names[base]}: " in str(caught.value)
    assert "Merge it where it was trained" in str(caught.value)
    assert "Correct base_model_name_or_path" not in str(caught.value)


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
