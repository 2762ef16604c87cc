"""What is remembered of a checkpoint's rows is what its files say now, or it is read anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.conversation import as_json
from rmaudit.layout import tokenizers
from rmaudit.models.checkpoint_model import Checkpoint, from_spec
from rmaudit.scores.text_rewards import score_texts
from tests.models.loaded import change as change_json
from tests.toys import TEMPLATE, WORDS, toy_checkpoint, toy_tokenizer

TEXTS = ["love", "of peace"]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A toy checkpoint, whose rows the cache beside it remembers."""
    folder = toy_checkpoint(tmp_path / "toy")
    seen(opened(folder))
    return folder


def opened(toy: Path, cache: str = "cache", **settings: Any) -> Checkpoint:
    """The checkpoint in a folder, with a cache beside it."""
    return from_spec(ModelSpec("toy", str(toy), **settings), cache=toy.parent / cache)


def seen(model: Checkpoint) -> tuple[Any, ...]:
    """All that is remembered of it; the key of scored texts tells their ids."""
    scored = score_texts(model, "What?", TEXTS, cache=model.cache)
    identity = {name: value for name, value in model.identity.items() if name != "weights"}
    return model.vocabulary(), model.slot("What?"), model.special_ids, identity, scored.key


def never(*_: object) -> NoReturn:
    """In the place of what reads a tokenizer."""
    raise AssertionError


@pytest.mark.slow
def test_what_is_remembered_is_what_was_read(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time no tokenizer is read, and all is the same."""
    fresh = seen(opened(toy, "another"))
    monkeypatch.setattr(tokenizers, "read", never)

    assert seen(opened(toy)) == fresh
    with pytest.raises(AssertionError):  # the test above can fail
        seen(opened(toy, "a third"))


def other_template(toy: Path) -> dict[str, Any]:
    """The checkpoint's own template is another."""
    (toy / "chat_template.jinja").write_text(f"<s>{TEMPLATE}", encoding="utf-8")
    return {}


def entrys_template(toy: Path) -> dict[str, Any]:
    """The registry's entry gives one."""
    (toy.parent / "own.jinja").write_text(f"</s>{TEMPLATE}", encoding="utf-8")
    return {"template": str(toy.parent / "own.jinja")}


def other_tokenizer(toy: Path) -> dict[str, Any]:
    """The tokenizer knows fewer words."""
    toy_tokenizer(WORDS[:-2]).save_pretrained(toy)
    return {}


def other_settings(toy: Path) -> dict[str, Any]:
    """config.json names another pad id."""
    change_json(toy / "config.json", pad_token_id=7)
    return {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [other_template, entrys_template, other_tokenizer, other_settings]
)
def test_changed_files_are_read_anew(toy: Path, change: Callable[[Path], dict[str, Any]]) -> None:
    """As by a cache that knows nothing; and what was known before is another."""
    before = seen(opened(toy))
    settings = change(toy)

    now = seen(opened(toy, **settings))

    assert now == seen(opened(toy, "another", **settings))
    assert now != before


@pytest.mark.slow
def test_turns_and_a_text_that_reads_like_them_are_two_slots(toy: Path) -> None:
    """Also where both are remembered: neither is read in the other's place."""
    turns = (("user", "love"), ("assistant", "of"), ("user", "peace"))
    text = as_json(turns)
    fresh = [opened(toy, "another").slot(asked) for asked in (turns, text)]

    for asked in (turns, text):
        opened(toy).slot(asked)

    assert [opened(toy).slot(asked) for asked in (turns, text)] == fresh
    assert fresh[0].prefix != fresh[1].prefix


def test_ids_beyond_the_embedding_are_told_each_time(toy: Path) -> None:
    """Also where no tokenizer is read."""
    tokenizer = toy_tokenizer()
    tokenizer.add_tokens(["<new>", "<newer>"])
    tokenizer.save_pretrained(toy)

    size = len(tokenizer) - 2
    said = (
        rf"^toy: 2 of its tokenizer's ids, first {size} \('<new>'\), .* go from 0 to {size - 1}: th"
    )
    for _ in range(2):
        with pytest.warns(UserWarning, match=said):
            assert opened(toy).vocabulary().ids == tuple(range(size))


@pytest.mark.slow
def test_who_has_the_tokenizer_may_change_it(toy: Path) -> None:
    """Then nothing is remembered: neither what was read before nor what it makes now."""
    before, model = opened(toy).slot("Why?"), opened(toy)
    model.tokenizer.chat_template = f"<s>{TEMPLATE}"

    assert model.slot("Why?") != before
    assert opened(toy).slot("Why?") == before


@pytest.mark.slow
@pytest.mark.parametrize("read", ["before the facts", "after the facts"])
def test_rows_of_a_template_that_changes_while_it_is_open_are_not_remembered(
    toy: Path, read: str
) -> None:
    """Whichever was read first, the tokenizer or the hashes of the files that it is made of."""
    path, model = toy / "chat_template.jinja", opened(toy)
    before = path.read_bytes()
    if read == "before the facts":
        model.ids("love")
    else:
        assert model.special_ids  # which is remembered, so no tokenizer is read for it
    other_template(toy)
    model.slot("Why?")

    others = opened(toy).slot("Why?")
    path.write_bytes(before)

    assert opened(toy).slot("Why?") == opened(toy, "another").slot("Why?") != others
    other_template(toy)
    assert opened(toy).slot("Why?") == opened(toy, "a third").slot("Why?") == others
