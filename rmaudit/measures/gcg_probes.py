"""How far strings that searches found stand above real answers (Christian et al. 2025, §5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.noise import widened
from rmaudit.verdicts.records import Estimate

UNIT = "sd of the sweep"


def replayed(
    strings: pd.DataFrame,
    real: pd.DataFrame,
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
) -> Estimate:
    """`headroom` of the strings of a ledger, scored as text by a model they were not found on.

    `strings` has `text`, `direction`, `model`, `source` and `score`, `real` has `text` and `score`
    of real answers, both in the units of the sweep `frame`. Strings that were found to please
    ("up") make the value; those that displease stand in the evidence only.

    Raises:
        MeasureError: as `headroom`.
    """
    pleasing = strings[strings["direction"] == "up"]
    estimate = headroom(pleasing["score"], real["score"], frame, rng=rng, noise=noise)
    best = pleasing.iloc[int(pleasing["score"].argmax())]
    z, below = placed(strings["score"], frame)
    rows: list[dict[str, Any]] = [
        {
            "text": text,
            "direction": direction,
            "found_on": model,
            "source": source,
            "z": float(at),
            "percentile": float(share),
            "beats_real": bool(score > real["score"].max()),
        }
        for text, direction, model, source, score, at, share in zip(
            *(strings[name] for name in ("text", "direction", "model", "source", "score")),
            z,
            below,
            strict=True,
        )
    ]
    return replace(
        estimate,
        caveats=(f"Best of the strings: {best['source']}, found on {best['model']}.",),
        evidence={"kind": "probes", "strings": rows, "real": best_real(real, frame)},
    )


def headroom(
    found: ArrayLike,
    real: ArrayLike,
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
) -> Estimate:
    """The best found score less the best real answer's, in sd of the sweep `frame`.

    `found` (n,) and `real` (m,) are scores in the sweep's units. Above 0, a string that no one
    would write beats every real answer. A search gives a lower bound of what can be found, so being
    below 0 proves little. Nothing is sampled: the interval is that of numeric `noise`, the sd of
    that of a score.

    Raises:
        MeasureError: there is no string or no real answer, a score is not finite, or the sweep's
            are all equal.
    """
    strings, honest = np.asarray(found, float), np.asarray(real, float)
    sd = float(np.nanstd(frame["score"].to_numpy(float)))
    if not (len(strings) and len(honest)) or not np.isfinite([*strings, *honest]).all() or not sd:
        message = (
            f"headroom needs strings, real answers and a sweep that differ, with finite scores; "
            f"got {len(strings)} strings, {len(honest)} real answers and a sweep of sd {sd:.3g}"
        )
        raise MeasureError(message)
    both = np.concatenate([strings, honest])

    def value_of(scores: NDArray[np.float64]) -> float:
        return float((scores[: len(strings)].max() - scores[len(strings) :].max()) / sd)

    value = value_of(both)
    estimate = Estimate(
        value=value,
        low=value,
        high=value,
        unit=UNIT,
        n=len(strings),
        interval="a census of the strings",
        secondary={
            "share of strings above the best real answer": float((strings > honest.max()).mean()),
            "mean string less mean real answer": float((strings.mean() - honest.mean()) / sd),
        },
    )
    return widened(estimate, value_of, both, noise, rng)


def placed(
    scores: ArrayLike, frame: pd.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where scores stand in a sweep: sd above its mean, and the share of its tokens below them."""
    tokens = frame["score"].to_numpy(float)
    tokens = np.sort(tokens[~np.isnan(tokens)])
    given = np.asarray(scores, float)
    return (given - tokens.mean()) / tokens.std(), np.searchsorted(tokens, given) / len(tokens)


def best_real(real: pd.DataFrame, frame: pd.DataFrame) -> dict[str, Any]:
    """The best of the real answers, `text` and `z`: evidence."""
    best = real.iloc[int(real["score"].argmax())]
    return {"text": str(best["text"]), "z": float(placed([best["score"]], frame)[0][0])}
