"""A checkpoint with another head: what it can hold, beside the very same weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints.head_writing import refuse_folder, rounded, write
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint_model import Checkpoint, with_head
from rmaudit.models.head_states import linear_head
from rmaudit.models.model_factory import load
from tests.toys import toy_checkpoint

KEY = "score.weight"


def sharded(folder: Path) -> Path:
    """A toy in bfloat16, in several files of weights."""
    toy_checkpoint(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.bfloat16)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="20KB")
    return folder


def opened(folder: Path) -> Checkpoint:
    """The toy in this folder."""
    return with_head(load(str(folder), cache=folder.parent / "cache"))


def test_a_shard_is_written_anew_and_the_others_are_linked(tmp_path: Path) -> None:
    """The head is read back as `rounded` said; all else is the same, and so are the old files."""
    old = sharded(tmp_path / "old")
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    model, to = opened(old), tmp_path / "new" / "mended"
    vector = linear_head(model)
    wanted = vector + np.linspace(-1, 1, len(vector), dtype=np.float32)

    write(model.rows.checked, vector, wanted, to)

    held = rounded(model.rows.checked, vector, wanted)
    assert np.array_equal(linear_head(opened(to)), held)
    assert held == pytest.approx(wanted, rel=0.01)
    assert not np.array_equal(held, wanted)  # bfloat16 has not so many digits
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    shards = sorted(path.name for path in old.glob("*.safetensors"))
    anew = [name for name in shards if not (to / name).samefile(old / name)]
    assert len(anew) == 1 < len(shards)
    one, other = load_file(old / anew[0]), load_file(to / anew[0])
    assert {name for name in one if not torch.equal(one[name], other[name])} == {KEY}
    assert sorted(path.name for path in to.iterdir()) == sorted(before)
    assert not [path for path in to.parent.iterdir() if path != to]  # nor anything half made


def test_only_a_free_folder_is_written_to(tmp_path: Path) -> None:
    """An absent or empty one; no file, no link, and none with anything in it."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    for free in ("absent", "empty"):
        refuse_folder(tmp_path / free)
    for taken in (tmp_path, tmp_path / "file", tmp_path / "link"):
        with pytest.raises(SpecError, match=f"{taken}: is there already"):
            refuse_folder(taken)
