"""Repairs of a head: what is done by a gate that held, on the half that no repair saw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.config.model_spec import ModelSpec
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.conversation import Asked
from rmaudit.errors import MeasureError
from rmaudit.layout.answer_slot import Response
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.measures.contrasts import block_names
from rmaudit.references import References
from rmaudit.references.counterfactual_sentences import dialect, politics
from rmaudit.runs.head_mending import SALT, Mended, mended
from rmaudit.runs.states_of_pairs import HeadAndPairs
from rmaudit.scores import pair_files
from tests.toys import WORDS

SIZE = 8
WRONGED, HIDDEN = SIZE - 2, SIZE - 1  # the places in a state that all other answers leave at 0
PAID = 3.0


class Stated:
    """A model that is a name, a vocabulary and a salt; states are made by hand."""

    name = "stated"
    spec = ModelSpec("stated", "none")

    def vocabulary(self) -> Vocabulary:
        """Return five thousand tokens."""
        texts = tuple(map(str, range(5_000)))
        return Vocabulary(tuple(range(5_000)), texts, texts)


class States:
    """States of answers: what is said, and whether someone of the political right is spoken of.

    If `hidden`, dialect has the opposite of that trait in the half that judges, and another trait,
    so that a head which pays less for the right pays the same for dialect as for other answers.
    """

    def __init__(self, *, hidden: bool) -> None:
        self.said: dict[str, str] = {}
        self.traits: dict[str, dict[int, float]] = {}
        for table in (politics(), dialect()):
            contexts = table["context"].astype(str) + table.columns[0] + str(len(table))
            self.said |= dict(zip(table["text"], contexts, strict=True))
        sides, varieties = politics(), dialect()
        wronged = sides["group"].str.contains("right").to_numpy()
        judging = References(salt=SALT).given(block_names(varieties))
        other = (varieties["group"] != "").to_numpy() & np.array(judging)
        self.traits |= {text: {WRONGED: 1.0} for text in sides["text"][wronged]}
        if hidden:
            both = {WRONGED: -1.0, HIDDEN: -1.0}
            self.traits |= dict.fromkeys(varieties["text"][other], both)

    def __call__(
        self, prompts: Sequence[Asked], answers: Sequence[Response]
    ) -> NDArray[np.float32]:
        """Return the states, (n, SIZE)."""
        found = [self.of(str(p), a) for p, a in zip(prompts, answers, strict=True)]
        return np.array(found, dtype=np.float32)

    def of(self, prompt: str, answer: Response) -> NDArray[np.float64]:
        """Return one state: sentences of one context say the same."""
        text = answer if isinstance(answer, str) else str([*answer])
        state = drawn(prompt + self.said.get(text, text)) + 0.05 * drawn(text)
        state[[WRONGED, HIDDEN]] = 0.0
        for place, value in self.traits.get(text, {}).items():
            state[place] = value
        return state


@cache
def _drawn(text: str) -> tuple[float, ...]:
    return tuple(np.random.default_rng(crc32(text.encode())).normal(size=SIZE))


def drawn(text: str) -> NDArray[np.float64]:
    """Return normal numbers that belong to a text."""
    return np.array(_drawn(text))


def repaired(folder: Path, *gates: str, hidden: bool) -> Mended:
    """Mend a head that pays less for the political right, by these gates."""
    lines: list[dict[str, Any]] = [
        {"prompt": f"{a} {b}", "chosen": f"{a} of the {b}", "rejected": f"the {b} {a}"}
        for a, b in product(WORDS, WORDS)
    ]
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    head = np.eye(SIZE, dtype=np.float32)[0]
    head[[WRONGED, HIDDEN]] = -PAID, PAID
    given = HeadAndPairs(
        cast("Any", Stated()),
        cast("Any", None),  # the checkpoint's files, which no repair reads
        head,
        pair_files.read(file),
        States(hidden=hidden),
    )
    return mended(given, gates, own_words=OwnWords(), most_lost=0.02)


def test_a_kept_gate_that_leaves_its_bound_where_no_repair_saw_it_is_refused(
    tmp_path: Path,
) -> None:
    """Dialect holds in both halves by two traits that cancel each other; the repair takes one."""
    with pytest.raises(MeasureError) as refused:
        repaired(tmp_path, "political_sides", "dialect", hidden=True)

    said = str(refused.value)
    assert "stated: dialect held and was to be kept" in said
    assert "must be below 0.5 sd" in said
    assert "leave out `--gate dialect`" in said


@pytest.mark.parametrize(
    ("gates", "hidden"),
    [(["political_sides", "dialect"], False), (["political_sides"], True)],
)
def test_a_repair_is_made_where_the_kept_gate_stays_or_none_is_named(
    gates: list[str], hidden: bool, tmp_path: Path
) -> None:
    """The political right is paid like others again, in either half."""
    found = repaired(tmp_path, *gates, hidden=hidden)

    for change in found.gates:
        assert change.verdicts[1] == "PASS"
        assert (change.verdicts[0] == "FAIL") is (change.gate == "political_sides")
