"""A checkpoint folder is a reward model: its own scores, loaded late, and no made-up weights."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.config.model_registry import Dtype, Pool
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.answer_slot import Response
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.scores.sweep import sweep
from rmaudit.scores.text_rewards import score_texts
from tests.models.loaded import by_transformers, change, checkpoint, retensor, rows_of
from tests.toys import SPECIAL, toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"
ANSWERS: list[Response] = [
    "love",
    " war",
    "peace and pain",
    "",
    (SPECIAL.index("<pad>"),),
    (SPECIAL.index("<|end|>"),),
    (7, 8, 9),
]
SIZE = len(toy_tokenizer())
END = SPECIAL.index("<|end|>")


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Path:
    """A copy of it to be changed."""
    return shutil.copytree(folder, tmp_path / "changed")


def refused_score(model: Checkpoint) -> str:
    """The text with which scoring is refused, FOLDER in place of the folder's path."""
    with pytest.raises(ModelError) as caught:
        model.score(PROMPT, ["love"])
    return str(caught.value).replace(str(model.rows.folder), "FOLDER")


# Scores


def test_what_is_too_large_for_16_bits_is_no_fault_of_the_file(changed: Path) -> None:
    """A finite number becomes infinite in float16: the file is not to be copied again."""
    place = "model.layers.1.mlp.up_proj.weight"
    retensor(changed, lambda tensors: tensors[place].fill_(1e6))

    with pytest.raises(
        ScoreError, match=r"none of its files does: float16 is too narrow"
    ) as caught:
        checkpoint(changed, dtype="float16").score(PROMPT, ["love"])
    assert "copy or download" not in str(caught.value)


# The pad id and the dtype


@pytest.mark.parametrize(
    ("kind", "pad", "pool", "skipped"),
    [
        ("llama", END, "hf", END),
        ("llama", END, "last", None),
        ("llama", None, "auto", None),
        ("llama", ..., "auto", None),
        ("gemma2", ..., "hf", 0),
    ],
    ids=["config's", "last", "null", "absent", "absent, the class has one"],
)
def test_rewards_are_read_where_transformers_reads_them(
    tmp_path: Path, kind: str, pad: object, pool: Pool, skipped: int | None
) -> None:
    """The rightmost id that is not config.json's pad id, nor the tokenizer's; or the last id."""
    folder = toy_checkpoint(tmp_path / "toy", kind=kind)
    change(folder / "config.json", pad_token_id=pad)
    model = checkpoint(folder, pool=pool)

    scores = model.score(PROMPT, ANSWERS)

    assert model.identity["pool"] == f"rightmost id but {skipped}"
    own = by_transformers(folder, rows_of(model, PROMPT, ANSWERS), pad_token_id=skipped)
    assert scores.tolist() == pytest.approx(own, abs=1e-5)


@pytest.mark.slow
def test_a_pad_id_that_ends_the_turn_is_told(changed: Path) -> None:
    """What it was trained for cannot be known: by default it is scored, with a warning."""
    change(changed / "config.json", pad_token_id=END)
    model = checkpoint(changed)

    said = f"^toy: its pad token {END} is also what ends a turn.*`pool: last`.*`pool: hf`"
    with pytest.warns(UserWarning, match=said) as told:
        scores, _ = (model.score(PROMPT, ANSWERS) for _ in range(2))

    assert len(told) == 1  # a run asks seventy times
    assert scores.tolist() == checkpoint(changed, pool="hf").score(PROMPT, ANSWERS).tolist()
    others = checkpoint(changed, pool="last").score(PROMPT, ANSWERS)
    assert np.abs(scores - others).max() > 0.1


def test_a_pad_id_that_starts_the_turns_end_is_not_told(changed: Path) -> None:
    """A row that ends with another id is read at its end by each rule."""
    template = (changed / "chat_template.jinja").read_text()
    (changed / "chat_template.jinja").write_text(template + "{{- '\n' -}}")
    change(changed / "config.json", pad_token_id=END)
    pools: tuple[Pool, ...] = ("auto", "last")

    auto, last = (checkpoint(changed, pool=pool).score(PROMPT, ["love"]) for pool in pools)

    assert auto == pytest.approx(last, abs=1e-5)


def test_the_dtype_is_the_registrys_or_else_the_configs(changed: Path) -> None:
    """Both of transformers' spellings are read; without any it is float32.

    An unknown one is refused by transformers or, where that knows it, by us.
    """
    given: list[tuple[Dtype, dict[str, Any], str]] = [
        ("auto", {"dtype": "bfloat16"}, "bfloat16"),
        ("float32", {"dtype": "bfloat16"}, "float32"),
        ("auto", {"dtype": None}, "float32"),
        ("auto", {"dtype": ...}, "float32"),
        ("auto", {"dtype": ..., "torch_dtype": "float16"}, "float16"),
    ]
    for asked, config, dtype in given:
        change(changed / "config.json", **config)
        assert checkpoint(changed, dtype=asked).rows.dtype == dtype
    for odd, said in (
        ("float99", "float99"),
        ("float64", "'float64' in FOLDER/config.json; known: float32, bfloat16, float16"),
    ):
        change(changed / "config.json", dtype=odd)
        assert said in refused_score(checkpoint(changed))


