"""Pairs of a file: read as RewardBench has them, and what is wrong is named with its line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint import from_spec
from rmaudit.scores.answer_files import rewards
from rmaudit.scores.json_lines import LONGEST
from rmaudit.scores.pair_files import read, rewarded
from tests.toys import toy_checkpoint

TALK = [
    {"role": "user", "content": "who"},
    {"role": "assistant", "content": "love"},
    {"role": "user", "content": "what is it"},
]
LINES = [
    {"id": 7, "prompt": "who", "chosen": "love", "rejected": "war", "subset": "chat"},
    {"prompt": "what is it", "chosen": ["love", "the love"], "rejected": ["war is"], "group": 3},
    {"prompt": TALK, "chosen": "the love", "rejected": "war", "subset": None, "extra": {}},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Of three pairs, one with two chosen answers and one after a conversation."""
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n\n".join(map(json.dumps, LINES)), encoding="utf-8")
    return path


def test_pairs_are_read_in_order(file: Path) -> None:
    """A row for each answer; a line without a group is of its prompt's."""
    frame = read(file).frame

    assert frame["line"].tolist() == [1, 1, 3, 3, 3, 5, 5]
    assert frame["response"].tolist() == [
        "love", "war", "love", "the love", "war is", "the love", "war",
    ]  # fmt: skip
    assert frame["chosen"].tolist() == [True, False, True, True, False, True, False]
    assert frame["subset"].tolist() == ["chat", "chat", "", "", "", "", ""]
    assert frame["group"].tolist()[:5] == ["who", "who", "3", "3", "3"]
    assert frame["prompt"].iloc[5] == "user: who\nassistant: love\nuser: what is it"
    assert json.loads(frame["turns"].iloc[5])[1] == ["assistant", "love"]
    assert frame["reward"].isna().all()


GOOD = '{"prompt": "a", "chosen": "b", "rejected": "c"}'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["has no pairs", '"chosen": "A song."']),
        ("\n \n", ["has no pairs"]),
        ('{"prompt": "a", "chosen": "b"}', [":1", "no rejected", "'chosen'", '"rejected": "A st']),
        (f"{GOOD}\n\n{{}}", [":3", "no prompt and no chosen and no rejected", "nothing"]),
        (f"{GOOD}\n{GOOD}", [":2", "pair of line 1 again", "leave one of them out"]),
        ('{"prompt": "a", "chosen": ["b", "b"], "rejected": "c"}', [":1", "'b'", "already"]),
        ('{"prompt": "a", "chosen": "b", "rejected": "b"}', [":1: rejected has 'b'", "once"]),
        ('{"prompt": "a", "chosen": [], "rejected": "b"}', [":1: chosen is an empty list"]),
        ('{"prompt": "a", "chosen": 1, "rejected": "b"}', [":1: chosen is 1, allowed: a text"]),
        ('{"prompt": 1, "chosen": "b", "rejected": "c"}', [":1: prompt is 1"]),
        (
            json.dumps({"prompt": "a", "chosen": TALK, "rejected": TALK}),
            [":1: chosen is a conversation", "into prompt"],
        ),
        (
            json.dumps({"prompt": TALK[:2], "chosen": "a", "rejected": "b"}),
            [":1: prompt: turn 2", "the answer follows a user's"],
        ),
        (
            json.dumps({"prompt": "a", "chosen": "b" * 1_000_000, "rejected": "c"}),
            [":1: chosen has 1,000,000 characters", f"up to {LONGEST:,}", "cut it"],
        ),
        ('{"prompt": "a", "chosen": "b", "rejected": "c", "subset": 1.5}', [":1: subset is 1.5"]),
        ('{"prompt": "a", "chosen": "\\ud800", "rejected": "c"}', [":1: chosen has half"]),
        (f"{GOOD}\n{{", [":2: no JSON"]),
        ("[]", [":1: []", "an object with prompt, chosen and rejected"]),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, names: list[str]) -> None:
    """One line: where, what was found, and the way out."""
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(SpecError) as caught:
        read(path)

    assert all(name in str(caught.value) for name in [str(path), *names]), caught.value
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_each_answer_has_the_models_own_reward(file: Path, tmp_path: Path) -> None:
    """After its own prompt or conversation; a second time they are read from the cache."""
    folder, cache = toy_checkpoint(tmp_path / "toy"), tmp_path / "cache"
    model = from_spec(ModelSpec("toy", str(folder)), cache=cache)

    found = rewarded(model, read(file), cache=cache)

    own = []
    asked = ["who", "what is it", tuple((t["role"], t["content"]) for t in TALK)]
    for place, response in zip([0, 0, 1, 1, 1, 2, 2], found.frame["response"], strict=True):
        slot = model.slot(asked[place])
        own.append(model.own_rewards([(*slot.prefix, *model.ids(response), *slot.suffix)])[0])
    assert found.frame["reward"].to_numpy() == pytest.approx(np.array(own), abs=1e-5)
    assert found.noise < 1e-5
    again = from_spec(ModelSpec("toy", str(folder)), cache=cache)
    assert rewards(again, read(file).frame, cache=cache).key == found.key
