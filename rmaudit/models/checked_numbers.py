"""Tell which numbers of a server, a function or a file are rewards: one rule for all readers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from rmaudit.errors import ModelError

_LARGEST = float(np.finfo(np.float32).max)  # rewards are stored so
_SUM = 1.001  # of two probabilities, with what rounding adds
_EQUAL = 1e-6  # of the largest reward: less apart is the same reward


def finite(value: object) -> float | None:
    """Return a number as a float; None for all else, NaN and what float32 does not hold.

    JSON's true is no number, and its whole numbers may have more digits than any float.
    """
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= _LARGEST else None


def log_odds(yes: object, no: object, *, logs: bool) -> float | None:
    """Return log P(yes) - log P(no); None unless both are probabilities that two words can have.

    They are given as natural logarithms if `logs`. Each is above 0, and both together up to 1.
    """
    one, other = finite(yes), finite(no)
    if one is None or other is None:
        return None
    if not logs:
        if min(one, other) <= 0:
            return None
        one, other = math.log(one), math.log(other)
    if max(one, other) > 0 or math.exp(one) + math.exp(other) > _SUM:
        return None
    return one - other


def refuse_no_rewards(rewards: Sequence[float], whose: str, hint: str, *, logits: bool) -> None:
    """Raise if the rewards of a few different test answers show that nothing judges answers.

    `whose` begins the error and `hint` ends it. With `logits`, numbers that all lie within 0 and 1
    are refused too: an activation was applied, after which rewards cannot be compared.

    Raises:
        ModelError: all are equal, or within 0 and 1.
    """
    least, most = min(rewards), max(rewards)
    if most - least <= _EQUAL * max(abs(least), abs(most)):
        raise ModelError(f"{whose} gives {most:g} for each of {len(rewards)} answers; {hint}")
    if logits and least >= 0 and most <= 1:
        message = f"{whose} gives no logits: {len(rewards)} rewards are within 0 to 1, as after a "
        raise ModelError(f"{message}sigmoid or softmax, so they cannot be compared; {hint}")
