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

from rmaudit.checkpoints import shards
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint import Checkpoint
from tests.toys import toy_checkpoint

STALE = "model-00009-of-00009.safetensors"


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
    with pytest.raises(ModelError) as caught:
        shards.of(folder, model="toy")
    return str(caught.value).replace(str(folder), "FOLDER")


def scores(folder: Path) -> list[float]:
    """Of a few ids."""
    model = Checkpoint(ModelSpec("toy", str(folder)), cache=folder.parent / "cache")
    return [float(x) for x in model.score("the city?", [(i,) for i in range(9)])]


def test_the_index_names_the_shards(folder: Path) -> None:
    """All of them and in order; the file of the index itself is none."""
    found = shards.of(folder, model="toy")

    assert found == sorted(folder.glob("*.safetensors"))
    assert len(found) > 2
    assert shards.unread(folder, model="toy") == []


def test_a_missing_shard_is_named(folder: Path) -> None:
    """Each on its own would leave a part of the model random."""
    count = len(shards.of(folder, model="toy"))
    for shard in shards.of(folder, model="toy"):
        shard.rename(folder / "away")
        assert refusal(folder) == (
            f"toy: {shard.name} is not in FOLDER, and model.safetensors.index.json names it (1 of "
            f"{count} shards are missing); copy the checkpoint again, with all its files"
        )
        (folder / "away").rename(shard)


@pytest.mark.parametrize("name", [STALE, "model-of-mine.safetensors"])
def test_a_stale_shard_is_not_read_and_is_told(sharded: Path, folder: Path, name: str) -> None:
    """It has another head, and is last in the order of names: read, it would win."""
    save_file({"score.weight": torch.full((1, 32), 9.0)}, folder / name, {"format": "pt"})

    with pytest.warns(UserWarning, match="are not read") as told:
        found = scores(folder)

    assert found == scores(sharded)
    assert str(told[0].message) == (
        f"toy: {name} in {folder} are not read, for transformers reads model.safetensors, or else "
        f"what model.safetensors.index.json names: weights of an earlier save? Remove them if they "
        f"are"
    )


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
    assert shards.of(folder, model="toy") == [folder / "model.safetensors"]


def test_other_safetensors_are_no_weights_of_it(folder: Path) -> None:
    """Mistral's `consolidated.safetensors` lies beside the same weights; it is no news."""
    save_file({"score.weight": torch.zeros(1, 32)}, folder / "consolidated.safetensors")

    assert shards.unread(folder, model="toy") == []
    assert "consolidated.safetensors" not in {p.name for p in shards.of(folder, model="toy")}


def test_shards_without_an_index_are_refused(folder: Path) -> None:
    """Transformers would not find them, and which belong together is unknown."""
    (folder / shards.INDEX).unlink()
    names = ", ".join(sorted(path.name for path in folder.glob("*.safetensors")))

    assert refusal(folder) == (
        f"toy: neither model.safetensors nor model.safetensors.index.json in FOLDER, only {names}; "
        f"transformers would not find these weights. Copy the checkpoint again with its index, or "
        f"save the model again with save_pretrained(FOLDER)"
    )


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"weight_map": []}', "null"])
def test_a_damaged_index_is_refused(folder: Path, text: str) -> None:
    """Cut short, or something else."""
    (folder / shards.INDEX).write_text(text)

    assert refusal(folder) == (
        "toy: FOLDER/model.safetensors.index.json is no index of weights (a mapping `weight_map` "
        "of tensors to files); copy the checkpoint again, or save the model again with "
        "save_pretrained(FOLDER)"
    )


@pytest.mark.parametrize("name", ["../other.safetensors", "/etc/passwd", "a/b.safetensors"])
def test_an_index_names_files_of_its_folder_only(folder: Path, name: str) -> None:
    """Not those of another model, or of the system."""
    (folder / shards.INDEX).write_text(json.dumps({"weight_map": {"a": name}}))

    assert refusal(folder) == (
        f"toy: FOLDER/model.safetensors.index.json names {name!r}, which is no file of its folder; "
        f"correct it"
    )


def test_an_empty_index_is_refused(folder: Path) -> None:
    """It names nothing."""
    (folder / shards.INDEX).write_text('{"weight_map": {}}')

    assert refusal(folder) == (
        "toy: FOLDER/model.safetensors.index.json names no files; save the model again with "
        "save_pretrained"
    )
