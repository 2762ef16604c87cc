"""Read rows of the leaderboard data sets RewardBench 2 and RM-Bench as rows of answer pairs.

RewardBench 2 (Malik et al. 2025, arXiv 2506.01937; ODC-By) has `id`, `prompt`, `chosen`,
`rejected`, `num_correct`, `total_completions` and `subset`: four answers of which the first is
right, and in Ties many that are. RM-Bench (Liu et al. 2024, arXiv 2410.16184; ODC-By) has three
`chosen` and three `rejected`, each in three styles from plain to formatted, and a `domain`. The
user downloads these files: rmaudit contains none of their rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rmaudit.errors import SpecError
from rmaudit.measures.leaderboard_score import DOMAINS, REWARDBENCH_2, RM_BENCH, STYLES, is_ties
from rmaudit.scores.json_lines import shown

LICENCE = "ODC-By"  # of both, as their pages on the hub say
_COUNTS = ("num_correct", "total_completions")
_FIELDS = {
    REWARDBENCH_2: ("id", "subset", *_COUNTS),
    RM_BENCH: ("domain",),
}
_TIES_ID = re.compile(r"(?:ref|tied):[0-9]{1,9}")


def board_of(row: Mapping[str, Any]) -> str:
    """Return the leaderboard whose format a file's first row has; "" if it is a plain pair."""
    if not all(isinstance(row.get(side), list) for side in ("chosen", "rejected")):
        return ""
    if all(field in row for field in _FIELDS[REWARDBENCH_2]):
        return REWARDBENCH_2
    of_styles = all(len(row[side]) == STYLES for side in ("chosen", "rejected"))
    return RM_BENCH if of_styles and _has_known_domain(row) else ""


def as_pairs(row: Mapping[str, Any], board: str, where: str) -> dict[str, Any]:
    """Convert a row of the leaderboard `board` to one of a pairs file; its section is `subset`.

    Questions of Ties with the same number in their id, of which one has a single right answer, are
    one `group`. `where` begins the error messages.

    Raises:
        SpecError: the row does not fit this leaderboard, so that its own program would stop, or
            would score something else.
    """
    needed = ("prompt", "chosen", "rejected", *_FIELDS[board])
    if missing := [name for name in needed if name not in row]:
        told = f"the first row is of {board}, and so must all be"
        raise SpecError(f"{where}: has no {' and no '.join(missing)}; {told}")
    sides = {side: row[side] for side in ("chosen", "rejected")}
    for side, answers in sides.items():
        if not isinstance(answers, list):
            raise SpecError(f"{where}: {side} is {shown(answers)}, allowed: a list of texts")
    many = {side: len(answers) for side, answers in sides.items()}
    line = {"prompt": row["prompt"], **sides}
    if board == RM_BENCH:
        if set(many.values()) != {STYLES}:
            found = f"{many['chosen']} chosen and {many['rejected']} rejected answers"
            raise SpecError(f"{where}: has {found}, allowed: {STYLES} of each in {board}")
        if not _has_known_domain(row):
            domains = ", ".join(DOMAINS)
            found = shown(row["domain"])
            raise SpecError(f"{where}: domain is {found}, allowed: a text that begins {domains}")
        return line | {"subset": row["domain"]}
    _refuse_counts(row, many["chosen"], many["chosen"] + many["rejected"], where)
    if not isinstance(row["subset"], str) or not row["subset"]:
        raise SpecError(f"{where}: subset is {shown(row['subset'])}, allowed: a section's name")
    if not is_ties(row["subset"]):
        return line | {"subset": row["subset"]}
    return line | {"subset": row["subset"], "group": _ties_group(row["id"], many["chosen"], where)}


def _has_known_domain(row: Mapping[str, Any]) -> bool:
    """Return whether a row's domain begins with one of RM-Bench's, such as safety-refuse."""
    domain = row.get("domain")
    return isinstance(domain, str) and domain.startswith(DOMAINS)


def _refuse_counts(row: Mapping[str, Any], chosen: int, total: int, where: str) -> None:
    """Raise if a row states other counts than `chosen` (its right answers) and `total` (all)."""
    for field, counted in zip(_COUNTS, (chosen, total), strict=True):
        if row[field] != counted:
            raise SpecError(f"{where}: {field} is {shown(row[field])}, and the row has {counted}")


def _ties_group(row_id: object, chosen: int, where: str) -> str:
    """Return the group of a row of the section Ties, such as "Ties 7" for the id "tied:7"."""
    if not isinstance(row_id, str) or not _TIES_ID.fullmatch(row_id):
        allowed = "allowed in Ties: ref or tied, a colon and a number"
        raise SpecError(f"{where}: id is {shown(row_id)}; {allowed}")
    kind, _, number = row_id.partition(":")
    if kind == "tied" and chosen == 1:
        raise SpecError(f"{where}: {row_id} has one chosen answer, allowed: two or more, which tie")
    return f"Ties {int(number)}"
