"""What is found of an adapter before its base is downloaded, and what its card says of that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.checkpoints.adapters import (
    CLASSIFIER,
    PROMPT,
    Make,
    configure,
    refusal,
    rewrite,
    said,
)
from tests.hub import COMMIT, Hub, serving
from tests.models.loaded import change, checkpoint

Patch = pytest.MonkeyPatch


@pytest.fixture
def hub(bases: Path, tmp_path: Path, monkeypatch: Patch) -> Iterator[Hub]:
    """A hub with the language model, a quantized one and one of pickles."""
    quantized, pickled = (
        shutil.copytree(bases / "lm", tmp_path / "hub" / name) for name in ("quantized", "pickled")
    )
    change(quantized / "config.json", quantization_config={"quant_method": "gptq"})
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    models = {"lm": bases / "lm", "quantized": quantized, "pickled": pickled}
    served = Hub({f"owner/{name}": folder for name, folder in models.items()})
    with serving(served, tmp_path / "cache of the hub", monkeypatch) as found:
        yield found


GROUPED = "base_model.model.model.layers.0.mlp.experts.lora_"
SHAPES = {"gate_and_up_A": (4, 32, 2), "gate_and_up_B": (4, 2, 32), "down_A": (4, 16, 2)}


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("base", "settings", "grouped", "text"),
    [
        ("lm", {"target_modules": ["q_proj"]}, False, "the head was never saved: "),
        ("quantized", CLASSIFIER, False, "its base BASE is quantized, and merging an adapter "),
        ("pickled", CLASSIFIER, False, "its base owner/pickled: no *.safetensors in owner/pickled"),
        # NeMo Automodel saves the LoRA of all experts of a layer in one (its issue 1814).
        ("lm", CLASSIFIER, True, f"3 tensors of ADAPTER, such as '{GROUPED}down_A' (4, 16, 2), ar"),
    ],
)
def test_an_adapter_is_refused_before_its_base_is_downloaded(  # noqa: PLR0917 (cases)
    make: Make, tmp_path: Path, base: str, settings: Any, grouped: bool, text: str
) -> None:
    """In a run and in `models check`, with the same reason."""
    folder = configure(make("lm", **settings), base_model_name_or_path=f"owner/{base}")
    cache, path = tmp_path / "cache of the hub", folder / "adapter_model.safetensors"
    snapshot = cache / f"models--owner--{base}" / "snapshots" / COMMIT
    if grouped:
        more = {GROUPED + name: torch.ones(shape) for name, shape in SHAPES.items()}
        rewrite(path, lambda tensors: tensors.update(more))

    looked, ran = said(folder)["refused"], refusal(folder)

    assert f"toy: {looked}".replace(str(folder), "FOLDER") == ran
    assert looked.startswith(text.replace("BASE", str(snapshot)).replace("ADAPTER", str(path)))
    assert not list(cache.rglob("*.safetensors"))
    assert not list(cache.rglob("*.bin"))


CARD = """---
base_model: {base}
---
The following `bitsandbytes` quantization config was used during training:
- load_in_8bit: {eight}
- load_in_4bit: {four}
- bnb_4bit_quant_type: {kind}
"""


@pytest.mark.parametrize(
    ("card", "told", "nf4"),
    [
        (CARD.format(base="a/b", eight=False, four=True, kind="nf4"), "load_in_4bit: True", True),
        (CARD.format(base="a/b", eight=False, four=True, kind="fp4"), "load_in_4bit: True", False),
        (CARD.format(base="a/b", eight=True, four=False, kind="fp4"), "load_in_8bit: True", False),
        ("---\nbase_model: a/b-bnb-4bit\n---\n", "base_model: a/b-bnb-4bit", True),
        (CARD.format(base="a/b", eight=False, four=False, kind="fp4"), "", False),
        (None, "", False),
    ],
    ids=["nf4", "fp4", "8 bits", "base", "neither", "no card"],
)
def test_a_base_that_was_quantized_in_training_is_told(
    make: Make, card: str | None, told: str, nf4: bool, recwarn: pytest.WarningsRecorder
) -> None:
    """As the adapter's card says; its rewards in training were others (unsloth-zoo PR 810)."""
    folder = make("lm", **CLASSIFIER)
    (folder / "README.md").unlink()
    if card is not None:
        (folder / "README.md").write_text(card)

    adapter = checkpoint(folder).adapter

    assert adapter is not None
    assert (adapter.base_in_training, adapter.base_was_nf4) == (told, nf4)
    warned = [str(each.message) for each in recwarn if "quantized base" in str(each.message)]
    assert len(warned) == bool(told)
    assert all(f"{told!r} in {folder / 'README.md'}" in text for text in warned)
    assert ("trained on" in said(folder)) == bool(told)


@pytest.mark.slow
@pytest.mark.parametrize("on_hub", [False, True], ids=["folder", "hub"])
def test_an_adapter_whose_base_is_not_here(
    make: Make, hub: Hub, tmp_path: Path, on_hub: bool
) -> None:
    """By the headers on the hub, at its revision; a run then downloads it; a pickle is named."""
    folder = configure(make("lm", **CLASSIFIER), base_model_name_or_path="owner/lm")
    hub.models["owner/adapter"] = folder
    where = "owner/adapter" if on_hub else str(folder)

    found = said(where)

    assert found["base"] == f"owner/lm at {COMMIT}"
    assert found["base weights"] == "not here yet; the first audit downloads them"
    assert found["head"] == "linear: score.weight (1, 32)"
    assert found["can be scored"] == "pytest audits --model toy"
    assert not list((tmp_path / "cache of the hub").rglob("*.safetensors"))
    if not on_hub:
        model = checkpoint(folder)
        assert np.isfinite(model.score(PROMPT, ["love"])).all()
        assert model.identity["base_revision"] == COMMIT
        assert "base weights" not in said(folder)
        assert "(RevisionNotFoundError: " in refusal(configure(folder, revision="v1.0"))
        return
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    text = said(where)["refused"]
    assert text.startswith("no adapter_model.safetensors in owner/adapter (only adapter_model.bin")
    assert text.endswith("model.save_pretrained(FOLDER) writes safetensors")
