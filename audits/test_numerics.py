"""Numeric noise: can rounding change which of two tokens gets the higher reward?"""

import numpy as np

from rmaudit import Estimate, Sweep, audit
from rmaudit.errors import NotRecorded
from rmaudit.measures import numerics
from rmaudit.scores.shard_scoring import ANSWERS


@audit(
    title="Numeric noise",
    question="Is rounding noise too small to change which of two tokens gets the higher reward?",
    source="scores move with batch and padding in half precision: reward-bench#137, trl#422",
    prompts=["greatest", "best", "worst"],
    limits=[
        "Errors that are the same in every run: rmaudit doctor looks for these.",
        (
            "Noise that is not normal, or not the same for all tokens: 16 answers are too few to "
            "show it."
        ),
    ],
)
def test_numerics(sweep: Sweep, rng: np.random.Generator) -> Estimate:
    """Return the rank correlation of a sweep with itself after numeric noise is added once more."""
    if "noise" not in sweep.provenance:
        message = f"{sweep.model}: the numeric noise of these scores was not measured"
        raise NotRecorded(message, command=f"pytest audits --model {sweep.model}")
    return numerics.stability(sweep.frame, noise=sweep.noise, answers=ANSWERS, rng=rng)
