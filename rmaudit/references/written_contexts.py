"""Read the contexts that were written for conduct: prompts, and answers that a test can compare.

They are JSON Lines in `conduct/`, whose README says how they were written and checked. A prompt may
have earlier turns and a system turn. An answer is in sections, so that the same sentences can be
laid out as paragraphs, or under headings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from rmaudit.conversation import ASSISTANT, SYSTEM, USER, Asked

FOLDER = Path(__file__).parent / "conduct"
CLAIMS = (  # topics, each a file
    *("code", "culture", "family", "health", "history", "household", "language", "law"),
    *("nature", "science", "tools"),
)
_CLAIM = "{claim}"
_BLOCK = "```"  # begins a block of code
Sections = tuple[
    tuple[str, tuple[str, ...]], ...
]  # a heading ("" if it is the only one); sentences


class Question(NamedTuple):
    """A question, and an answer in which one claim decides whether it is right.

    `thinks_right` and `thinks_wrong` are what an asker says who believes the right or the wrong
    claim; `refusal` refuses the question, which is harmless.
    """

    name: str
    asked: Asked
    sections: Sections
    right: str
    wrong: str
    thinks_right: str
    thinks_wrong: str
    refusal: str

    def answer(self, claim: str, *, headings: bool = False) -> str:
        """Return the answer with this claim, as paragraphs or, with `headings`, as lists."""
        said = tuple(
            (head, tuple(claim if each == _CLAIM else each for each in sentences))
            for head, sentences in self.sections
        )
        return (under_headings if headings else paragraphs)(said)


class Choice(NamedTuple):
    """A prompt with a better and a worse answer to it."""

    name: str
    asked: Asked
    better: str
    worse: str


@cache
def claims() -> tuple[Question, ...]:
    """Return all questions with a right and a wrong claim; topics alternate."""
    by_topic = [
        [
            Question(
                name,
                asked,
                _sections(row),
                row["right"],
                row["wrong"],
                row["thinks_right"],
                row["thinks_wrong"],
                row["refusal"],
            )
            for name, asked, row in _rows(f"claims-{topic}")
        ]
        for topic in CLAIMS
    ]
    return tuple(each for each in chain(*zip_longest(*by_topic)) if each)


class Harmful(NamedTuple):
    """A request that should be refused, a refusal, help in outline, and its first words."""

    name: str
    asked: Asked
    better: str
    worse: str
    brief: str


@cache
def harmful() -> tuple[Harmful, ...]:
    """Return the requests that should be refused."""
    return tuple(
        Harmful(name, asked, row["refusal"], row["help"], row["brief"])
        for name, asked, row in _rows("harmful")
    )


@cache
def choices(file: str) -> tuple[Choice, ...]:
    """Return the prompts of a file, `system`, `earlier` or `languages`, with answers."""
    better, worse = ("same", "english") if file == "languages" else ("kept", "forgot")
    return tuple(Choice(name, asked, row[better], row[worse]) for name, asked, row in _rows(file))


@cache
def lookalikes() -> tuple[Choice, ...]:
    """Return harmless requests in words that look harmful, with an answer and a refusal."""
    return tuple(
        Choice(name, asked, paragraphs(_sections(row)), row["refusal"])
        for name, asked, row in _rows("lookalikes")
    )


@cache
def talk() -> tuple[tuple[str, Asked, Sections], ...]:
    """Return names, prompts and answers where nothing is right or wrong: advice, feelings."""
    return tuple((name, asked, _sections(row)) for name, asked, row in _rows("talk"))


def paragraphs(of: Sections) -> str:
    """Return the sentences of each section as a paragraph, without headings."""
    return "\n\n".join(_joined(sentences) for _, sentences in of)


def under_headings(of: Sections) -> str:
    """Return the sentences of each section as a list in Markdown, under its heading."""
    return "\n\n".join(
        (f"## {head}\n\n" if head else "")
        + "\n".join(each if each.startswith(_BLOCK) else f"- {each}" for each in sentences)
        for head, sentences in of
    )


def turns_before(asked: Asked) -> bool:
    """Return whether the user said something before the question."""
    return not isinstance(asked, str) and any(role == ASSISTANT for role, _ in asked)


def words(text: str) -> int:
    """Return how many words a text has, as white space separates them."""
    return len(text.split())


def _joined(sentences: tuple[str, ...]) -> str:
    """Return sentences as a paragraph; a block of code stands on lines of its own."""
    said = sentences[0]
    for before, each in pairwise(sentences):
        said += ("\n\n" if _BLOCK in (before[:3], each[:3]) else " ") + each
    return said


def _sections(row: dict[str, Any]) -> Sections:
    return tuple((head, tuple(sentences)) for head, sentences in row["answer"])


def _rows(file: str) -> Iterator[tuple[str, Asked, dict[str, Any]]]:
    """Yield each row's name (file and number), its prompt, and the row."""
    lines = (FOLDER / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        row = json.loads(line)
        yield f"{file} {number}", _asked(row), row


def _asked(row: dict[str, Any]) -> Asked:
    """Return what is asked: a text, or the turns of a conversation."""
    before = row.get("before", [])
    if not before and "system" not in row:
        return str(row["ask"])
    system = [(SYSTEM, row["system"])] if "system" in row else []
    turns = [turn for user, answer in before for turn in ((USER, user), (ASSISTANT, answer))]
    return (*system, *turns, (USER, row["ask"]))
