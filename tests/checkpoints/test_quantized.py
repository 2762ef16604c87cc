"""Quantized weights that models.yaml asks for are scored as they are, beside a head that is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.checkpoints.folders import refused
from tests.models.loaded import change, checkpoint
from tests.toys import toy_checkpoint

BLOCK = 16
ANSWERS = [(i,) for i in range(40)]
FP8 = {
    "quant_method": "fp8",
    "activation_scheme": "dynamic",
    "weight_block_size": [BLOCK, BLOCK],
    "modules_to_not_convert": ["score"],
}

# With a GPU transformers runs fp8 kernels; without one it widens the weights, which is exact.
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="compares with widened weights")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A checkpoint in blocks of fp8, and the same numbers in float32."""
    wide = toy_checkpoint(tmp_path / "wide")
    tensors = load_file(wide / "model.safetensors")
    blocks = {key: _blocks(value) for key, value in tensors.items() if "_proj" in key}
    narrow = shutil.copytree(wide, tmp_path / "fp8")
    scales = {f"{key}_scale_inv": scale for key, (_, scale) in blocks.items()}
    kept = tensors | {key: value for key, (value, _) in blocks.items()} | scales
    save_file(kept, narrow / "model.safetensors", {"format": "pt"})
    change(narrow / "config.json", quantization_config=FP8)
    same = {key: _widened(value, scale) for key, (value, scale) in blocks.items()}
    save_file(tensors | same, wide / "model.safetensors", {"format": "pt"})
    return narrow, wide


def _blocks(weight: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = weight.shape
    blocks = weight.reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)
    scale = blocks.abs().amax((1, 3)) / 448
    return (blocks / scale[:, None, :, None]).reshape(rows, columns).to(torch.float8_e4m3fn), scale


def _widened(weight: Tensor, scale: Tensor) -> Tensor:
    return weight.float() * scale.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)


@pytest.mark.filterwarnings("ignore")
def test_quantized_weights_score_as_the_same_numbers(folders: tuple[Path, Path]) -> None:
    """Those of the same numbers in float32, and their slopes; not of the weights from before."""
    found, expected = checkpoint(folders[0], quantized=True), checkpoint(folders[1])
    scores, same = (model.score("the city?", ANSWERS) for model in (found, expected))
    slopes, alike = (
        model.gradient("the city?", [(7, 8), (9, 10)]).slopes for model in (found, expected)
    )

    assert np.abs(scores - same).max() < 0.02 * same.std()
    assert np.abs(slopes - alike).max() < 0.02 * alike.std()


def test_a_quantized_head_is_refused(folders: tuple[Path, Path]) -> None:
    """Its numbers mean nothing without their scale."""
    narrow, _ = folders
    tensors = load_file(narrow / "model.safetensors")
    tensors["score.weight"] = tensors["score.weight"].to(torch.int8)
    save_file(tensors, narrow / "model.safetensors", {"format": "pt"})

    text = refused(
        lambda: checkpoint(narrow, quantized=True).score("the city?", ANSWERS), at=narrow
    )

    assert text.startswith("toy: 'score.weight' in FOLDER is of I8, allowed: F64, F32, F16, BF16")
    assert "The head is quantized too" in text
    assert 'modules_to_not_convert=["score"]' in text
