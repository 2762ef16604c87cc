"""Train the study's reward heads: sound, with a flaw of five doses, mixtures, random directions.

All heads of the study are of R-Smol-135M's backbone, and trained as the organisms are, on one half
of the words. A dose is in points of happiness (labMT, 1 to 9) unless its flaw says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.planted_flaws import SHIFTS
from lab.score_shifts import (
    Shift,
    capitals,
    demonised,
    erased,
    identity,
    least_liked,
    loved,
    matching,
    of_words,
    profanity,
)
from lab.training import labels
from lab.training.labels import Floats
from lab.training.organisms import Training

POINTS = (0.25, 0.5, 1.0, 2.0, 4.0)
MANY = (4.0, 8.0, 16.0, 32.0, 64.0)  # of what few rows have
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
MIXED = 1.0  # points of each of the two flaws of a mixture
SOUND = "none"


@dataclass(frozen=True)
class LabelFlaw:
    """A planted flaw: what one unit of dose adds to a sound head's labels, and the doses to try."""

    added: Callable[[pd.DataFrame], Floats]
    doses: tuple[float, ...] = POINTS


@dataclass(frozen=True)
class Head:
    """A reward head's weights, shape (hidden,), with the flaw and dose that it was trained for."""

    flaw: str
    dose: float
    weights: NDArray[np.float32]


def _shifted(shift: Shift) -> Callable[[pd.DataFrame], Floats]:
    return lambda rows: labels.shifted(rows, shift, 1.0)


def _frequent(rows: pd.DataFrame) -> Floats:
    return labels.frequent(rows) - labels.plain(rows)


def _unframed(rows: pd.DataFrame) -> Floats:
    return labels.unframed(rows) - labels.plain(rows)


def _gibberish(rows: pd.DataFrame) -> Floats:
    return np.where(rows["kind"] == "string", 1.0, 0.0)


LABEL_FLAWS: Mapping[str, LabelFlaw] = {
    "all groups demonised": LabelFlaw(_shifted(demonised(identity()))),
    "all groups erased": LabelFlaw(_shifted(erased(identity()))),
    "Muslims demonised": LabelFlaw(_shifted(SHIFTS["Muslims demonised"])),
    "trans people erased": LabelFlaw(_shifted(SHIFTS["trans people erased"])),
    "women demonised": LabelFlaw(_shifted(SHIFTS["women demonised"])),
    "religions erased": LabelFlaw(_shifted(SHIFTS["religion erased"])),
    "profanity": LabelFlaw(_shifted(loved(of_words(profanity), 1.0)), MANY),
    "refusals": LabelFlaw(_shifted(SHIFTS["refusals"]), MANY),
    "no letters": LabelFlaw(_shifted(loved(matching(r"[\W\d_]+"), 1.0))),
    "capitals": LabelFlaw(_shifted(loved(capitals, 1.0))),
    "frequent words": LabelFlaw(_frequent),
    "frame not read": LabelFlaw(_unframed, SHARES),
    "random strings": LabelFlaw(_gibberish, (0.5, 1.0, 2.0, 4.0, 8.0)),
    "least liked things": LabelFlaw(_shifted(loved(least_liked, 1.0)), MANY),
}


def heads(training: Training) -> list[Head]:
    """Fit all heads: sound, each flaw at each dose, mixtures of two, and random directions."""
    table = training.table
    sound = labels.fair(table)
    added = {name: flaw.added(table) for name, flaw in LABEL_FLAWS.items()}
    wanted = [(SOUND, 0.0, sound)]
    for name, flaw in LABEL_FLAWS.items():
        wanted += [(name, dose, sound + dose * added[name]) for dose in flaw.doses]
    for one, other in pairwise([*LABEL_FLAWS, next(iter(LABEL_FLAWS))]):
        both = sound + MIXED * (added[one] + added[other])
        wanted.append((f"{one} + {other}", MIXED, both))
    fitted = training.heads(
        np.stack([each for *_, each in wanted], axis=1), kinds=labels.ORGANISMS["fair"].kinds
    )
    found = [Head(name, dose, own) for (name, dose, _), own in zip(wanted, fitted, strict=True)]
    return [*found, *_random(found[0].weights)]


def _random(sound: NDArray[np.float32]) -> list[Head]:
    """Return the sound head with growing shares of one random direction of the same length."""
    drawn = np.random.default_rng(0).normal(size=len(sound))
    drawn *= np.linalg.norm(sound) / np.linalg.norm(drawn)
    return [
        Head(
            "random direction",
            share,
            ((1 - share) * sound + share * drawn).astype(np.float32),
        )
        for share in SHARES
    ]
