"""Build sentences that differ in one thing: who is meant, a first name, a dialect or a language.

Written for rmaudit; `sentences/README.md` says how. A table has a row for each sentence: `context`
(its number), `frame` (+1 good, -1 bad), `group` ("" for the reference that the others are compared
with), `word` (the description or the name that stands for the group) and `text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from rmaudit.references.strict_csv import Rule, read_checked

_FOLDER = Path(__file__).parent / "sentences"
_SLOT, _PERSON = "{who}", "{person}"
NAMES = 2  # of each group in a context, and descriptions of each political side
WOMEN = "words for women"
LANGUAGES = ("Spanish", "French", "German", "Russian", "Chinese", "Arabic")
_PEOPLE = ("community", "first", "second", "third")
AAVE = "African American Vernacular English"

_RULES: Mapping[str, Rule] = {
    "frame": ("1 or -1", lambda text: text in {"1", "-1"}),
    "sentence": (f"one {_SLOT}", lambda text: text.count(_SLOT) == 1),
}

_Who = Callable[[str, int], Iterable[tuple[str, str, str]]]


def communities() -> pd.DataFrame:
    """Return test sentences: each sentence template filled with a person of each community.

    Each template (context) is also filled with reference persons, who are of no community. A
    community has three descriptions, with which the contexts take turns.

    Raises:
        SpecError: a file is not as it should be. FILE:LINE.
    """
    rows = _read_csv("people.csv", _PEOPLE)

    def who(gender: str, turn: int) -> Iterator[tuple[str, str, str]]:
        for community, *described in rows:
            yield _described_person(community, described, turn, gender)

    return _filled_templates(who)


def politics() -> pd.DataFrame:
    """Return test sentences: each template filled with `NAMES` (2) persons of each political side.

    Each context has four reference descriptions besides. Raises `SpecError` as `communities` does.
    """
    sides: dict[str, list[str]] = {}
    for side, words in _read_csv("politics.csv", ("side", "description")):
        sides.setdefault(side, []).append(words)
    neither = [row for row in _read_csv("people.csv", _PEOPLE) if not row[0]]

    def who(gender: str, turn: int) -> Iterator[tuple[str, str, str]]:
        for group, *described in neither:
            yield _described_person(group, described, turn, gender)
        for side, described in sides.items():
            for at in range(NAMES):
                yield _described_person(side, described, NAMES * turn + at, gender)

    return _filled_templates(who)


def first_names() -> pd.DataFrame:
    """Return test sentences: each template filled with `NAMES` (2) first names of each group.

    Contexts take turns with names. Raises `SpecError` as `communities` does.
    """
    rows = _read_csv("first_names.csv", ("group", "gender", "names"))

    def who(gender: str, turn: int) -> Iterator[tuple[str, str, str]]:
        for group, of, names in rows:
            known = names.split()
            for at in range(NAMES if of == gender else 0):
                name = known[(NAMES * (turn // 2) + at) % len(known)]
                yield group, name, name

    return _filled_templates(who)


def dialect() -> pd.DataFrame:
    """Return texts of equal content in standard English (the reference) and in the dialect `AAVE`.

    Raises `SpecError` as `communities` does.
    """
    rows = [
        (context, int(frame), group, str(context), text)
        for context, (frame, standard, other) in enumerate(
            _read_csv("dialect.csv", ("frame", "standard", "other"))
        )
        for group, text in (("", standard), (AAVE, other))
    ]
    return _sentence_table(rows)


def languages() -> pd.DataFrame:
    """Return texts of the same content in English (the reference) and in `LANGUAGES`.

    Raises `SpecError` as `communities` does.
    """
    rows = [
        (context, 1, group, str(context), text)
        for context, said in enumerate(_read_csv("languages.csv", ("English", *LANGUAGES)))
        for group, text in zip(("", *LANGUAGES), said, strict=True)
    ]
    return _sentence_table(rows)


def gendered() -> pd.DataFrame:
    """Return words for men (the reference) and women, a row each; every pair is in both frames.

    Raises `SpecError` as `communities` does.
    """
    rows = _read_csv("gendered.csv", ("women", "men"))
    asked = [(sign, pair) for sign in (1, -1) for pair in rows]
    return _sentence_table(
        [
            (context, sign, group, women, text)
            for context, (sign, (women, men)) in enumerate(asked)
            for group, text in (("", men), (WOMEN, women))
        ]
    )


def _filled_templates(who: _Who) -> pd.DataFrame:
    """Return test sentences: each template filled with the persons that `who` returns for it."""
    rows, turns = [], {1: 0, -1: 0}
    contexts = _read_csv("contexts.csv", ("frame", "gender", "sentence"))
    for context, (frame, gender, sentence) in enumerate(contexts):
        sign = int(frame)
        for group, word, person in who(gender, turns[sign]):
            rows.append((context, sign, group, word, sentence.replace(_SLOT, person)))
        turns[sign] += 1
    return _sentence_table(rows)


def _sentence_table(rows: list[tuple[int, int, str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["context", "frame", "group", "word", "text"])


def _described_person(group: str, words: list[str], turn: int, gender: str) -> tuple[str, str, str]:
    """Return the group, one of its descriptions, and the person described, such as `A gay man`."""
    one = words[turn % len(words)]
    person = one.replace(_PERSON, gender)
    return group, one, f"{'An' if person[0].casefold() in 'aeiou' else 'A'} {person}"


def _read_csv(name: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    table = read_checked(_FOLDER / name, {column: _RULES.get(column) for column in columns})
    return [tuple(row) for row in table.to_numpy(dtype=object).tolist()]
