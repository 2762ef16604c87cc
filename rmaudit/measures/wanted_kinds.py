"""Find the kinds of tokens or answers that a model's makers want, as models.yaml says.

A wanted kind cannot fail: it is shown with its reason. An entry of `wanted` that is no kind is said
in a caveat, since it may be a slip of the pen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

import numpy as np
import scipy

from rmaudit.errors import MeasureError
from rmaudit.measures.kinds_of_tokens import Kinds, Place, WantedKinds
from rmaudit.measures.parts_of_kinds import SOME
from rmaudit.word_stems import stem_key

NOTHING: Mapping[str, str] = MappingProxyType({})
_OF_ANSWERS = "answers "  # how kinds of answers begin in models.yaml, as sentences of a report do


def wanted_tokens(
    kinds: Kinds, wanted: Mapping[str, str]
) -> tuple[WantedKinds, tuple[str, ...], tuple[str, ...]]:
    """Return why kinds of tokens are wanted; the entries in force; and caveats.

    An entry is a kind by its name, or a word: then each neighbourhood that has a form of it. So are
    kinds of which more than half are members of one such kind, or a topic's neighbourhoods would
    come back under other names. Entries that begin with "answers " are of no concern here.

    Raises:
        MeasureError: no kind is left that could fail.
    """
    wanted = {key: why for key, why in wanted.items() if not key.startswith(_OF_ANSWERS)}
    if not wanted:
        return WantedKinds(), (), ()
    words = len(kinds.words)
    groups = {(at, n, ""): kinds.near[at, :n] for n in kinds.sizes for at in range(words)}
    around = len(groups)
    groups |= {(-1, len(rows), name): rows for name, rows in kinds.spelt.items()}
    groups |= {(-2, len(rows), name): words + rows for name, rows in kinds.shaped.items()}
    places, rows = [*groups], np.concatenate([*groups.values()])
    sizes = np.array([size for _, size, _ in places])
    starts = np.append(0, sizes.cumsum())
    members = scipy.sparse.csr_array((np.ones(len(rows)), rows, starts))
    named = {name: row for row, (_, _, name) in enumerate(places) if name}
    row_of = {stem_key(word): row for row, word in enumerate(kinds.words)}
    found: dict[Place, str] = {}
    by_name: list[tuple[frozenset[int], str]] = []
    caveats, in_force = [], []
    for key, why in wanted.items():
        like = re.fullmatch("([^ ,]+), ([^ ,]+)", key)
        row = row_of.get(stem_key(like[1] if like else key))
        more: list[int] = []  # neighbourhoods whose parts may have the name
        if (name := key.removeprefix(SOME)) in named:
            own = [named[name]]
        elif row is None:
            caveats.append(_unknown(key, "tokens", [*named, *kinds.words]))
            continue
        elif like:
            own = [*range(row, around, words)]
            if (other := row_of.get(stem_key(like[2]))) is not None:
                both = members[:around, [row, other]].sum(axis=1)
                more = np.flatnonzero(both == 2).tolist()  # noqa: PLR2004  (of two words)
        else:
            own = members[:around, [row]].nonzero()[0].tolist()
        common = (members @ members[own].T).max(axis=1).toarray().ravel()
        mostly = np.flatnonzero(common > sizes / 2)
        for one in mostly:
            found.setdefault(places[one], why)
        by_name += [(frozenset(members[[one]].indices.tolist()), why) for one in own + more]
        in_force.append(key)
        caveats.append(_spared(key, why, f"{len(mostly):,} of {len(places):,} kinds of tokens"))
    if len(found) == len(places):
        raise MeasureError("models.yaml wants all kinds of tokens, so none is left that could fail")
    return WantedKinds(found, tuple(by_name)), tuple(in_force), tuple(caveats)


def wanted_answers(
    kinds: Collection[str], wanted: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """Return why a kind of answers is wanted, by its name; the entries in force; and caveats.

    An entry is "answers " and a kind's name, or a word, whose kinds are to have it and to begin
    with it. That a word is no kind of answers is no caveat: kinds of tokens have words, too.
    """
    found: dict[str, str] = {}
    caveats, in_force = [], []
    for key, why in wanted.items():
        names = [f"{how} “{key.casefold()}”" for how in ("with the word", "that begin with")]
        if key.startswith(_OF_ANSWERS):
            names = [key.removeprefix(_OF_ANSWERS)]
        meant = [name for name in names if name in kinds]
        if meant:
            found |= dict.fromkeys(meant, why) | found
            in_force.append(key)
            caveats.append(_spared(key, why, f"answers {' and '.join(meant)}"))
        elif key.startswith(_OF_ANSWERS):
            caveats.append(_unknown(key, "answers", [_OF_ANSWERS + name for name in kinds]))
    return found, tuple(in_force), tuple(caveats)


def _spared(key: str, why: str, which: str) -> str:
    return f"models.yaml wants “{key}” ({why.rstrip('.')}), so {which} cannot fail."


def _unknown(key: str, what: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, [*known], n=3, cutoff=0.5)
    some = f", such as {', '.join(f'“{name}”' for name in near)}" if near else ""
    how = "“answers ” and their name" if what == "answers" else "their name, or a known word"
    return f"models.yaml wants “{key}”, which is no kind of {what} here; allowed: {how}{some}."
