"""Read files of pairs of a chosen and a rejected answer, as RewardBench and TRL write them.

A line is a JSON object with `prompt`, `chosen` and `rejected`, each of these two a text or a list
of texts, or a conversation; `subset` and `group` may say what it belongs to. Other
fields are ignored. RewardBench 2's file is known by its fields (`leaderboards`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.conversation import ASSISTANT, USER, as_text
from rmaudit.errors import SpecError
from rmaudit.references.conduct_answers import KINDS, OWN, PART, conduct
from rmaudit.scores.answer_files import ASKED, Answered
from rmaudit.scores.json_lines import prompt_columns, shown, text
from rmaudit.scores.json_lines import rows as rows_of
from rmaudit.scores.leaderboards import LICENCE, as_pairs, board_of
from rmaudit.scores.score_parquet import checksum

ALLOWED = (
    "lists of turns which begin with the same prompt and differ in one last turn of the assistant's"
)
EXAMPLE = '{"prompt": "What is love?", "chosen": "A song.", "rejected": "A stone."}'
COLUMNS = ["line", *ASKED, "response", "chosen", "subset", "group"]
OURS = "rmaudit's own pairs"  # where those come from that it brings
_ANSWERS = ("chosen", "rejected")
_Row = tuple[int, str, str, str, bool, str, str]


@dataclass(frozen=True, slots=True)
class Pairs(Answered):
    """Pairs of a chosen and a rejected answer with a model's rewards, as audits of pairs get them.

    Attributes:
        frame: also has, for each answer, `line` (its line in the file, from 1), `chosen` (a bool),
            `subset` ("" without one) and `group` (answers of one group are not independent: lines
            that share a prompt, or what the file calls their group, are of one). In a leaderboard's
            file also `id`, the row's own.
        board: the leaderboard whose file it is (`leaderboards`); "" for other pairs.
    """

    board: str = ""


def measured_on(source: str) -> str:
    """Return a caveat for readers: the finding was measured on the pairs from `source`."""
    return f"Measured on {source}."


def read(path: Path) -> Pairs:
    """Return the pairs in a JSON Lines, JSON or Parquet file, or a leaderboard's; no rewards.

    In a leaderboard's file, rows and answers may occur twice, as its own program counts them twice.

    Raises:
        SpecError: FILE:LINE, what is wrong there, and what is allowed; a pair that occurs twice
            is wrong too.
    """
    rows: list[_Row] = []
    ids: dict[int, str] = {}
    first: dict[tuple[object, ...], int] = {}
    board = ""
    for number, row in rows_of(path, allowed="an object with prompt, chosen and rejected"):
        where = f"{path}:{number}"
        board = board or ("" if rows else board_of(row, where))
        line = as_pairs(row, where) if board else row
        found = list(_answers_of_line(line, number, where, repeats=bool(board)))
        pair = (
            found[0][1:3],
            frozenset(row[3] for row in found if row[4]),
            frozenset(row[3] for row in found if not row[4]),
        )
        before = first.setdefault(pair, number)
        if before != number and not board:
            message = f"{where}: the pair of line {before} again, which would count twice; "
            raise SpecError(f"{message}leave one of them out")
        rows += found
        ids[number] = str(row.get("id", ""))
    if not rows:
        raise SpecError(f"{path}: has no pairs; a line is {EXAMPLE}")
    frame = pd.DataFrame(rows, columns=COLUMNS)
    source = f"{len(ids):,} pairs of {path.name}" if len(ids) > 1 else f"1 pair of {path.name}"
    if board:
        frame = frame.assign(id=frame["line"].map(ids))
        source += f", which is {board}'s ({LICENCE})"
    source += f", {checksum(frame)[:12]}"
    frame = frame.assign(group=_joined_groups(frame), reward=float("nan"))
    return Pairs(frame, source, board=board)


def _joined_groups(frame: pd.DataFrame) -> pd.Index[str]:
    """Return each row's group; groups that have a prompt in common are one, by its first name.

    Prompts are what is drawn: what is a prompt's own is in the rewards of all answers to it.
    """
    asked = frame["prompt"] + "\n" + frame["turns"]
    codes, names = pd.factorize(frame["group"])
    before, joined = pd.Series(-1, frame.index), pd.Series(codes, frame.index)
    while not joined.equals(before):
        before, joined = (
            joined,
            joined.groupby(asked).transform("min").groupby(codes).transform("min"),
        )
    return names.take(joined.to_numpy())


def _answers_of_line(
    found: dict[str, Any], number: int, where: str, *, repeats: bool
) -> Iterator[_Row]:
    """Yield a row per answer of the parsed line `number`; raise on repeats unless `repeats`."""
    turns = any(_is_turns(found.get(field)) for field in _ANSWERS)  # whose prompt stands in them
    needed = _ANSWERS if turns else ("prompt", *_ANSWERS)
    if missing := [name for name in needed if name not in found]:
        has = short(", ".join(map(shown, found))) or "nothing"
        raise SpecError(
            f"{where}: has no {' and no '.join(missing)}, but {has}; a line is {EXAMPLE}, or "
            f"chosen and rejected are {ALLOWED}"
        )
    if turns:
        prompt, chosen, rejected = split_turns(found, where)
        given = {"chosen": [chosen], "rejected": [rejected]}
    else:
        prompt = prompt_columns(found["prompt"], f"{where}: prompt")
        given = {field: _texts(found[field], f"{where}: {field}") for field in _ANSWERS}
    subset = _subset_or_group(found, "subset", where)
    group = _subset_or_group(found, "group", where) or "".join(prompt)
    seen: set[str] = set()
    for field, responses in given.items():
        for response in responses:
            if response in seen and not repeats:
                message = f"{where}: {field} has {shown(response)}, which this line has already; "
                raise SpecError(f"{message}an answer is there once, chosen or rejected")
            seen.add(response)
            yield number, *prompt, response, field == "chosen", subset, group


def _texts(value: object, what: str) -> list[str]:
    """Return `value`, a text or a list of texts, as a list; raise, naming it `what`, if neither."""
    given = value if isinstance(value, list) else [value]
    if not given:
        raise SpecError(f"{what} is an empty list, allowed: a text, or a list of texts or turns")
    return [text(each, what) for each in given]


def _subset_or_group(found: dict[str, Any], field: str, where: str) -> str:
    """Return a line's `subset` or `group` (whichever `field` names) as text; "" if it has none."""
    value = found.get(field)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise SpecError(f"{where}: {field} is {shown(value)}, allowed: a text or a whole number")
    return text(str(value), f"{where}: {field}")


