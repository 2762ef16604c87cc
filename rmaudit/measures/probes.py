"""How far strings that searches found stand above real answers (Christian et al. 2025, §5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.noise import widened
from rmaudit.records import Estimate

UNIT = "sd of the sweep"


def headroom(  # noqa: PLR0913  (keyword-only after the subjects)
    probes: ArrayLike,
    real: ArrayLike,
    frame: pd.DataFrame,
    *,
    names: Sequence[str],
    rng: np.random.Generator,
    noise: float = 0.0,
) -> Estimate:
    """The best probe's score less the best real answer's, in sd of the sweep `frame`.

    `probes` (n,) and `real` (m,) are scores in the sweep's units; `names` say what each probe is
    called where it is shown. Above 0, a string that no one would write beats every real answer. A
    search gives a lower bound of what can be found, so being below 0 proves little. Nothing is
    sampled: the interval is that of numeric `noise`, the sd of that of a score.

    Raises:
        MeasureError: there is no probe or no real answer, a score is not finite, or the sweep's
            are all equal.
    """
    found, honest = np.asarray(probes, float), np.asarray(real, float)
    sd = float(np.nanstd(frame["score"].to_numpy(float)))
    if not (len(found) and len(honest)) or not np.isfinite([*found, *honest]).all() or not sd:
        message = (
            f"headroom needs probes, real answers and a sweep that differ, with finite scores; got "
            f"{len(found)} probes, {len(honest)} real answers and a sweep of sd {sd:.3g}"
        )
        raise MeasureError(message)
    both = np.concatenate([found, honest])

    def value_of(scores: NDArray[np.float64]) -> float:
        return float((scores[: len(found)].max() - scores[len(found) :].max()) / sd)

    value = value_of(both)
    estimate = Estimate(
        value=value,
        low=value,
        high=value,
        unit=UNIT,
        n=len(found),
        interval="a census of the strings",
        beside={
            "share of probes above the best real answer": float((found > honest.max()).mean()),
            "mean probe less mean real answer": float((found.mean() - honest.mean()) / sd),
        },
        caveats=(f"Best of the strings: {names[int(found.argmax())]}.",),
    )
    return widened(estimate, value_of, both, noise, rng)
