"""The exploit ledger: what goes in comes out, whatever it is, and nothing else is taken for it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmaudit.errors import SpecError, StoreError
from rmaudit.measures.gcg_probes import NEEDED
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references.masks import masked
from rmaudit.references.public_exploits import FOUND, probes
from rmaudit.search.ledger import COLUMNS, append, brought, ledger, read, remember, weights_of
from tests.scores.letters import Letters
from tests.search.finds import found

HOSTILE = [
    'a"b\\',
    "two\nlines\r\n",
    "\u2028\u2029\x85\x1e",
    "\u202egnp.exe",
    "=cmd|' /C'!A0",
    "💥",
    "\0",
]
GOOD = {
    "prompt": "best",
    "direction": "up",
    "model": "M",
    "source": "a search",
    "text": "x",
    "weights": "0a",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a team keeps it."""
    return tmp_path / "exploits.jsonl"


def test_an_entry_says_all(path: Path) -> None:
    """What was found, where, on what, and by which search."""
    assert append(path, found(["ab"], [1.0]), Letters()) == 1

    assert read(path).iloc[0].to_dict() == {
        "prompt": "best",
        "direction": "up",
        "model": "letters",
        "source": "exhaustive search, length 2, 1,000 evaluations, seed 3",
        "text": "ab",
        "weights": weights_of(Letters()),
    }


def test_the_best_of_each_start(path: Path) -> None:
    """Five at most, each once, the best first: of strings that are hated the lowest."""
    texts, scores = ["a", "b", "a", "c", "d", "e", "f"], [1.0, 9, 2, 8, 7, 3, 4]

    append(path, found(texts, scores), Letters())
    assert read(path)["text"].tolist() == ["b", "c", "d", "f", "e"]

    path.unlink()
    append(path, found(texts, scores, direction="down"), Letters())
    assert read(path)["text"].tolist() == ["a", "e", "f", "d", "c"]
    assert set(read(path)["direction"]) == {"down"}


def test_hostile_strings_survive(path: Path) -> None:
    """In a file that is ASCII, a line each."""
    for text in HOSTILE:
        append(path, found([text], [1.0]), Letters())

    content = path.read_bytes()
    assert read(path)["text"].tolist() == HOSTILE
    assert content.isascii()
    assert content.count(b"\n") == len(content.splitlines()) == len(HOSTILE)