def split_turns(line: Mapping[str, Any], where: str) -> tuple[tuple[str, str], str, str]:
    """Return the prompt (its text, its turns), chosen and rejected answer of a line with turns.

    `chosen` and `rejected` are conversations that differ in their last turns only. The prompt is
    the pair of `json_lines.prompt_columns`. `where` begins the error messages.

    Raises:
        SpecError: the line has no prompt or two of them, or more differs than the last turn.
    """
    texts = [field for field in _ANSWERS if not _is_turns(line[field])]
    if texts:
        raise SpecError(
            f"{where}: {texts[0]} is {shown(line[texts[0]])} and the other a list of turns, "
            f"allowed: two texts, or two {ALLOWED}"
        )
    chosen, rejected = ([_without_nulls(turn) for turn in line[field]] for field in _ANSWERS)
    given = line.get("prompt")
    if all(len(turns) == 1 and _role(turns[0]) == ASSISTANT for turns in (chosen, rejected)):
        if given is None:
            raise SpecError(f"{where}: has answers and no prompt, allowed: a prompt, or {ALLOWED}")
        prompt = prompt_columns(given, f"{where}: prompt")
    else:
        prompt = _common_prompt(chosen, rejected, where)
        _refuse_other_prompt(given, prompt, chosen[:-1], where)
    return (
        prompt,
        _last_answer(chosen, f"{where}: chosen"),
        _last_answer(rejected, f"{where}: rejected"),
    )


