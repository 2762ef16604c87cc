"""From ids to rewards. These names need no torch; `VERSION` is part of every cache key."""

from enum import StrEnum

VERSION = 2  # raise it when scores could change
ATTENTION = "rmaudit_shared_prefix"  # the name registered with transformers


class ScoringPath(StrEnum):
    """How the rows of many answers go through a backbone. All give the same numbers."""

    SHARED_PREFIX = "shared prefix"  # the prompt's keys and values once, for every row
    EXPANDED_CACHE = "expanded cache"  # transformers' cache of the prompt, copied for every row
    FULL_ROWS = "full rows"  # prompt, answer and suffix anew for every row
