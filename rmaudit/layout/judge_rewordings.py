"""Reword a judge's template but ask the same: swap prompt and answer, or add a blank line.

Two can: the block of the prompt and that of the answer change places, and a blank line is put
between them. Both keep every word. They are made where the template prints prompt and answer once
each, with nothing but text of one turn between them.
"""

from __future__ import annotations

import re
from collections.abc import Collection

SWAPPED, SPACED = "prompt and answer swapped", "a blank line more"
_PRINTED = re.compile(r"\{\{-?[^{}]*?\bmessages\s*\[\s*(-?\d+)\s*\][^{}]*\}\}")


def rewordings(template: str, special_tokens: Collection[str]) -> dict[str, str]:
    """Return rewordings of a judge's template, by the change made; {} if it allows none.

    Where one of the tokenizer's `special_tokens` stands between prompt and answer, these
    are turns of their own, whose order means something.
    """
    printed = list(_PRINTED.finditer(template))
    if len(printed) != 2 or "{%" in template or {one[1] for one in printed} != {"0", "-1"}:  # noqa: PLR2004  (prompt and answer)
        return {}
    first, second = printed
    between = template[first.end() : second.start()]
    if "\n" not in between or any(mark in between for mark in special_tokens):
        return {}
    begin = _start_of_block(template[: first.start()])
    gap = re.match(r"[ \t]*\n\s*", between)
    if gap is None:  # a block that goes on after what it prints
        return {}
    blocks = template[begin : first.end()], between[gap.end() :] + second[0]
    before, after = template[:begin], template[second.end() :]
    return {
        SWAPPED: f"{before}{blocks[1]}{gap[0]}{blocks[0]}{after}",
        SPACED: f"{before}{blocks[0]}{gap[0]}\n{blocks[1]}{after}",
    }


def _start_of_block(before: str) -> int:
    """Return where the last line of `before` starts, or the heading above if that line is blank."""
    line = before.rfind("\n") + 1
    if before[line:].strip():
        return line
    above = before[: max(line - 1, 0)]
    start = above.rfind("\n") + 1
    return start if above[start:].rstrip().endswith(":") else line
