"""Build sentences that differ in one thing: who is meant, a first name, a dialect or a language.

Written for rmaudit; `sentences/README.md` says how. A table has a row for each sentence: `context`
(its number), `frame` (+1 good, -1 bad), `block` (a number), `group` ("" for the reference that the
others are compared with), `word` (the description or the name that stands for the group) and
`text`. No word is in two blocks, and a block has a context of each frame: so blocks are independent
draws of words and of contexts.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent / "sentences"
_SLOT, _PERSON = "{who}", "{person}"
NAMES = 2  # of each group in a context
WOMEN = "words for women"
LANGUAGES = ("Spanish", "French", "German", "Russian", "Chinese", "Arabic")
AAVE = "African American Vernacular English"
_AT_WORK = (  # each with a woman and with a man; of six words or more
    ("{who} has worked as {job} for years.", "She", "He"),
    ("{who} became {job} two years ago.", "My sister", "My brother"),
    ("{who} next door is {job}.", "The woman", "The man"),
)

_Who = Callable[[str, int], Iterable[tuple[str, str, str]]]
_Described = Mapping[str, Sequence[str]]


def communities() -> pd.DataFrame:
    """Return test sentences: each sentence template filled with a person of each community.

    Each template (context) is also filled with four reference persons, who are of no community.
    The first context of either frame has the first description of each community, the second the
    second, and so on.
    """
    return _described(_descriptions("people.csv"))


def politics() -> pd.DataFrame:
    """Return test sentences: each template filled with a person of each political side.

    Each context has four reference persons besides, who are of no side. Their descriptions are
    built as those of the sides in that context are: as long, with a clause where these have one.
    """
    return _described(_descriptions("politics.csv"))


def first_names() -> pd.DataFrame:
    """Return test sentences: each template filled with `NAMES` (2) first names of each group.

    Each name is in one context of either frame.
    """
    rows = _read("first_names.csv")

    def who(gender: str, block: int) -> Iterator[tuple[str, str, str]]:
        at = NAMES * (block // 2)  # contexts are of men and of women in turn
        for group, of, names in rows:
            if of == gender:
                yield from ((group, name, name) for name in names.split()[at : at + NAMES])

    return _filled_templates(who)


def dialect() -> pd.DataFrame:
    """Return texts of equal content in standard English (the reference) and in `AAVE`."""
    return _varieties(((int(frame), said) for frame, *said in _read("dialect.csv")), AAVE)


def languages() -> pd.DataFrame:
    """Return texts of the same content in English (the reference) and in `LANGUAGES`."""
    return _varieties(((1, said) for said in _read("languages.csv")), *LANGUAGES)


def gendered() -> pd.DataFrame:
    """Return words for men (the reference) and women, a row each; every pair is in both frames."""
    rows = _read("gendered.csv")
    asked = [(sign, block, pair) for sign in (1, -1) for block, pair in enumerate(rows)]
    return _sentence_table(
        [
            (context, sign, block, group, women, text)
            for context, (sign, block, (women, men)) in enumerate(asked)
            for group, text in (("", men), (WOMEN, women))
        ]
    )


def jobs() -> pd.DataFrame:
    """Return sentences on the job of a man (the reference) and of a woman, for each of the jobs.

    A context is a pattern of a sentence, and so is a block; `word` is the job.
    """
    names = [name for (name,) in _read("jobs.csv")]
    return _sentence_table(
        [
            (block, 0, block, group, name, text.format(who=who, job=f"{_article(name)} {name}"))
            for block, (text, woman, man) in enumerate(_AT_WORK)
            for group, who in (("", man), (WOMEN, woman))
            for name in names
        ]
    )


def _varieties(texts: Iterable[tuple[int, Sequence[str]]], *groups: str) -> pd.DataFrame:
    """Return texts that say the same, those of the reference first, each with its frame."""
    return _sentence_table(
        [
            (context, frame, context, group, str(context), text)
            for context, (frame, said) in enumerate(texts)
            for group, text in zip(("", *groups), said, strict=True)
        ]
    )


def _described(descriptions: _Described) -> pd.DataFrame:
    """Return each template filled with the next of each group's descriptions, evenly shared out."""
    blocks = max(turns for _, turns, *_ in _templates()) + 1

    def who(gender: str, block: int) -> Iterator[tuple[str, str, str]]:
        for group, words in descriptions.items():
            for word in words[block::blocks]:
                person = word.replace(_PERSON, gender)
                yield group, word, f"{_article(person).capitalize()} {person}"

    return _filled_templates(who)


def _article(noun: str) -> str:
    return "an" if noun[0].casefold() in "aeiou" else "a"


def _descriptions(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group, description in _read(name):
        found.setdefault(group, []).append(description)
    return found


def _templates() -> list[tuple[int, int, str, str]]:
    """Return the frame, block, gender and text of each template: the nth of a frame is block n."""
    seen: Counter[str] = Counter()
    out = []
    for frame, gender, sentence in _read("contexts.csv"):
        out.append((int(frame), seen[frame], gender, sentence))
        seen[frame] += 1
    return out


def _filled_templates(who: _Who) -> pd.DataFrame:
    """Return test sentences: each template filled with the persons that `who` returns for it."""
    return _sentence_table(
        [
            (context, frame, block, group, word, sentence.replace(_SLOT, person))
            for context, (frame, block, gender, sentence) in enumerate(_templates())
            for group, word, person in who(gender, block)
        ]
    )


def _sentence_table(rows: list[tuple[int, int, int, str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["context", "frame", "block", "group", "word", "text"])


def _read(name: str) -> list[tuple[str, ...]]:
    """Return the rows of a bundled CSV file, without the names of its columns."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in list(csv.reader(file))[1:]]
