"""A checkpoint with another head: what it can hold, beside the very same weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints.head_writing import refuse_folder, rounded, write
from rmaudit.errors import ModelError, SpecError
from rmaudit.models.checkpoint_model import Checkpoint, with_head
from rmaudit.models.head_states import linear_head, states_of_each
from rmaudit.models.model_factory import load
from tests.checkpoints.adapters import CLASSIFIER, Make
from tests.checkpoints.test_separate_head_file import head_beside
from tests.models.loaded import checkpoint
from tests.models.test_families import FAMILIES, published
from tests.toys import toy_checkpoint, toy_language_model

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


def beside(folder: Path) -> Path:
    """A language model whose head is in a file of its own."""
    head_beside(toy_language_model(folder))
    return folder


MAKERS: dict[str, Callable[[Path], Path]] = {
    name: partial(published, toy=FAMILIES[name])
    for name in ("OpenRLHF", "LLaMA-Factory v1", "verl's critic of GPT-2")
}


@pytest.mark.slow
@pytest.mark.parametrize("make", [*MAKERS.values(), beside], ids=[*MAKERS, "value_head file"])
def test_heads_of_other_trainers_are_written(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """Under their own names and in their own units: the new rewards are the new vector's."""
    model, to = checkpoint(make(tmp_path / "old")), tmp_path / "new"
    vector = linear_head(model)
    wanted = vector[::-1] + np.linspace(-1, 1, len(vector), dtype=np.float32)
    answers = ["love", "war", "the table", "peace and pain", "hate"]
    states = states_of_each(model, ["the love?"] * len(answers), answers)

    write(model.rows.checked, vector, wanted, to)

    new = checkpoint(to)
    assert linear_head(new) == pytest.approx(wanted, rel=1e-5)
    beside = new.score("the love?", answers) - states @ wanted
    assert (states @ wanted).std() > 0.05
    assert np.ptp(beside) < 1e-3


@pytest.mark.slow
def test_what_has_no_vector_of_its_own_is_refused(tmp_path: Path, make: Make) -> None:
    """A row of the output layer, and an adapter's head; each error says what to save."""
    logit = checkpoint(published(tmp_path / "logit", FAMILIES["Nemotron"]), logit=2)
    adapter = checkpoint(make("rm", **CLASSIFIER))

    for model, said in ((logit, r"\(lm_head.weight\).*save"), (adapter, "is an adapter.*save")):
        vector = linear_head(model)
        with pytest.raises(ModelError, match=said):
            rounded(model.rows.checked, vector, vector)


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
