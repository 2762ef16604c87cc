"""Pairs whose answers are lists of turns, as TRL, UltraFeedback and RewardBench's loader have them.

Either both lists begin with the prompt, which is what they have in common (TRL's implicit prompt,
`rewardbench --load_json`), or each is one turn of the assistant's, after a prompt of its own (TRL's
explicit prompt). https://huggingface.co/docs/trl/dataset_formats, `load_and_process_dataset` of
RewardBench.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rmaudit.checkpoints.reader_errors import short
from rmaudit.conversation import ASSISTANT, USER, as_text
from rmaudit.errors import SpecError
from rmaudit.scores.json_lines import asked, shown, text

ALLOWED = (
    "lists of turns which begin with the same prompt and differ in one last turn of the assistant's"
)
_FIELDS = ("chosen", "rejected")
_Turn = dict[str, Any]


def has_turns(line: Mapping[str, Any]) -> bool:
    """Return whether `chosen` or `rejected` of a line is a list of turns."""
    return any(_is_turns(line.get(field)) for field in _FIELDS)


def split(line: Mapping[str, Any], where: str) -> tuple[tuple[str, str], str, str]:
    """Return the prompt of a line as `json_lines.asked` has it, and its two answers.

    `where` begins what is said of a line that is wrong.

    Raises:
        SpecError: the line has no prompt or two of them, or more differs than the last turn.
    """
    texts = [field for field in _FIELDS if not _is_turns(line[field])]
    if texts:
        raise SpecError(
            f"{where}: {texts[0]} is {shown(line[texts[0]])} and the other a list of turns, "
            f"allowed: two texts, or two {ALLOWED}"
        )
    chosen, rejected = ([_plain(turn) for turn in line[field]] for field in _FIELDS)
    given = line.get("prompt")
    if all(len(turns) == 1 and _role(turns[0]) == ASSISTANT for turns in (chosen, rejected)):
        if given is None:
            raise SpecError(f"{where}: has answers and no prompt, allowed: a prompt, or {ALLOWED}")
        prompt = asked(given, f"{where}: prompt")
    else:
        prompt = _in_common(chosen, rejected, where)
        _refuse_another(given, prompt, chosen[:-1], where)
    return (
        prompt,
        _answer(chosen, f"{where}: chosen"),
        _answer(rejected, f"{where}: rejected"),
    )


def _is_turns(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def _plain(turn: object) -> Any:  # noqa: ANN401  (whatever stands in the file)
    """Return a turn without the fields that are null: tables have each field in every turn."""
    if not isinstance(turn, dict):
        return turn
    needed = {"role", "content"}
    return {key: value for key, value in turn.items() if value is not None or key in needed}


def _role(turn: object) -> object:
    return turn.get("role") if isinstance(turn, dict) else None


def _in_common(chosen: list[Any], rejected: list[Any], where: str) -> tuple[str, str]:
    """Return the turns before the last, which are the same in both."""
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
    return asked(chosen[:same], f"{where}: chosen")


def _refuse_another(given: object, prompt: tuple[str, str], turns: list[_Turn], where: str) -> None:
    """Refuse a prompt beside the turns, unless it is the text of a user's turn, or of all of them.

    UltraFeedback repeats the user's text there.
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


def _answer(turns: list[Any], what: str) -> str:
    """Return the text of the last turn, which is the assistant's."""
    last, place = turns[-1], f"{what}: turn {len(turns)}"
    if not isinstance(last, dict) or set(last) != {"role", "content"}:
        got = short(", ".join(map(shown, last))) if isinstance(last, dict) else shown(last)
        raise SpecError(f"{place} has {got or 'nothing'}, allowed: role and content")
    if last["role"] != ASSISTANT:
        raise SpecError(f"{place} has the role {shown(last['role'])}, allowed: {ASSISTANT}")
    return text(last["content"], f"{place}: content")
