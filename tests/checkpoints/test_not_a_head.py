"""Models whose reward is no head's on one conversation are refused by what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rmaudit.checkpoints import head_detection, heads
from rmaudit.checkpoints.checkpoint_source import Folder
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from tests import internlm2
from tests.checkpoints.folders import refused

INTERNLM2 = {"architectures": ["InternLM2ForRewardModel"], "model_type": "internlm2"}
CASES: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    (INTERNLM2, "internlm/POLAR-7B", ("POLAR", "reference answer", "@rmaudit.scorer")),
    (INTERNLM2, "/models/polar-1_8b", ("POLAR", "reference answer")),
    (INTERNLM2 | {"_name_or_path": "/x/RM_PT_internlm2_5_7b_hf"}, "mine", ("POLAR",)),
    ({"architectures": ["LlamaSARM"]}, "x/y", ("sparse autoencoder", "@rmaudit.scorer")),
    ({"sae_latent_size": 65536}, "x/y", ("SARM",)),
    ({"architectures": ["Qwen2ForProcessRewardModel"]}, "x/y", ("each step", "outcome reward")),
    ({"architectures": ["SkyworkPRM"]}, "x/y", ("process reward model",)),
    ({"architectures": ["DebertaV2PairRM"]}, "x/y", ("which of two answers", "@rmaudit.scorer")),
    ({"cand1_prefix_id": 128001}, "x/y", ("pairwise",)),
]


@pytest.mark.parametrize(("config", "source", "named"), CASES)
def test_it_says_what_the_model_is(
    config: dict[str, Any], source: str, named: tuple[str, ...]
) -> None:
    """And what can have its rewards."""
    text = refused(heads.refuse_others, config, source, model="toy")

    assert [part for part in named if part not in text] == []


@pytest.mark.parametrize("source", ["internlm/internlm2-7b-reward", "/home/polaris/polar"])
def test_others_pass(source: str) -> None:
    """InternLM2's own, and a folder that is called so by chance."""
    heads.refuse_others(internlm2.CONFIG, source, model="toy")
    heads.refuse_others({"architectures": ["LlamaForSequenceClassification"]}, source, model="toy")


def test_it_is_refused_by_config_json_alone(tmp_path: Path) -> None:
    """No header is read, so pickles and missing weights do not come first."""
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["DebertaV2PairRM"]}))
    spec = ModelSpec("toy", str(tmp_path))

    with pytest.raises(ModelError, match="pairwise"):
        head_detection.look(Folder("toy", tmp_path), spec, tmp_path)
