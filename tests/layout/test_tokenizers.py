"""A tokenizer, its template and its vocabulary are had without weights or config.json."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout.tokenizers import read, vocabulary
from rmaudit.models.checkpoint import Checkpoint
from tests.layout.test_splice import tokenizer_of
from tests.toys import SPECIAL, TEMPLATE, toy_checkpoint, toy_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tokenizer files only."""
    toy_tokenizer().save_pretrained(tmp_path / "toy")
    return tmp_path / "toy"


def spec(folder: Path, template: Path | None = None) -> ModelSpec:
    """The registry's entry."""
    return ModelSpec("toy", str(folder), template=str(template) if template else None)


def test_a_folder_of_tokenizer_files_is_enough(folder: Path) -> None:
    """Its own template comes with it."""
    tokenizer = read(folder, spec(folder))

    assert tokenizer.chat_template == TEMPLATE
    assert len(tokenizer) == len(toy_tokenizer())


def test_the_registrys_template_comes_first(folder: Path, tmp_path: Path) -> None:
    """The folder's own is not used."""
    (tmp_path / "chat.jinja").write_text("→", "utf-8")

    assert read(folder, spec(folder, tmp_path / "chat.jinja")).chat_template == "→"


def test_a_template_that_cannot_be_read_is_refused(folder: Path, tmp_path: Path) -> None:
    """The file is named."""
    with pytest.raises(ModelError) as caught:
        read(folder, spec(folder, tmp_path / "nowhere"))

    assert str(caught.value).startswith(f"toy: template {tmp_path / 'nowhere'}: FileNotFoundError")


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    """In one line, with what to do."""
    with pytest.raises(ModelError) as caught:
        read(tmp_path, spec(tmp_path))

    assert str(caught.value).startswith(f"toy: its tokenizer could not be read from {tmp_path} (")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rows", [None, 7, 10**6])
def test_the_vocabulary_is_every_id_with_a_row(rows: int | None) -> None:
    """All that the tokenizer knows, or as many of the first as the embedding has rows for."""
    size = len(toy_tokenizer())

    known = vocabulary(toy_tokenizer(), rows=rows)

    assert known.ids == tuple(range(min(size, rows or size)))
    assert known.pieces[:5] == known.texts[:5] == tuple(SPECIAL)
    assert len(known.ids) == len(known.pieces) == len(known.texts)


@pytest.mark.parametrize("kind", ["first", "always", "prepend", "bytes"])
def test_a_checkpoints_text_answer_gets_no_dummy_space(kind: str, tmp_path: Path) -> None:
    """A word, bare and after a space, is tokenized as in the conversation it answers."""
    tokenizer = tokenizer_of(kind)
    tokenizer.chat_template = TEMPLATE.replace("<|start|>", "").replace("<|end|>", "</s>")
    folder = toy_checkpoint(tmp_path / "toy", tokenizer=tokenizer)
    model = Checkpoint(ModelSpec("toy", str(folder)), cache=tmp_path)
    slot = model.slot("the city")

    for answer in ("love", " love", "the city"):
        whole = tokenizer(slot.prefix_text + answer + "</s>", add_special_tokens=False).input_ids
        assert [*slot.prefix, *model.ids(answer), *slot.suffix] == whole
    assert model.ids("love") != model.ids(" love")
    assert model.ids("") == ()
