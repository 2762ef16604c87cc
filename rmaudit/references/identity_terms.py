"""Read words that name people as members of groups, and neutral words to compare them with.

identity/README.md says how they were compiled and what they share with public lists.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd

FORMS = ("adj", "noun_sg", "noun_pl")
NAME = "name"  # the form of a control that is capitalised by itself
DATA = Path(__file__).parent / "identity"


@lru_cache(maxsize=1)
def identity() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the bundled tables of identity terms and of control words.

    Both have the columns `text`, `capital` (bool), `zipf` (wordfreq's log10 frequency per billion
    words) and `forms` (a frozenset of `FORMS`). Terms also have `axis`, `community` ("" for groups
    that are not marked), `group` and `marked` (bool); controls have `neutral` (bool).

    Each lower-case control is there with a capital too: one-word answers often have one, and a
    capitalised term has controls of its own form. A name stands in for an adjective or a singular,
    or is a plural (`Texans`).
    """
    return _terms(), _controls()


def _terms() -> pd.DataFrame:
    table = _read("terms")
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


def _controls() -> pd.DataFrame:
    table = _read("controls")
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


def _read(name: str) -> pd.DataFrame:
    """Return a bundled file as texts: "NA" is a text like any other."""
    return pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False)


def _wordfreq_zipf(texts: pd.Series[str]) -> list[float]:
    import wordfreq

    return [wordfreq.zipf_frequency(text, "en") for text in texts]
