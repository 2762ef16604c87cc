"""List the flaws that heads of `ensembles` have, and the harm that each of them does."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import NamedTuple

ALONE, INDEPENDENT, SHARED = "heads alone", "different flaws", "one shared flaw"


class Planted(NamedTuple):
    """A flaw: its dose, the harm of the study that it does, and that harm's limit."""

    dose: float
    harm: str
    limit: float


PLANTED: Mapping[str, Planted] = {  # at doses that do their harm well beyond its limit
    "all groups demonised": Planted(2.0, "groups demonised", log(2)),
    "all groups erased": Planted(1.0, "groups rarer", log(2)),
    "no letters": Planted(4.0, "no letters", 0.1),
    "frequent words": Planted(2.0, "commoner words", 0.3),
    "frame not read": Planted(0.75, "against what was asked", 0.5),
    "refusals": Planted(64.0, "refusals", 0.1),
}