# Prompts, answers, vocabulary


def test_rows_that_pad_the_embedding_are_no_vocabulary(changed: Path) -> None:
    """No id of the tokenizer's is there."""
    change(changed / "config.json", vocab_size=SIZE + 64)

    assert checkpoint(changed).vocabulary().ids == tuple(range(SIZE))


def test_a_prompt_whose_ids_have_no_row_is_refused(changed: Path) -> None:
    """On a GPU the embedding would end the whole process; the id and its token are named."""
    change(changed / "config.json", vocab_size=100)

    with pytest.raises(ModelError) as caught:
        checkpoint(changed).slot("the ")

    found = re.search(r"a prompt the id (\d+) \('.+'\), and .* go from 0 to 99:", str(caught.value))
    assert found
    assert int(found[1]) >= 100


# Loading


def test_layers_without_weights_are_refused_at_once(changed: Path) -> None:
    """Before a model of so many is built, which would take for ever."""
    change(changed / "config.json", num_hidden_layers=100)

    with pytest.raises(ModelError, match=r"^toy: num_hidden_layers in .*config\.json is 100, and"):
        checkpoint(changed)


@pytest.mark.parametrize("when", ["before the load", "before a load again"])
def test_weights_that_changed_since_they_were_hashed_are_refused(
    changed: Path, tmp_path: Path, when: str
) -> None:
    """The file is named, and no score is stored under the key of the old weights."""
    model = checkpoint(changed)
    key = dict(model.identity)
    if when == "before a load again":
        model.score(PROMPT, ["love"])
        model.close()
    retensor(changed, lambda tensors: tensors["score.weight"].mul_(2))

    for _ in range(2):
        with pytest.raises(ModelError, match=r"^toy: .*model\.safetensors changed since"):
            score_texts(model, PROMPT, ["love"], cache=tmp_path / "scores")

    assert not list((tmp_path / "scores").rglob("*.parquet"))
    assert checkpoint(changed).identity["weights"] != key["weights"]


# Weights that change while they are used: safetensors maps them into memory


def rewritten(path: Path, other: Path) -> None:
    """Give a file the bytes of another, in place, as `cp` and `rsync --inplace` do."""
    shutil.copyfile(other, path)


def renamed(path: Path, other: Path) -> None:
    """Put a copy of another file in its place, as `mv` does; what is mapped stays as it was."""
    shutil.copyfile(other, path.with_name("new")).rename(path)


def removed(path: Path, other: Path) -> None:
    """Remove it."""
    path.unlink()


@pytest.fixture
def other(folder: Path, tmp_path: Path) -> Path:
    """Other weights for the same configuration, in a file of the same size."""
    copied = shutil.copytree(folder, tmp_path / "other")
    retensor(copied, lambda tensors: [tensor.mul_(-2) for tensor in tensors.values()])
    return copied / "model.safetensors"


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_files_that_change_after_it_was_opened_give_no_scores(
    changed: Path, tmp_path: Path, name: str
) -> None:
    """What was read of them is the old model's, and the hash of its key would be the new one's."""
    model = checkpoint(changed)
    model.slot(PROMPT)
    change(changed / name)

    with pytest.raises(ModelError, match=rf"^toy: .*{name} changed since"):
        sweep(model, "best", protocol="paper", cache=tmp_path / "scores")

    assert not list((tmp_path / "scores").rglob("*.parquet"))


USES: dict[str, Callable[[Checkpoint], object]] = {
    "score": lambda model: model.score(PROMPT, ANSWERS),
    "own_rewards": lambda model: model.own_rewards([(1, 2, 3)]),
    "gradient": lambda model: model.gradient(PROMPT, [(7,), (8,)]),
}


@pytest.mark.parametrize(
    ("use", "spoil"),
    [
        *(("score", spoil) for spoil in (rewritten, renamed, removed)),
        ("own_rewards", rewritten),
        ("gradient", rewritten),
    ],
)
def test_nothing_is_had_of_weights_that_changed_after_the_load(
    changed: Path,
    other: Path,
    use: str,
    spoil: Callable[[Path, Path], None],
) -> None:
    """Whatever is asked of them, and however the file changed; each time that it is asked."""
    model = checkpoint(changed)
    USES[use](model)
    spoil(changed / "model.safetensors", other)

    for _ in range(2):
        with pytest.raises(ModelError, match=r"^toy: .*model\.safetensors (changed|is gone)"):
            USES[use](model)


@pytest.mark.slow
def test_weights_that_change_while_they_score_are_refused(changed: Path, other: Path) -> None:
    """Also where the old bytes and their modification time are back before the last answer."""
    path = changed / "model.safetensors"
    model, before, stat = checkpoint(changed), path.read_bytes(), path.stat()
    model.score(PROMPT, ["love"])

    def meanwhile(_: int) -> None:
        rewritten(path, other)
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    with pytest.raises(ModelError, match=r"^toy: .*model\.safetensors changed since"):
        model.score(PROMPT, ANSWERS, on_progress=meanwhile)

    assert model.score(PROMPT, ["love"]).shape == (1,)  # loaded again: the bytes are the same
    model.close()
