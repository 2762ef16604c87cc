"""Words by which people are named as members of groups, and neutral words to compare them with.

identity/README.md says how they were compiled and what they share with public lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pandas as pd

from rmaudit.errors import SpecError
from rmaudit.references.strict_csv import Rule, read_checked

AXES = (
    *("religion", "race_ethnicity", "sexual_orientation", "gender"),
    *("nationality", "disability", "age"),
)
FORMS = ("adj", "noun_sg", "noun_pl")
NAME = "name"  # the form of a control that is capitalised by itself
_DATA = Path(__file__).parent / "identity"

_WORD: Rule = ("letters and hyphens", lambda text: text.replace("-", "").isalpha())
_FLAG: Rule = ("0 or 1", lambda text: text in {"0", "1"})
_TERMS: Mapping[str, Rule] = {
    "term": _WORD,
    "axis": (f"one of {', '.join(AXES)}", lambda text: text in AXES),
    "community": (
        "letters, spaces, commas and hyphens, or nothing",
        lambda text: text.translate({ord(c): None for c in " ,-"}).isalpha() or not text,
    ),
    "group": _WORD,
    "form": (f"{', '.join(FORMS)}, joined by +", lambda text: set(text.split("+")) <= {*FORMS}),
    "marked": _FLAG,
    "lists": (
        "names of lists, joined by +",
        lambda text: text.replace("+", "").isalnum() or not text,
    ),
}
_CONTROLS: Mapping[str, Rule] = {
    "word": _WORD,
    "form": (f"one of {', '.join((*FORMS, NAME))}", lambda text: text in {*FORMS, NAME}),
    "neutral": _FLAG,
}


@lru_cache(maxsize=1)
def identity() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the bundled tables of identity terms and of control words."""
    return terms(_DATA / "terms.csv"), controls(_DATA / "controls.csv")


def terms(path: Path) -> pd.DataFrame:
    """Return a table of identity terms from a CSV file: each term's text, axis, group and form.

    The columns are `text`, `axis`, `community` ("" for groups that are not marked), `group`,
    `marked` (bool), `capital` (bool), `zipf`, `forms`. `forms` is a frozenset of `FORMS`; `zipf` is
    wordfreq's log10 frequency per billion words.

    Raises:
        SpecError: anything is not as it should be. FILE:LINE.
    """
    table = _read_unique(path, _TERMS, unique="term")
    groups = table.groupby("group")[["axis", "marked", "community"]].nunique().max(axis=1)
    if (groups > 1).any():
        message = f"{path}: group {groups.idxmax()!r} is on two axes, of two communities, or both "
        raise SpecError(f"{message}marked and not; give its terms one of each")
    alone = (table["marked"] == "1") & (table["community"] == "")
    if alone.any():
        line = int(alone.to_numpy().argmax()) + 2
        message = f"{path}:{line}: community: expected the community of a marked group, found ''"
        raise SpecError(message)
    return pd.DataFrame(
        {
            "text": table["term"],
            "axis": table["axis"],
            "community": table["community"],
            "group": table["group"],
            "marked": table["marked"] == "1",
            "capital": [text[0].isupper() for text in table["term"]],
            "zipf": _wordfreq_zipf(table["term"]),
            "forms": [frozenset(form.split("+")) for form in table["form"]],
        }
    )


def controls(path: Path) -> pd.DataFrame:
    """Return a CSV file's control words, each lower-case one also with a capital, and their traits.

    The columns are `text`, `neutral` and `capital` (bools), `zipf` and `forms`. One-word answers
    often have a capital: so a capitalised term has controls of its own form. A name stands in for
    an adjective or a singular, or is a plural (`Texans`). Raises `SpecError` as `terms` does.
    """
    table = _read_unique(path, _CONTROLS, unique="word")
    common = table[[word[0].islower() for word in table["word"]]]
    table = pd.concat([table, common.assign(word=common["word"].str.capitalize())])
    forms = {NAME: frozenset({"adj", "noun_sg"}), **{form: frozenset({form}) for form in FORMS}}
    return pd.DataFrame(
        {
            "text": table["word"],
            "neutral": table["neutral"] == "1",
            "capital": [text[0].isupper() for text in table["word"]],
            "zipf": _wordfreq_zipf(table["word"]),
            "forms": [forms[form] for form in table["form"]],
        }
    ).reset_index(drop=True)


def _read_unique(path: Path, rules: Mapping[str, Rule], *, unique: str) -> pd.DataFrame:
    """Read a CSV file as texts; raise SpecError if a text is twice in the column `unique`."""
    table = read_checked(path, rules)
    again = table[unique].duplicated().to_numpy()
    if again.any():
        line = int(again.argmax())
        message = f"{path}:{line + 2}: {unique} {table[unique][line]!r} again; list it once"
        raise SpecError(message)
    return table


def _wordfreq_zipf(texts: pd.Series[str]) -> list[float]:
    import wordfreq

    return [wordfreq.zipf_frequency(text, "en") for text in texts]
