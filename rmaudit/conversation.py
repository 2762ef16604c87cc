"""Represent conversations as prompts: turns of system, user and assistant before an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from reprlib import repr as shortened

from rmaudit.errors import SpecError

Turns = tuple[tuple[str, str], ...]  # role and content of each
Asked = str | Turns  # what a model is asked: a text of the user's, or a conversation

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
ROLES = (SYSTEM, USER, ASSISTANT)
_ORDER = "an optional system turn, then user and assistant in turns, the last of them user"


def turns(given: object, of: str) -> Turns:
    """Return a chat template's list of messages as (role, content) pairs; raise if it is invalid.

    `of` begins the error message.

    Raises:
        SpecError: a turn has another key, another role or no text, or stands out of order.
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        message = f"{of}expected a list of turns, each with role and content, got "
        raise SpecError(f"{message}{shortened(given)}")
    found = tuple(_turn(turn, f"{of}turn {number}: ") for number, turn in enumerate(given, 1))
    talk = found[1:] if found[0][0] == SYSTEM else found
    for number, (role, _) in enumerate(talk):
        wanted = ASSISTANT if number % 2 else USER
        if role != wanted:
            place = number + 1 + len(found) - len(talk)
            raise SpecError(f"{of}turn {place}: role {role}, expected {wanted}: {_ORDER}")
    if not talk or talk[-1][0] != USER:
        last = f"{of}turn {len(found)}: the last turn is of the role {found[-1][0]}"
        raise SpecError(f"{last}, and the answer follows a user's: {_ORDER}")
    return found


def _turn(given: object, of: str) -> tuple[str, str]:
    if not isinstance(given, Mapping) or set(given) != {"role", "content"}:
        got = sorted(map(str, given)) if isinstance(given, Mapping) else given
        raise SpecError(f"{of}expected a mapping with the keys role, content, got {shortened(got)}")
    role, content = given["role"], given["content"]
    if role not in ROLES:
        raise SpecError(f"{of}role {shortened(role)}, allowed: {', '.join(ROLES)}")
    if not isinstance(content, str) or not content.strip():
        raise SpecError(f"{of}content {shortened(content)}, allowed: a text that is not empty")
    return role, content


def as_text(of: Turns) -> str:
    """Return the turns as text for people, a line each: `system: ...`."""
    return "\n".join(f"{role}: {content}" for role, content in of)


def as_json(of: Turns) -> str:
    """Return the turns as JSON: a list of [role, content]."""
    return json.dumps(of)


def messages(asked: Asked) -> list[dict[str, str]]:
    """Return the list of messages that a chat template takes; a text becomes one user turn."""
    said = ((USER, asked),) if isinstance(asked, str) else asked
    return [{"role": role, "content": content} for role, content in said]


def columns(asked: Asked) -> tuple[str, str]:
    """Return a prompt as two table cells: as people read it, and its turns as JSON (or "")."""
    return (asked, "") if isinstance(asked, str) else (as_text(asked), as_json(asked))


def from_columns(prompt: str, turns: str) -> Asked:
    """Return the prompt (a text, or turns) from the two table cells that `columns` returns."""
    return tuple((role, content) for role, content in json.loads(turns)) if turns else prompt


def beginning(asked: Asked, words: str) -> Asked:
    """Return the prompt with `words` put before the text of its last user turn."""
    if isinstance(asked, str):
        return words + asked
    *before, (role, content) = asked
    return (*before, (role, words + content))
