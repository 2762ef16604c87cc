"""From ids to rewards. These two names are part of every cache key and need no torch."""

VERSION = 1  # raise it when scores could change
ATTENTION = "rmaudit_shared_prefix"  # the name registered with transformers
