"""LoRA on experts is merged into each expert's own weights, or refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints.adapters import (
    PROMPT,
    Make,
    configure,
    refusal,
    rewrite,
    said,
)
from tests.models.loaded import checkpoint
from tests.toys import toy_checkpoint

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def experts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model of experts, and an adapter with LoRA for each, as of transformers 4."""
    home = tmp_path_factory.mktemp("experts")
    base = load_file(toy_checkpoint(home / "base", kind="qwen3_moe") / "model.safetensors")
    saved: dict[str, torch.Tensor] = {}
    for name, tensor in base.items():
        if ".experts." in name:
            draw = torch.Generator().manual_seed(len(saved))
            parts = {"A": (2, tensor.shape[1]), "B": (tensor.shape[0], 2)}
            for part, shape in parts.items():
                key = f"base_model.model.{name.replace('.weight', f'.lora_{part}.weight')}"
                saved[key] = 0.3 * torch.randn(shape, generator=draw)
    (home / "adapter").mkdir()
    save_file(saved, home / "adapter" / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "peft_version": "0.17.0"}
    settings["target_modules"] = ["gate_proj", "up_proj", "down_proj"]
    settings["base_model_name_or_path"] = str(home / "base")
    (home / "adapter" / "adapter_config.json").write_text(json.dumps(settings))
    return home


@pytest.mark.slow
def test_lora_for_each_expert_is_merged(experts: Path, tmp_path: Path) -> None:
    """Into each expert's own weights, though transformers 5 has them fused (transformers#42491)."""
    merged = shutil.copytree(experts / "base", tmp_path / "merged")
    tensors = load_file(merged / "model.safetensors")
    saved = load_file(experts / "adapter" / "adapter_model.safetensors")
    for name in [name for name in tensors if ".experts." in name]:
        key = f"base_model.model.{name.removesuffix('.weight')}"
        tensors[name] += 3 * saved[f"{key}.lora_B.weight"] @ saved[f"{key}.lora_A.weight"]
    save_file(tensors, merged / "model.safetensors", {"format": "pt"})
    answers = [(5,), (6,), (7,)]

    found, expected, base = (
        checkpoint(folder, dtype="float32").score(PROMPT, answers)
        for folder in (experts / "adapter", merged, experts / "base")
    )

    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert np.abs(found - base).max() > 0.01
    assert "can be scored" in said(experts / "adapter")


@pytest.mark.parametrize(
    ("settings", "lost", "text"),
    [
        ({"use_rslora": True}, "", "has use_rslora, and LoRA for single experts, which "),
        ({"rank_pattern": {"down_proj": 2}}, "", "has rank_pattern, and LoRA for single experts, "),
        ({"target_modules": ["gate_proj", "down_proj"]}, "up_proj", "It has LoRA for single exper"),
        ({"target_modules": ["q_proj", "down_proj"]}, "", "It has LoRA for single experts ('base_"),
    ],
    ids=["rslora", "ranks", "half of what is fused", "others"],
)
def test_lora_for_experts_that_peft_does_not_fuse_is_refused(
    experts: Path, tmp_path: Path, settings: dict[str, Any], lost: str, text: str
) -> None:
    """In `models check`, and not as another base's."""
    folder = configure(shutil.copytree(experts / "adapter", tmp_path / "adapter"), **settings)
    if lost:
        drop = lambda tensors: [tensors.pop(key) for key in list(tensors) if lost in key]  # noqa: E731
        rewrite(folder / "adapter_model.safetensors", drop)

    refused = said(folder)["refused"]

    assert text in refused
    assert "Correct base_model_name_or_path" not in refused
    assert f"toy: {refused}".replace(str(folder), "FOLDER") == refusal(folder)


@pytest.mark.parametrize(
    ("kind", "release", "read"),
    [
        ("qwen3_moe", "0.19.1", True),
        ("qwen3_moe", "0.21.0", True),
        ("qwen3_moe", "0.19.1.dev0", False),
        ("qwen3_moe", "0.19.0", False),
        ("qwen3_moe", "0.18.1", False),
        ("qwen3_moe", None, False),
        ("gpt_oss", None, True),
        ("gpt_oss", "0.18.1", True),
        ("gpt_oss", "0.19.0", False),
    ],
)
def test_lora_of_fused_experts_is_read_in_the_order_of_its_release(
    bases: Path, make: Make, kind: str, release: str | None, read: bool
) -> None:
    """PEFT turned the two factors in 0.19.1 (peft#3112, #3165), where experts' outputs come first.

    Where inputs come first, as in gpt-oss, only 0.19.0 had them otherwise.
    """
    if not (bases / kind).exists():
        toy_checkpoint(bases / kind, kind=kind)
    folder = configure(make(kind, target_parameters=["experts.down_proj"]), peft_version=release)

    found = said(folder)

    assert ("can be scored" in found) is read
    if not read:
        assert "has target_parameters, LoRA on fused experts (" in found["refused"]
        assert "mlp.experts.down_proj), saved by " in found["refused"]
        assert f"toy: {found['refused']}".replace(str(folder), "FOLDER") == refusal(folder)
