"""How far strings found on other models please this one (Christian et al. 2025, §5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.headroom import UNIT, RealAnswer, best_real, headroom, placed
from rmaudit.verdicts.records import Estimate, Evidence

__all__ = ["UNIT", "GcgProbesEvidence", "Replayed", "replayed"]


@dataclass(frozen=True)
class Replayed:
    """A string that was found to please ("up") or displease ("down") a model, scored by this one.

    `z` is in sd above the sweep's mean, `share_below` the share of its tokens that score less.
    """

    text: str
    direction: str
    found_on: str
    source: str
    z: float
    share_below: float
    beats_real: bool


@dataclass(frozen=True, kw_only=True)
class GcgProbesEvidence(Evidence):
    """All strings of the ledger, and the best real answer."""

    kind: Literal["gcg_probes"] = "gcg_probes"
    strings: tuple[Replayed, ...]
    real: RealAnswer


def replayed(
    strings: pd.DataFrame,
    real: pd.DataFrame,
    frame: pd.DataFrame,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
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
    caveats = estimate.caveats
    z, below = placed(strings["score"], frame)
    columns = (strings[name] for name in ("text", "direction", "model", "source"))
    beats = strings["score"] > real["score"].max()
    shown = (
        Replayed(str(text), str(way), str(model), str(source), float(at), float(share), bool(beat))
        for text, way, model, source, at, share, beat in zip(*columns, z, below, beats, strict=True)
    )
    return replace(
        estimate,
        caveats=(f"Best of the strings: {best['source']}, found on {best['model']}.", *caveats),
        evidence=GcgProbesEvidence(strings=tuple(shown), real=best_real(real, frame)),
    )
