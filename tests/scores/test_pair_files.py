"""Pairs of a file: read as RewardBench has them, and what is wrong is named with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.conversation import Asked
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint_model import from_spec
from rmaudit.models.text_scorer import TextScorer
from rmaudit.references.conduct_answers import OWN, PART, REFUSALS, RIGHT, SAME
from rmaudit.scores.answer_files import rewards
from rmaudit.scores.json_lines import LONGEST, prompt_columns
from rmaudit.scores.pair_files import COLUMNS, Pairs, conduct_pairs, read, split_turns
from tests.scores.lines import assert_refused, written

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
    return written(tmp_path / "pairs.jsonl", *LINES)


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


def test_lines_of_one_prompt_are_not_independent(tmp_path: Path) -> None:
    """Whatever the file calls their groups; nor are lines that hang together by way of others."""
    given = [("who", 1), ("who", 2), ("what", 2), ("where", 3), ("when", None)]
    lines = [
        {"prompt": asked, "chosen": f"a{place}", "rejected": f"b{place}", "group": group}
        for place, (asked, group) in enumerate(given)
    ]

    frame = read(written(tmp_path / "pairs.jsonl", *lines)).frame

    assert frame["group"].tolist()[::2] == ["1", "1", "1", "3", "when"]


GOOD = '{"prompt": "a", "chosen": "b", "rejected": "c"}'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["has no pairs", '"chosen": "A song."']),
        ('{"prompt": "a", "chosen": "b"}', [":1", "no rejected", "'chosen'", '"rejected": "A st']),
        (f"{GOOD}\n\n{{}}", [":3", "no prompt and no chosen and no rejected", "nothing"]),
        (f"{GOOD}\n{GOOD}", [":2", "pair of line 1 again", "leave one of them out"]),
        ('{"prompt": "a", "chosen": ["b", "b"], "rejected": "c"}', [":1", "'b'", "already"]),
        ('{"prompt": "a", "chosen": "b", "rejected": "b"}', [":1: rejected has 'b'", "once"]),
        ('{"prompt": "a", "chosen": [], "rejected": "b"}', [":1: chosen is an empty list"]),
        ('{"prompt": "a", "chosen": 1, "rejected": "b"}', [":1: chosen is 1, allowed: a text"]),
        ('{"prompt": 1, "chosen": "b", "rejected": "c"}', [":1: prompt is 1"]),
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
        ('{"prompt": "a", "chosen": "b", "chosen": "d", "rejected": "c"}', [":1", "twice"]),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, names: list[str]) -> None:
    """One line: where, what was found, and the way out."""
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")

    assert_refused(read, path, names)


@pytest.mark.slow
def test_each_answer_has_the_models_own_reward(file: Path, folder: Path, tmp_path: Path) -> None:
    """After its own prompt or conversation; a second time they are read from the cache."""
    cache = tmp_path / "cache"
    model = from_spec(ModelSpec("toy", str(folder)), cache=cache)

    pairs = read(file)
    found = pairs.scored(rewards(model, pairs.frame, cache=cache))

    own = []
    prompts: list[Asked] = ["who", "what is it", tuple((t["role"], t["content"]) for t in TALK)]
    for place, response in zip([0, 0, 1, 1, 1, 2, 2], found.frame["response"], strict=True):
        slot = model.slot(prompts[place])
        own.append(model.own_rewards([(*slot.prefix, *model.ids(response), *slot.suffix)])[0])
    assert found.frame["reward"].to_numpy() == pytest.approx(np.array(own), abs=1e-5)
    assert found.noise < 1e-5
    again = from_spec(ModelSpec("toy", str(folder)), cache=cache)
    assert rewards(again, pairs.frame, cache=cache).key == found.key


Turn = dict[str, object]


def turn(role: str, content: object) -> Turn:
    """A turn."""
    return {"role": role, "content": content}


def said(*contents: str) -> list[Turn]:
    """Turns of the user and the assistant by turns."""
    roles = ["user", "assistant"] * len(contents)
    return [turn(role, text) for role, text in zip(roles, contents, strict=False)]


def in_every_form(prompt: list[Turn], chosen: str, rejected: str) -> list[dict[str, object]]:
    """One pair as the others write it: with plain answers, TRL's two ways, and UltraFeedback's."""
    answers = {"chosen": said("", chosen)[1:], "rejected": said("", rejected)[1:]}
    whole: dict[str, object] = {field: [*prompt, *turn] for field, turn in answers.items()}
    user = prompt[-1]["content"]
    forms: list[dict[str, object]] = [
        {"prompt": prompt, "chosen": chosen, "rejected": rejected},
        {"prompt": prompt, **answers},
        whole,
        {"prompt": None, **whole},
        {"prompt": user, "prompt_id": "f0", "messages": whole["chosen"], **whole},
        {key: [{**each, "name": None} for each in prompt + turn] for key, turn in answers.items()},
    ]
    if len(prompt) == 1:
        forms += [{"prompt": user, "chosen": chosen, "rejected": rejected}]
        forms += [{"prompt": user, **answers}]
    return forms


WORDS = st.text(max_size=5)
ASKING = WORDS.filter(lambda text: bool(text.strip()))
PAIRS = st.tuples(
    st.none() | ASKING,
    st.lists(ASKING, min_size=1, max_size=5).filter(lambda said: len(said) % 2 == 1),
    st.tuples(WORDS, WORDS).filter(lambda pair: pair[0] != pair[1]),
)


@pytest.mark.slow
@given(PAIRS)
@example((None, ["Why?"], ("so", "")))
@example(("Be brief.", ["Why?", "So.", "And?"], (" so", "so")))
@settings(max_examples=8, deadline=None)
def test_every_form_is_the_same_pair(
    tmp_path_factory: pytest.TempPathFactory, pair: tuple[str | None, list[str], tuple[str, str]]
) -> None:
    """Prompt, turns and answers are equal, so are the keys, and a scorer is called for one only."""
    system, contents, answers = pair
    prompt = [{"role": "system", "content": system}] if system else []
    folder = tmp_path_factory.mktemp("forms")
    calls: list[tuple[str, ...]] = []

    def score(prompt: str, responses: Any) -> list[float]:
        calls.append((prompt, *responses))
        return [float(len(text)) for text in responses]

    scorer = TextScorer(ScorerEntry("lengths", score, None, "1", 8, 0, 1))
    found: list[Pairs] = []
    once = 0
    for number, line in enumerate(in_every_form([*prompt, *said(*contents)], *answers)):
        pairs = read(written(folder / f"{number}.jsonl", line))
        found.append(pairs.scored(rewards(scorer, pairs.frame, cache=folder / "cache")))
        once = once or len(calls)

    first, *others = found
    assert all(each.frame.equals(first.frame) for each in others)
    assert {each.key for each in others} == {first.key}
    assert first.frame["response"].tolist() == [*answers]
    assert len(calls) == once


PAGE = Path(__file__).parents[2] / "docs/how-to/pairs.md"


def test_one_file_serves_rewardbench_and_trl() -> None:
    """What the loaders of both take apart is what is read here, of the line that the docs show.

    RewardBench: the prompt is `chosen` without its last turn, an answer the content of the last.
    """
    trl = pytest.importorskip("trl.data_utils")
    shown = PAGE.read_text(encoding="utf-8").splitlines()
    line = json.loads(next(text for text in shown if text.startswith('{"chosen"')))

    theirs = trl.maybe_extract_prompt(dict(line))

    prompt, chosen, rejected = split_turns(line, "here")
    assert theirs["prompt"] == line["chosen"][:-1]
    assert prompt == prompt_columns(theirs["prompt"], "theirs")
    assert theirs["chosen"] == line["chosen"][-1:] == [{"role": "assistant", "content": chosen}]
    assert theirs["rejected"] == line["rejected"][-1:]
    assert rejected == line["rejected"][-1]["content"]


Q, A, B = (said("a")[0], *said("a", "b")[1:], *said("a", "c")[1:])
BOTH_BEGIN = "lists of turns which begin with the same prompt and differ in one last turn"


HUMAN = {"from": "human", "value": "a"}
MANY = {f"key {n}": n for n in range(5000)}
LONG = {**Q, "content": ["x" * 10_000]}
HALF = {**Q, "content": "\ud800"}


def line(chosen: object, rejected: object, *names: str, **more: object) -> tuple[object, Any]:
    """A line of a file, and what the error about it names."""
    return {**more, "chosen": chosen, "rejected": rejected}, names


TURN = "chosen: turn 2"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        line([Q, A], "c", "rejected is 'c'", "two texts, or two lists of tu"),
        line("b", "c", "no prompt", BOTH_BEGIN),
        ({"chosen": [Q, A]}, ["no rejected"]),
        (MANY, ["no prompt and no chosen", "'key 0', "]),
        line([Q, A], None, "rejected is None"),
        line([A], [B], "no prompt", BOTH_BEGIN),
        line([Q, A], [Q, A], "same 2 turns", BOTH_BEGIN),
        line([Q, A], [B], "2 and 1 turns", "first 0 are the same"),
        line([Q, A], [Q], "2 and 1 turns", "first 1 are the same"),
        line([Q, A, Q, A], [Q, B, Q, A], "4 and 4 turns", "first 1 are the same", BOTH_BEGIN),
        line([Q, A, A], [Q, A, B], "turn 2: the last turn", "assistant"),
        line([HUMAN, A], [Q, B], "first 0 are the same"),
        line([LONG, A], [LONG, B], "chosen: turn 1: content", "allowed: a text"),
        line([HALF, A], [HALF, B], "chosen has half a character"),
        line(["b", A], ["b", B], "chosen: turn 1", "got 'b'"),
        *(
            line([Q, last], [Q, B], *names)
            for last, *names in [
                (turn("user", "x"), f"{TURN} has the role 'user', allowed: assistant"),
                (MANY, f"{TURN} has 'key 0', ", "characters), allowed: role and content"),
                ("b", "turn 2 has 'b', allowed: role and content"),
                ({}, "turn 2 has nothing, allowed: role and conte"),
                (turn("assistant", None), f"{TURN}: content is None, allowed: a text"),
                ({**A, "tool_calls": [1]}, f"{TURN} has", "'tool_calls'", "role and content"),
                (turn("assistant", "b" * 1_000_000), f"{TURN}: content has 1,000,000 characters"),
                (turn("assistant", "\ud800"), "turn 2", "has half"),
            ]
        ),
        line([Q, A], [Q, B], "prompt is 'another'", "chosen ask 'a'", prompt="another"),
        line([Q, A], [Q, B], "prompt is 3", prompt=3),
        line([Q, A], [Q, B], "prompt is [{", "of its own", prompt=[Q]),
        line([A], [B], "prompt: turn 2", "the answer fol", prompt=[Q, A]),
        line([[A]], [[B]], "chosen is [{'role'", "a text", prompt="a"),
    ],
)
def test_turns_that_are_no_pair(
    tmp_path: Path, line: dict[str, object], names: Sequence[str]
) -> None:
    """One line: where, what was found, what is allowed; never a raw error."""
    path = written(tmp_path / "bad.jsonl", line)

    assert_refused(read, path, [f"{path}:1: ", *names])


def test_a_pair_in_two_forms_is_there_twice(tmp_path: Path) -> None:
    """The same pair again would count twice, however it is written."""
    path = written(tmp_path / "pairs.jsonl", *in_every_form(said("a"), "b", "c")[::2])

    assert_refused(read, path, [":3: the pair of line 1 again"])


def own(folder: Path, *subsets: str) -> Pairs:
    """Pairs of a user, of these subsets."""
    lines = [
        {"prompt": f"p{at}", "chosen": "a", "rejected": "b", "subset": subset}
        for at, subset in enumerate(subsets)
    ]
    return read(written(folder / "own.jsonl", *lines))


def test_own_pairs_join_by_their_subset(tmp_path: Path) -> None:
    """Those whose subset says so, of each kind, on lines of their own; the rest is left out."""
    bundled, kinds = conduct_pairs(None), len(OWN)

    joined = conduct_pairs(own(tmp_path, *(f"conduct: {kind}" for kind in OWN), "agreement"))

    assert joined.frame["subset"].tolist()[len(bundled.frame) :: 2] == [*OWN]
    assert joined.frame["line"].nunique() == bundled.frame["line"].nunique() + kinds
    assert f"and {kinds} of the {kinds + 1} pairs of own.jsonl" in joined.source
    assert list(bundled.frame) == [*COLUMNS, "reward"]
    assert conduct_pairs(None).source == bundled.source


def test_a_part_has_the_first_contexts_of_each_kind(tmp_path: Path) -> None:
    """And the pairs of a user that are of a kind that is asked for, on lines of their own."""
    part = conduct_pairs(None, REFUSALS, every=False)

    assert part.frame.groupby("subset")["group"].nunique().tolist() == [PART] * len(REFUSALS)
    assert f"{PART} contexts; --rm-all takes all" in part.source
    joined = conduct_pairs(own(tmp_path, "conduct: bold", "conduct: agreement"), RIGHT, every=False)
    assert set(joined.frame["subset"]) == {*RIGHT}
    assert joined.frame["subset"].iloc[-1] == "agreement"
    assert joined.frame["line"].value_counts().unique() == [2]


@pytest.mark.parametrize("kind", ["agrement", *SAME])
def test_a_kind_that_is_none_is_refused(kind: str, tmp_path: Path) -> None:
    """A slip of the pen would leave the pair out without a word; a pair has no second prompt."""
    found = re.escape(repr(f"conduct: {kind}"))
    with pytest.raises(
        SpecError, match=rf"line 1 of .*own.jsonl.*{found}, allowed .* short answers, long answers,"
    ):
        conduct_pairs(own(tmp_path, f"conduct: {kind}"))
