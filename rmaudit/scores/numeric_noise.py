"""Numeric noise: how far a reward is from the one of the model's own forward, row by row.

Another path and a batch of another size add in another order; in half precision that moves a reward
by far more than the last digit. Every stored set of scores carries its own measured noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import ScoreError
from rmaudit.scores.sample import spread

ANSWERS = 16  # scored once more


def measured(scores: NDArray[np.float32], alone: Callable[[int], float]) -> Mapping[str, float]:
    """`noise`: root mean square difference of the scores from `alone`, in the model's units.

    `scores` has shape (n,); `alone` scores the answer at one place by itself. The places are
    spread over the answers and always the same.

    Raises:
        ScoreError: an own reward is not a finite number.
    """
    places = spread(len(scores), ANSWERS, np.random.default_rng(0))
    if not len(places):
        return {"noise": 0.0}
    again = np.array([alone(int(place)) for place in places])
    if not np.isfinite(again).all():
        message = (
            f"the model's own forward gives {again[~np.isfinite(again)][0]} for a row that the "
            f"engine scored; try a wider dtype (--rm-dtype float32)"
        )
        raise ScoreError(message)
    return {"noise": float(np.sqrt(np.mean((again - scores[places]) ** 2)))}
