"""Read a file of rows that a trainer or a server logged: what it scored, and which reward it gave.

The file is JSON Lines. Each line has `reward`, and what was scored: `ids`, the token ids that ran
(with their padding, if that is how they were logged), or `text`, the whole text that was tokenized,
or `prompt` and `response`, which somebody laid out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmaudit import conversation
from rmaudit.conversation import Asked
from rmaudit.errors import SpecError
from rmaudit.models.external_scorer_batches import finite
from rmaudit.scores import json_lines

FEWEST, MOST = 8, 256  # rows: fewer tell little, more take long
_KINDS = (("ids",), ("text",), ("prompt", "response"))
_ALLOWED = "an object with `reward` and one of these: `ids`; `text`; `prompt` with `response`"


@dataclass(frozen=True, slots=True)
class LoggedRow:
    """A logged reward, and what was scored: `ids`, or `text`, or `prompt` and `response`.

    Fields that were not logged are None. `decimals` is the number of digits after the point with
    which the reward was written.
    """

    reward: float
    decimals: int
    ids: tuple[int, ...] | None = None
    text: str | None = None
    prompt: Asked | None = None
    response: str | None = None


def read(path: Path) -> list[LoggedRow]:
    """Read a file of logged rows; of more than 256, return at most 256 spread over the file.

    Raises:
        SpecError: the file cannot be read, has fewer than 8 rows or one reward for all; or a line
            is no such row, or is of another kind than the first.
    """
    rows: list[LoggedRow] = []
    kinds = set()
    for number, found in json_lines.objects(path, allowed=_ALLOWED):
        where = f"{path}:{number}"
        keys = next((kind for kind in _KINDS if all(key in found for key in kind)), None)
        if keys is None or "reward" not in found:
            message = f"{where}: it has {', '.join(found) or 'nothing'}; expected {_ALLOWED}"
            raise SpecError(message)
        kinds.add(keys)
        if len(kinds) > 1:
            message = f"{where}: rows before it have other fields; give one kind of rows in a file"
            raise SpecError(message)
        rows.append(_row(found, keys, where))
    if len(rows) < FEWEST:
        message = f"{path}: {len(rows)} rows, needed: at least {FEWEST}, better 50; log more"
        raise SpecError(message)
    step = max(1, -(-len(rows) // MOST))
    kept = rows[: step * MOST : step]
    if len({row.reward for row in kept}) == 1:
        message = (
            f"{path}: {len(kept)} rows have one reward, {kept[0].reward:g}, and no two can be "
        )
        raise SpecError(f"{message}compared; log the rewards of different answers")
    return kept


def _row(found: dict[str, Any], keys: tuple[str, ...], where: str) -> LoggedRow:
    reward = finite(found["reward"])
    if reward is None:
        message = (
            f"{where}: reward is {json_lines.shown(found['reward'])}, allowed: a finite number"
        )
        raise SpecError(message)
    written = repr(found["reward"])
    decimals = len(written.partition(".")[2]) if "e" not in written else 16
    if keys == ("ids",):
        ids = found["ids"]
        if not isinstance(ids, list) or not ids or any(type(i) is not int or i < 0 for i in ids):
            message = f"{where}: ids is {json_lines.shown(ids)}, allowed: a list of token ids"
            raise SpecError(message)
        return LoggedRow(reward, decimals, ids=tuple(ids))
    if keys == ("text",):
        return LoggedRow(reward, decimals, text=json_lines.text(found["text"], f"{where}: text"))
    prompt, turns = json_lines.prompt_columns(found["prompt"], f"{where}: prompt")
    response = json_lines.text(found["response"], f"{where}: response")
    asked = conversation.from_columns(prompt, turns)
    return LoggedRow(reward, decimals, prompt=asked, response=response)
