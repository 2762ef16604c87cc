"""What numeric noise in the scores does to an estimate.

A model's scores change a little with the batch that they are computed in, in half precision by a
good part of their differences. A sweep measures by how much (`Sweep.noise`); here an estimate's
interval takes it in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rmaudit.verdicts.records import Estimate

BESIDE = "numeric noise"
_DRAWS = 20
_Z = 1.96  # standard errors to either end of a 95 % interval


def widened(  # noqa: PLR0913  (the estimate, how it was made, and the noise)
    estimate: Estimate,
    value_of: Callable[[NDArray[np.float64]], float],
    scores: NDArray[np.float64],
    noise: float,
    rng: np.random.Generator | None,
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """The estimate, its interval widened by what the noise does to its value.

    `value_of` makes the value from `scores`, shape (n,). It is made anew from 20 draws of the
    scores plus normal noise of sd `noise`, in the scores' units; the sd of these values stands
    beside the estimate and, times 1.96, is added to either side of the interval in quadrature.
    No end leaves `within`, the range of the value. Noise 0 draws nothing and changes nothing.

    Raises:
        ValueError: there is noise, and no generator to draw it with.
    """
    if not noise:
        return estimate
    if rng is None:
        message = f"noise of {noise:g} needs a generator: give rng"
        raise ValueError(message)
    values = [value_of(scores + rng.normal(scale=noise, size=len(scores))) for _ in range(_DRAWS)]
    sd = float(np.std(values, ddof=1))
    below = math.hypot(estimate.value - estimate.low, _Z * sd)
    above = math.hypot(estimate.high - estimate.value, _Z * sd)
    return replace(
        estimate,
        low=min(max(estimate.value - below, within[0]), estimate.low),
        high=max(min(estimate.value + above, within[1]), estimate.high),
        interval=f"{estimate.interval}, and numeric noise",
        secondary={**estimate.secondary, BESIDE: sd},
    )