def _is_turns(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def _without_nulls(turn: object) -> Any:  # noqa: ANN401  (whatever stands in the file)
    """Return a turn without null fields, which table formats add; role and content stay."""
    if not isinstance(turn, dict):
        return turn
    needed = {"role", "content"}
    return {key: value for key, value in turn.items() if value is not None or key in needed}


def _role(turn: object) -> object:
    return turn.get("role") if isinstance(turn, dict) else None


def _common_prompt(chosen: list[Any], rejected: list[Any], where: str) -> tuple[str, str]:
    """Return the turns that two conversations share, as a prompt: its text, and its turns in JSON.

    Raises:
        SpecError: they differ in more than their last turn, or in nothing.
    """
    same = 0
    for one, other in zip(chosen, rejected, strict=False):
        if one != other:
            break
        same += 1
    after = len(chosen) - same, len(rejected) - same
    if after == (0, 0):
        found = f"are the same {same} turns" if same else "have no turn"
        raise SpecError(f"{where}: chosen and rejected {found}; allowed: {ALLOWED}")
    if not same or after != (1, 1):
        found = f"{len(chosen)} and {len(rejected)} turns, of which the first {same} are the same"
        raise SpecError(f"{where}: chosen and rejected have {found}; allowed: {ALLOWED}")
    return prompt_columns(chosen[:same], f"{where}: chosen")


def _refuse_other_prompt(
    given: object, prompt: tuple[str, str], turns: list[dict[str, Any]], where: str
) -> None:
    """Raise unless a row's own prompt (`given`) is None, a user's turn, or all `turns` as text.

    UltraFeedback repeats the user's text in a separate prompt.
    """
    if given is None:
        return
    if not isinstance(given, str):
        raise SpecError(
            f"{where}: prompt is {shown(given)}, and chosen begins with a prompt of its own; "
            f"allowed: chosen and rejected as one turn of the assistant's each, or no prompt"
        )
    said = tuple((turn["role"], turn["content"]) for turn in turns)
    users = [content for role, content in said if role == USER]
    if given.strip() not in {known.strip() for known in (*users, as_text(said), prompt[0])}:
        raise SpecError(
            f"{where}: prompt is {shown(given)}, and the turns of chosen ask {shown(users[-1])}; "
            f"allowed: the same text, or no prompt"
        )


def _last_answer(turns: list[Any], what: str) -> str:
    """Return the text of the last turn; raise if the last turn is not the assistant's."""
    last, place = turns[-1], f"{what}: turn {len(turns)}"
    if not isinstance(last, dict) or set(last) != {"role", "content"}:
        got = short(", ".join(map(shown, last))) if isinstance(last, dict) else shown(last)
        raise SpecError(f"{place} has {got or 'nothing'}, allowed: role and content")
    if last["role"] != ASSISTANT:
        raise SpecError(f"{place} has the role {shown(last['role'])}, allowed: {ASSISTANT}")
    return text(last["content"], f"{place}: content")


PREFIX = "conduct: "  # of a subset: a file may well have a subset "code" of its own


def conduct_pairs(
    own: Pairs | None, kinds: Collection[str] = KINDS, *, every: bool = True
) -> Pairs:
    """Return pairs of answers of these kinds: bundled, and the user's of a subset "conduct: KIND".

    A kind is, for example, "agreement". Without `every` there are `PART` contexts of each bundled
    kind.

    Raises:
        SpecError: such a subset names no kind, or one of `SAME`, which has two prompts for a pair.
    """
    bundled = conduct(every=every)
    frame = bundled.assign(line=bundled.index // 2 + 1)[COLUMNS]
    last = len(frame)
    frame = frame[frame["subset"].isin(kinds)].reset_index(drop=True)
    source = OURS if every else f"{OURS} (of each kind {PART} contexts; --rm-all takes all)"
    if own is not None and len(joined := own.frame[own.frame["subset"].str.startswith(PREFIX)]):
        named = joined["subset"].str.removeprefix(PREFIX)
        if (wrong := ~named.isin(OWN)).any():
            line, subset = joined[wrong].iloc[0][["line", "subset"]]
            raise SpecError(
                f"line {line} of the {own.source}: subset is {subset!r}, allowed after "
                f"{PREFIX!r}: {', '.join(OWN)}"
            )
        joined = joined.assign(subset=named, line=joined["line"] + last)[named.isin(kinds)]
        frame = pd.concat([frame, joined[COLUMNS]], ignore_index=True)
        source = f"{source} and {joined['line'].nunique():,} of the {own.source}"
    return Pairs(frame.assign(reward=float("nan")), source)
