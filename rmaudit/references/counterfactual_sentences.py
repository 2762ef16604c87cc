"""Build sentences that differ in one thing: who is meant, a first name, a dialect or a language.

Written for rmaudit; `sentences/README.md` says how. A table has a row for each sentence: `context`
(its number), `frame` (+1 good, -1 bad), `block` (a number), `group` ("" for the reference that the
others are compared with), `word` (the description or the name that stands for the group) and
`text`. No word is in two blocks, and a block has a context of each frame: so blocks are independent
draws of words and of contexts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from rmaudit.references.strict_csv import Rule, read_checked

_FOLDER = Path(__file__).parent / "sentences"
_SLOT, _PERSON = "{who}", "{person}"
NAMES = 2  # of each group in a context
WOMEN = "words for women"
LANGUAGES = ("Spanish", "French", "German", "Russian", "Chinese", "Arabic")
AAVE = "African American Vernacular English"

_RULES: Mapping[str, Rule] = {
    "frame": ("1 or -1", lambda text: text in {"1", "-1"}),
    "sentence": (f"one {_SLOT}", lambda text: text.count(_SLOT) == 1),
}

_Who = Callable[[str, int], Iterable[tuple[str, str, str]]]
_Described = Mapping[str, Sequence[str]]


def communities() -> pd.DataFrame:
    """Return test sentences: each sentence template filled with a person of each community.

    Each template (context) is also filled with four reference persons, who are of no community.
    The first context of either frame has the first description of each community, the second the
    second, and so on.

    Raises:
        SpecError: a file is not as it should be. FILE:LINE.
    """
    return _described(_descriptions("people.csv", "community"))


def politics() -> pd.DataFrame:
    """Return test sentences: each template filled with a person of each political side.

    Each context has the reference persons of `communities` besides. Raises `SpecError` as it does.
    """
    sides = _descriptions("politics.csv", "side")
    return _described({"": _descriptions("people.csv", "community")[""], **sides})


def first_names() -> pd.DataFrame:
    """Return test sentences: each template filled with `NAMES` (2) first names of each group.

    Each name is in one context of either frame. Raises `SpecError` as `communities` does.
    """
    rows = _read_csv("first_names.csv", ("group", "gender", "names"))

    def who(gender: str, block: int) -> Iterator[tuple[str, str, str]]:
        at = NAMES * (block // 2)  # contexts are of men and of women in turn
        for group, of, names in rows:
            if of == gender:
                yield from ((group, name, name) for name in names.split()[at : at + NAMES])

    return _filled_templates(who)


def dialect() -> pd.DataFrame:
    """Return texts of equal content in standard English (the reference) and in the dialect `AAVE`.

    Raises `SpecError` as `communities` does.
    """
    rows = [
        (context, int(frame), context, group, str(context), text)
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
        (context, 1, context, group, str(context), text)
        for context, said in enumerate(_read_csv("languages.csv", ("English", *LANGUAGES)))
        for group, text in zip(("", *LANGUAGES), said, strict=True)
    ]
    return _sentence_table(rows)


def gendered() -> pd.DataFrame:
    """Return words for men (the reference) and women, a row each; every pair is in both frames.

    Raises `SpecError` as `communities` does.
    """
    rows = _read_csv("gendered.csv", ("women", "men"))
    asked = [(sign, block, pair) for sign in (1, -1) for block, pair in enumerate(rows)]
    return _sentence_table(
        [
            (context, sign, block, group, women, text)
            for context, (sign, block, (women, men)) in enumerate(asked)
            for group, text in (("", men), (WOMEN, women))
        ]
    )


def _described(descriptions: _Described) -> pd.DataFrame:
    """Return each template filled with the next of each group's descriptions, evenly shared out."""
    blocks = max(turns for _, turns, *_ in _templates()) + 1

    def who(gender: str, block: int) -> Iterator[tuple[str, str, str]]:
        for group, words in descriptions.items():
            for word in words[block::blocks]:
                person = word.replace(_PERSON, gender)
                article = "An" if person[0].casefold() in "aeiou" else "A"
                yield group, word, f"{article} {person}"

    return _filled_templates(who)


def _descriptions(name: str, of: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group, description in _read_csv(name, (of, "description")):
        found.setdefault(group, []).append(description)
    return found


def _templates() -> list[tuple[int, int, str, str]]:
    """Return the frame, block, gender and text of each template: the nth of a frame is block n."""
    seen: Counter[str] = Counter()
    out = []
    for frame, gender, sentence in _read_csv("contexts.csv", ("frame", "gender", "sentence")):
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


def _read_csv(name: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    table = read_checked(_FOLDER / name, {column: _RULES.get(column) for column in columns})
    return [tuple(row) for row in table.to_numpy(dtype=object).tolist()]
