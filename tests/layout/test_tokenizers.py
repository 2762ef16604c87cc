"""A tokenizer, its template and its vocabulary are had without weights or config.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from transformers import PreTrainedTokenizerFast

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import answer_slot
from rmaudit.layout.layouts import ChatLayout
from rmaudit.layout.tokenizers import edges, read, vocabulary
from tests.checkpoints.folders import refused
from tests.layout.made import chat, pair
from tests.layout.test_answer_slot import tokenizer_of
from tests.toys import SPECIAL, TEMPLATE, toy_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tokenizer files only."""
    toy_tokenizer().save_pretrained(tmp_path / "toy")
    return tmp_path / "toy"


def test_a_folder_of_tokenizer_files_is_enough(folder: Path, tmp_path: Path) -> None:
    """Its own template comes with it; the registry's comes first."""
    (tmp_path / "chat.jinja").write_text("→", "utf-8")
    named = ModelSpec("toy", str(folder), template=str(tmp_path / "chat.jinja"))

    tokenizer = read(folder, ModelSpec("toy", str(folder)))

    assert tokenizer.chat_template == TEMPLATE
    assert len(tokenizer) == len(toy_tokenizer())
    assert read(folder, named).chat_template == "→"


def refusal(folder: Path, template: Any = None) -> str:
    """The one line with which it is refused, FOLDER in place of its path."""
    return refused(read, folder, ModelSpec("toy", str(folder), template=template), at=folder)


@pytest.mark.parametrize(
    ("template", "said"),
    [("nowhere", "FileNotFoundError"), ("a\0b", "ValueError"), ("a" * 5000, "OSError")],
    ids=["nowhere", "NUL", "long"],
)
def test_a_template_that_cannot_be_read_is_refused(folder: Path, template: str, said: str) -> None:
    """The file is named."""
    text = refusal(folder, template)

    assert text.startswith(f"toy: template {repr(template)[1:-1][:500]}")
    assert said in text
    assert len(text) < 1200


UNREAD = "toy: its tokenizer could not be read from FOLDER ("
LOVE = toy_tokenizer().get_vocab()["love"]
MANY = "{" + '"special":1,' * 200_001  # which would take hours: a search for their mark counts them


def unknown_merges(given: Any) -> None:
    """An id that Rust has no number for, and merges of tokens that are not there."""
    given["added_tokens"][0]["id"] = 2**31
    given["model"]["merges"] = [["nothing", "known"]]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("tokenizer.json", None, UNREAD),
        ("tokenizer.json", unknown_merges, UNREAD),
        (  # which is meant would hang on the order of a hash table, and cache keys with it
            "tokenizer.json",
            lambda given: given["model"]["vocab"].update(zzz=LOVE),
            f"toy: two pieces of its tokenizer in FOLDER have the id {LOVE}: 'love' and 'zzz', ",
        ),
        *(
            (name, MANY, f"toy: {name} in FOLDER has 200,001 added tokens, and")
            for name in ("tokenizer.json", "tokenizer_config.json", "added_tokens.json")
        ),
    ],
    ids=range(6),
)
def test_a_tokenizer_that_cannot_be_used_is_refused(
    folder: Path, name: str, change: Any, said: str
) -> None:
    """Gone, damaged, of two meanings, or of more tokens than can be read."""
    path = folder / name
    if change is None:
        for each in folder.iterdir():
            each.unlink()
    elif isinstance(change, str):
        path.write_text(change)
    else:
        given = json.loads(path.read_text())
        change(given)
        path.write_text(json.dumps(given))

    assert refusal(folder).startswith(said)


def test_a_tokenizer_that_fails_on_a_text_is_told() -> None:
    """Such as a WordPiece without an unknown token; by whatever is asked of it."""
    bare = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordPiece({"love": 0})))
    bare.chat_template, bare.name_or_path = TEMPLATE, "somewhere"
    asked: list[Callable[[], object]] = [
        *(ask for made in (chat(bare), pair(bare)) for ask in (
            partial(made.slot, "war"), partial(made.ids, "war"),
            partial(made.tokenized, ["war", "love"]), partial(made.retokenized, "war", ["war"]),
        )),
        lambda: answer_slot.ids_after(bare, "war", "war"),
    ]  # fmt: skip
    for ask in asked:
        with pytest.raises(ModelError, match=r"^the tokenizer of somewhere failed on a text \("):
            ask()


@pytest.mark.parametrize("rows", [None, 7, 10**6])
def test_the_vocabulary_is_every_id_with_a_row(rows: int | None) -> None:
    """All that the tokenizer knows, or as many of the first as the embedding has rows for."""
    size = len(toy_tokenizer())

    known = vocabulary(toy_tokenizer(), rows=rows)

    assert known.ids == tuple(range(min(size, rows or size)))
    assert known.pieces[:5] == known.texts[:5] == tuple(SPECIAL)
    assert len(known.ids) == len(known.pieces) == len(known.texts)


@pytest.mark.parametrize("kind", ["first", "always", "prepend", "bytes"])
def test_a_text_answer_gets_no_dummy_space(kind: str, tmp_path: Path) -> None:
    """A word, bare and after a space, is tokenized as in the conversation it answers."""
    tokenizer = tokenizer_of(kind)
    tokenizer.chat_template = TEMPLATE.replace("<|start|>", "").replace("<|end|>", "</s>")
    tokenizer.save_pretrained(tmp_path)
    model = ChatLayout(tmp_path, ModelSpec("toy", str(tmp_path)))
    slot = model.slot("the city")

    for answer in ("love", " love", "the city"):
        whole = tokenizer(slot.prefix_text + answer + "</s>", add_special_tokens=False).input_ids
        assert [*slot.prefix, *model.ids(answer), *slot.suffix] == whole
    assert model.ids("love") != model.ids(" love")
    assert model.ids("") == ()


def test_edges_are_one_id_of_each_special_kind() -> None:
    """First, last, pad, bos, eos, an added token, a byte: within the rows, each once."""
    tokenizer = toy_tokenizer()
    ids = vocabulary(tokenizer).ids
    named = [tokenizer.convert_tokens_to_ids(token) for token in ("<pad>", "<s>", "</s>")]

    found = edges(tokenizer, rows=len(ids))

    assert found[:2] == (ids[0], ids[-1])
    assert set(named) <= set(found)
    added = set(tokenizer.added_tokens_decoder) - {*named, ids[-1]}
    assert len(added & set(found)) == 1
    assert any(tokenizer.decode([i]) == "\ufffd" for i in found)
    assert len(set(found)) == len(found)
    assert max(edges(tokenizer, rows=20)) == 19