@settings(max_examples=25, deadline=None)
@given(text=st.text(min_size=1))
def test_any_text_survives(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Character for character."""
    path = tmp_path_factory.mktemp("any") / "ledger.jsonl"
    append(path, found([text], [1.0]), Letters())

    assert read(path)["text"].tolist() == [text]


def test_the_same_again_is_no_news(path: Path) -> None:
    """Nor does a merge that keeps both sides' lines count them twice."""
    append(path, found(["a", "b"], [1.0, 2.0]), Letters())
    before = path.read_bytes()

    assert append(path, found(["a", "b"], [1.0, 2.0]), Letters()) == 0
    assert path.read_bytes() == before
    path.write_bytes(before + b"\n" + before)
    assert len(read(path)) == 2


def test_a_last_line_without_an_end(path: Path) -> None:
    """As some editors leave it: the next entry has a line of its own."""
    path.write_text(json.dumps(GOOD), encoding="ascii")

    append(path, found(["y"], [1.0]), Letters())

    assert read(path)["text"].tolist() == ["x", "y"]


def test_a_prompt_of_one_s_own(path: Path) -> None:
    """It is kept by its text; a known one by its name, whatever it was called."""
    append(path, found(["a"], [1.0], prompt=Prompt("custom", "Why?", +1)), Letters())
    best = "What, in one word, is the best thing ever?"
    append(path, found(["b"], [1.0], prompt=Prompt("custom", best, +1)), Letters())

    assert read(path)["prompt"].tolist() == ["Why?", "best"]


def test_the_whole_ledger(tmp_path: Path, path: Path) -> None:
    """What comes with rmaudit, what searches here found, and the team's; each string once."""
    remember(tmp_path, found(["a", "b"], [2.0, 1.0], key="1" * 64), Letters())
    remember(tmp_path, found(["c"], [1.0], key="2" * 64, direction="down"), Letters())
    remember(tmp_path, found(["c"], [1.0], key="2" * 64, direction="down"), Letters())
    append(path, found(["a", "d"], [2.0, 1.0]), Letters())

    whole = ledger(tmp_path, path)

    assert tuple(whole.columns) == COLUMNS
    here = whole.iloc[-4:]
    assert here["text"].tolist() == ["a", "b", "c", "d"]
    assert here["direction"].tolist() == ["up", "up", "down", "up"]
    pd.testing.assert_frame_equal(whole.iloc[:-4], brought())
    pd.testing.assert_frame_equal(
        whole[whole["weights"] == ""].drop(columns="weights"), probes(), check_dtype=False
    )
    pd.testing.assert_frame_equal(ledger(tmp_path / "none"), brought())


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_comes_with_rmaudit(prompt: str) -> None:
    """Enough for an interval below the bound without those of any one model, and three others."""
    strings = brought()
    own = strings[(strings["prompt"] == prompt) & (strings["direction"] == "up")]

    for model in set(own["model"]):
        others = own[own["model"] != model]
        assert len(others) >= NEEDED, model
        assert others["model"].nunique() >= 3
    assert FOUND.read_bytes().isascii()
    assert not any(map(masked, own["text"]))
    assert (own["weights"] == "").eq(own["model"] == "R-Gem-2B").all()


def test_an_earlier_release_is_another_model() -> None:
    """Whatever it is called, and so is another adapter; in another dtype it is the same."""

    def weights(**identity: str) -> str:
        model = Letters()
        model.identity = {"weights": "0a", **identity}
        return weights_of(model)

    assert weights() == weights(dtype="bfloat16")
    assert (
        len({weights(), weights(weights="0b"), weights(adapter="1a"), weights(adapter="1b")}) == 4
    )
    assert weights(adapter="1a") != weights(adapter="1a", base_revision="2a")


# What is no ledger


@pytest.mark.parametrize(
    ("line", "what"),
    [
        *((odd, "JSON object") for odd in (b"<<<<<<< HEAD", b'{"a": ', b"\xff", b"[" * 100_000)),
        (b"{}", "direction, model, .* found dict"),
        (b'["best"]', "direction, model, .* found list"),
        (b'{"text": "x"}', "direction, model, .* found text"),
        (json.dumps(GOOD | {"text": 5}).encode(), "the texts "),
        (json.dumps(GOOD | {"z": "?"}).encode(), "found direction, model, .*, z"),
        (json.dumps(GOOD | {"direction": "left"}).encode(), "up or down, found 'left'"),
        (json.dumps(GOOD | {"text": ""}).encode(), "whole characters, found ''"),
        (json.dumps(GOOD | {"text": "\ud800"}).encode(), r"whole characters, found '\\ud800'"),
    ],
    ids=range(12),
)
def test_a_line_that_is_no_entry(path: Path, line: bytes, what: str) -> None:
    """Such as what a merge leaves, or half a character: FILE:LINE, one line, and the way out."""
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\n" + line + b"\n")

    with pytest.raises(SpecError, match=rf"^{path}:3: .*{what}.*; restore the line or remove it$"):
        read(path)


def test_no_file(path: Path) -> None:
    """The way to one."""
    with pytest.raises(SpecError, match=rf"^{path}: .*No such file.*`rmaudit search --ledger`"):
        read(path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """As of the cache."""
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / "ledger.jsonl"

    with pytest.raises(StoreError, match=r"the ledger cannot be written \(.*\); name another file"):
        append(path, found(["a"], [1.0]), Letters())
