"""From ids to rewards. These names need no torch; `version` is part of every cache key."""

from enum import StrEnum

VERSION = 2  # raise it when scores could change
LONG = 512  # ids of a prefix from which on attention over it may be `fused`
ATTENTION = "rmaudit_shared_prefix"  # the name registered with transformers


class ScoringPath(StrEnum):
    """How the rows of many answers go through a backbone. All give the same numbers."""

    SHARED_PREFIX = "shared prefix"  # the prompt's keys and values once, for every row
    EXPANDED_CACHE = "expanded cache"  # transformers' cache of the prompt, copied for every row
    FULL_ROWS = "full rows"  # prompt, answer and suffix anew for every row


def version(prefix: int) -> str:
    """How a prefix of so many ids is scored, as keys say it; longer ones since another release.

    From half of `LONG` on, since whole rows may share more at their start than the prompt.
    """
    return str(VERSION) if prefix < LONG // 2 else f"{VERSION}, long prefix fused"
