"""Word lists for opposite values: agency and communion (Big Two), moral virtues and vices.

Agency (competence, getting ahead) and communion (warmth, getting along) as 263 nouns, after Abele
et al.; virtues and vices of care, fairness, loyalty, authority and sanctity, 2,040 words and
phrases: the Moral Foundations Dictionary 2.0 of Frimer et al. Both as Christian et al. 2026 have
them. Their repository states no licence: the lists are downloaded where a user asks for them with
`rmaudit data big2 mfd`, and at no other time.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from rmaudit.errors import NotAsked
from rmaudit.references.sources import is_downloaded, locate

FILES = ("big2", "mfd")
Lists = tuple[tuple[str, ...], tuple[str, ...]]
_POLES = ("Agency", "Communion")
FOUNDATIONS = ("care", "fairness", "loyalty", "authority", "sanctity")


def opposites() -> dict[str, Lists]:
    """Return downloaded pairs of opposed word lists: "agency over communion", virtues over vices.

    The virtues and vices are of five moral foundations, a pair each. Single words, in alphabetical
    order; phrases are left out, 3 of the Big Two's and 110 of the foundations'.

    Raises:
        NotAsked: a list is not here; the message has the command that gets both.
        ReferenceMissing: a file is here, and is another.
    """
    if absent := [name for name in FILES if not is_downloaded(name)]:
        message = f"it needs lists of words that nobody got ({', '.join(absent)}): they have no "
        raise NotAsked(f"{message}licence; get them with: rmaudit data {' '.join(FILES)}")
    return dict(_cached_opposites(*map(locate, FILES)))


@lru_cache(maxsize=2)  # what a file holds, its checksum says
def _cached_opposites(big2: Path, mfd: Path) -> dict[str, Lists]:
    nouns = [(row["Category"], row["token_decoded"]) for row in _csv_rows(big2)]
    moral = [(pole, row["DicTerm"]) for row in _csv_rows(mfd) for pole in row if row[pole] == "X"]
    lists = {" over ".join(_POLES).lower(): (nouns, *_POLES)}
    for name in FOUNDATIONS:
        pole = name.capitalize()
        lists[f"{name}: virtues over vices"] = (moral, f"{pole}_Virtue", f"{pole}_Vice")
    return {
        name: (_single_words_of(listed, first), _single_words_of(listed, second))
        for name, (listed, first, second) in lists.items()
    }


def _csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, strict=True))


def _single_words_of(listed: Iterable[tuple[str, str]], pole: str) -> tuple[str, ...]:
    return tuple(sorted(word for where, word in listed if where == pole and " " not in word))
