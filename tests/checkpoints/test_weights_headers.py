"""The weights are those that transformers reads: one file, or what the index names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.weights_headers import Header
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_model import Checkpoint
from tests.checkpoints.folders import refused
from tests.toys import toy_checkpoint


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in several shards, which the tests leave as it is."""
    home = tmp_path_factory.mktemp("shards")
    whole = toy_checkpoint(home / "whole")
    folder = home / "sharded"
    shutil.copytree(whole, folder)
    (folder / "model.safetensors").unlink()
    model = AutoModelForSequenceClassification.from_pretrained(whole)
    model.save_pretrained(folder, max_shard_size="20KB")
    return folder


@pytest.fixture
def folder(sharded: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return shutil.copytree(sharded, tmp_path / "toy")


def refusal(folder: Path) -> str:
    """The text with which the folder is refused."""
    return refused(weights_headers.weights_paths, folder, at=folder, model="toy")


def scores(folder: Path) -> list[float]:
    """Of a few ids."""
    model = Checkpoint(ModelSpec("toy", str(folder)), cache=folder.parent / "cache")
    return [float(x) for x in model.score("the city?", [(i,) for i in range(9)])]


def test_the_index_names_the_shards(folder: Path, sharded: Path) -> None:
    """In order, and they score as one file does; the index is none, nor Mistral's copy beside."""
    named = sorted(folder.glob("*.safetensors"))
    save_file({"score.weight": torch.zeros(1, 32)}, folder / "consolidated.safetensors")

    assert weights_headers.weights_paths(folder, model="toy") == named
    assert len(named) > 2
    assert weights_headers.unread_weights(folder, model="toy") == []
    assert weights_headers.complete(folder)
    assert scores(folder) == pytest.approx(scores(sharded.parent / "whole"), abs=1e-5)


def test_a_missing_shard_is_named(folder: Path) -> None:
    """Each on its own would leave a part of the model random."""
    count = len(weights_headers.weights_paths(folder, model="toy"))
    for shard in weights_headers.weights_paths(folder, model="toy"):
        shard.rename(folder / "away")
        text = refusal(folder)
        assert text.startswith(
            f"toy: {shard.name} is not in FOLDER, and {weights_headers.INDEX} names it"
        )
        assert f"(1 of {count} shards are missing)" in text
        assert not weights_headers.complete(folder)
        (folder / "away").rename(shard)


@pytest.mark.parametrize("name", ["model-00009-of-00009.safetensors", "model-of-mine.safetensors"])
def test_a_stale_shard_is_not_read_and_is_told(sharded: Path, folder: Path, name: str) -> None:
    """It has another head, and is last in the order of names: read, it would win."""
    save_file({"score.weight": torch.full((1, 32), 9.0)}, folder / name, {"format": "pt"})

    with pytest.warns(UserWarning, match=rf"toy: {name} in .* are not read, .* an earlier save\?"):
        found = scores(folder)

    assert found == scores(sharded)


def test_one_file_comes_before_an_index(folder: Path, sharded: Path) -> None:
    """As for transformers: the shards are of an earlier save, or the file is; both are told."""
    tensors = load_file(sharded.parent / "whole" / "model.safetensors")
    tensors["score.weight"] += 1
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    own: Any = AutoModelForSequenceClassification.from_pretrained(folder)

    with pytest.warns(UserWarning, match="model-00001-of-"):
        found = scores(folder)

    assert torch.equal(own.score.weight, tensors["score.weight"])
    assert found != scores(sharded)
    assert weights_headers.weights_paths(folder, model="toy") == [folder / "model.safetensors"]


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (None, "neither model.safetensors nor model.safetensors.index.json in FOLDER, only model-"),
        ("", "is no index of weights"),
        ("{}", "is no index of weights"),
        ('{"weight_map": []}', "is no index of weights"),
        ("null", "is no index of weights"),
        ("[" * 10**5, "is no index of weights"),
        ('{"weight_map": {}}', "names no files"),
        # Not those of another model, or of the system.
        *(
            (json.dumps({"weight_map": {"a": name}}), f"names {name!r}, which is no file of its")
            for name in ("../other.safetensors", "/etc/passwd", "a/b.safetensors", 3)
        ),
    ],
    ids=range(11),
)
def test_a_damaged_index_is_refused(folder: Path, index: str | None, said: str) -> None:
    """Gone, cut short, something else, or of files elsewhere."""
    (folder / weights_headers.INDEX).unlink()
    if index is not None:
        (folder / weights_headers.INDEX).write_text(index)

    text = refusal(folder)

    assert said in text
    assert text.startswith(
        "toy: neither" if index is None else f"toy: FOLDER/{weights_headers.INDEX} "
    )


def test_a_count_of_batches_may_be_a_whole_number(tmp_path: Path) -> None:
    """As the gates of QRM have it; a weight beside it may not."""
    count = {"gating.layers.2.num_batches_tracked": Header((), "I64")}

    weights_headers.refuse_no_floats(count, tmp_path, model="toy")

    with pytest.raises(ModelError, match=r"^toy: 'gating.layers.2.weight' .* is of I64, allowed"):
        weights_headers.refuse_no_floats(
            {**count, "gating.layers.2.weight": Header((7,), "I64")}, tmp_path, model="toy"
        )
