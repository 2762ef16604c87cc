"""Read rows of the leaderboard data set RewardBench 2 as rows of answer pairs.

RewardBench 2 (Malik et al. 2025, arXiv 2506.01937; ODC-By) has `id`, `prompt`, `chosen`,
`rejected`, `num_correct`, `total_completions` and `subset`: four answers of which the first is
right, and in Ties many that are. The user downloads the file: rmaudit contains none of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rmaudit.errors import SpecError
from rmaudit.measures.leaderboard_score import REWARDBENCH_2, is_ties
from rmaudit.scores.json_lines import shown

LICENCE = "ODC-By"  # as its page on the hub says
_FIELDS = ("id", "subset", "num_correct", "total_completions")
_RM_BENCHS_DOMAINS = ("chat", "code", "math", "safety")  # how a row's domain begins
_RM_BENCHS_STYLES = 3
_TIES_ID = re.compile(r"(?:ref|tied):[0-9]{1,9}")


def board_of(row: Mapping[str, Any], where: str) -> str:
    """Return the leaderboard whose format a file's first row has; "" if it is a plain pair.

    Raises:
        SpecError: the file is RM-Bench's, whose answers in three styles are no pairs of one's own.
    """
    if not all(isinstance(row.get(side), list) for side in ("chosen", "rejected")):
        return ""
    if all(field in row for field in _FIELDS):
        return REWARDBENCH_2
    of_styles = all(len(row[side]) == _RM_BENCHS_STYLES for side in ("chosen", "rejected"))
    if of_styles and str(row.get("domain", "")).startswith(_RM_BENCHS_DOMAINS):
        raise SpecError(
            f"{where}: a row of RM-Bench, whose score was removed in 0.2; give the file of "
            f"{REWARDBENCH_2}, or pairs of your own"
        )
    return ""


def as_pairs(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Convert a row of RewardBench 2 to one of a pairs file; its section is `subset`.

    Questions of Ties with the same number in their id, of which one has a single right answer, are
    one `group`. `where` begins the error messages.

    Raises:
        SpecError: the row does not fit this leaderboard, so that its own program would stop, or
            would score something else.
    """
    needed = ("prompt", "chosen", "rejected", *_FIELDS)
    if missing := [name for name in needed if name not in row]:
        told = f"the first row is of {REWARDBENCH_2}, and so must all be"
        raise SpecError(f"{where}: has no {' and no '.join(missing)}; {told}")
    sides = {side: row[side] for side in ("chosen", "rejected")}
    for side, answers in sides.items():
        if not isinstance(answers, list):
            raise SpecError(f"{where}: {side} is {shown(answers)}, allowed: a list of texts")
    line = {"prompt": row["prompt"], **sides}
    chosen = len(sides["chosen"])
    for field, counted in (
        ("num_correct", chosen),
        ("total_completions", chosen + len(sides["rejected"])),
    ):
        if row[field] != counted:
            raise SpecError(f"{where}: {field} is {shown(row[field])}, and the row has {counted}")
    if not isinstance(row["subset"], str) or not row["subset"]:
        raise SpecError(f"{where}: subset is {shown(row['subset'])}, allowed: a section's name")
    if not is_ties(row["subset"]):
        return line | {"subset": row["subset"]}
    return line | {"subset": row["subset"], "group": _ties_group(row["id"], chosen, where)}


def _ties_group(row_id: object, chosen: int, where: str) -> str:
    """Return the group of a row of the section Ties, such as "Ties 7" for the id "tied:7"."""
    if not isinstance(row_id, str) or not _TIES_ID.fullmatch(row_id):
        allowed = "allowed in Ties: ref or tied, a colon and a number"
        raise SpecError(f"{where}: id is {shown(row_id)}; {allowed}")
    kind, _, number = row_id.partition(":")
    if kind == "tied" and chosen == 1:
        raise SpecError(f"{where}: {row_id} has one chosen answer, allowed: two or more, which tie")
    return f"Ties {int(number)}"
