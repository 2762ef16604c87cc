"""Pairs of a file, as RewardBench and TRL have them: a prompt, a chosen and a rejected answer.

A line is a JSON object with `prompt`, `chosen` and `rejected`, each of these two a text or a list
of texts, or a conversation (`pair_turns`); `subset` and `group` may say what it belongs to. Other
fields are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rmaudit.checkpoints.reader_errors import short
from rmaudit.errors import SpecError
from rmaudit.models.protocol import Scored
from rmaudit.scores import pair_turns
from rmaudit.scores.answer_files import ASKED, rewards
from rmaudit.scores.json_lines import asked, objects, shown, text
from rmaudit.scores.store import Store
from rmaudit.scores.stored_scores import checksum

EXAMPLE = '{"prompt": "What is love?", "chosen": "A song.", "rejected": "A stone."}'
COLUMNS = ["line", *ASKED, "response", "chosen", "subset", "group"]
MEASURED_ON = "Measured on "
OURS = "rmaudit's own pairs"  # where those come from that it brings
_ANSWERS = ("chosen", "rejected")
_Row = tuple[int, str, str, str, bool, str, str]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of answers, and how a model rewards them: what an audit is given.

    Attributes:
        frame: a row for each answer, in the file's order. `line` (its line in the file, from 1),
            `prompt`, `turns` (of a conversation, in JSON, else ""), `response`, `chosen` (a bool),
            `subset` ("" without one), `group` (what is not independent of each other: the line's
            own, else its prompt), and `reward`, float32 in the model's own units: NaN before
            anything is scored.
        noise: the numeric noise of a reward, in the same units; NaN if it was not measured.
        source: where they come from, in words.
        key: of the rewards in the store.
    """

    frame: pd.DataFrame
    source: str
    noise: float = float("nan")
    key: str = ""


def measured_on(source: str) -> str:
    """The caveat of a finding that rests on pairs from there."""
    return f"{MEASURED_ON}{source}."


def read(path: Path) -> Pairs:
    """The pairs of a JSON Lines file, without rewards.

    Raises:
        SpecError: FILE:LINE, what is wrong there, and what is allowed; a pair that is there twice
            is wrong too.
    """
    rows: list[_Row] = []
    first: dict[tuple[object, ...], int] = {}
    for number, line in objects(path, allowed="an object with prompt, chosen and rejected"):
        where = f"{path}:{number}"
        found = list(_answers(line, number, where))
        pair = (
            found[0][1:3],
            frozenset(row[3] for row in found if row[4]),
            frozenset(row[3] for row in found if not row[4]),
        )
        if (before := first.setdefault(pair, number)) != number:
            message = f"{where}: the pair of line {before} again, which would count twice; "
            raise SpecError(f"{message}leave one of them out")
        rows += found
    if not rows:
        raise SpecError(f"{path}: has no pairs; a line is {EXAMPLE}")
    frame = pd.DataFrame(rows, columns=COLUMNS)
    lines = f"{len(first):,} pairs" if len(first) > 1 else "1 pair"
    return Pairs(
        frame.assign(reward=float("nan")), f"{lines} of {path.name}, {checksum(frame)[:12]}"
    )


def rewarded(model: Scored, pairs: Pairs, *, cache: Path | Store | None = None) -> Pairs:
    """The same with the model's rewards. Raises as `answer_files.rewards` does."""
    found = rewards(model, pairs.frame, cache=cache)
    return replace(
        pairs, frame=pairs.frame.assign(reward=found.scores), noise=found.noise, key=found.key
    )


def _answers(found: dict[str, Any], number: int, where: str) -> Iterator[_Row]:
    """A row for each answer of a line."""
    turns = pair_turns.has_turns(found)  # whose prompt stands in them
    needed = _ANSWERS if turns else ("prompt", *_ANSWERS)
    if missing := [name for name in needed if name not in found]:
        has = short(", ".join(map(shown, found))) or "nothing"
        raise SpecError(
            f"{where}: has no {' and no '.join(missing)}, but {has}; a line is {EXAMPLE}, or "
            f"chosen and rejected are {pair_turns.ALLOWED}"
        )
    if turns:
        prompt, chosen, rejected = pair_turns.split(found, where)
        given = {"chosen": [chosen], "rejected": [rejected]}
    else:
        prompt = asked(found["prompt"], f"{where}: prompt")
        given = {field: _texts(found[field], f"{where}: {field}") for field in _ANSWERS}
    subset = _name(found, "subset", where)
    group = _name(found, "group", where) or "".join(prompt)
    seen: set[str] = set()
    for field, responses in given.items():
        for response in responses:
            if response in seen:
                message = f"{where}: {field} has {shown(response)}, which this line has already; "
                raise SpecError(f"{message}an answer is there once, chosen or rejected")
            seen.add(response)
            yield number, *prompt, response, field == "chosen", subset, group


def _texts(value: object, what: str) -> list[str]:
    """One text or several."""
    given = value if isinstance(value, list) else [value]
    if not given:
        raise SpecError(f"{what} is an empty list, allowed: a text, or a list of texts or turns")
    return [text(each, what) for each in given]


def _name(found: dict[str, Any], field: str, where: str) -> str:
    """A subset's or a group's name, "" where the line has none."""
    value = found.get(field)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise SpecError(f"{where}: {field} is {shown(value)}, allowed: a text or a whole number")
    return text(str(value), f"{where}: {field}")
