"""Framing steepness: does the model tell apart wanted words more finely than the others?

See Christian et al. 2025, §3.2, Figure 3.
"""

from collections.abc import Mapping

import numpy as np

from rmaudit import Estimate, Sweep, audit
from rmaudit.measures import framing_steepness
from rmaudit.references import References

NEUTRAL = 5.0  # labMT's middle; the other lexicons' is 0


@audit(
    title="Framing steepness",
    question=(
        "Does the model make finer distinctions among the words that the prompt asks for than "
        "among the others?"
    ),
    source="Christian et al. 2025, §3.2 and Figure 3",
    prompts=["greatest", "best", "worst"],
    words=["lexicon:afinn", "lexicon:vader", "lexicon:labmt"],
    joint=True,
    limits=[
        (
            "The effect of the lexicon. A lexicon's points are not equally spaced, so a scorer "
            "that knows only labMT's happiness is not at 0 by AFINN-111."
        ),
        (
            "Whether the paper's figure is reproduced. It shows slopes under one prompt at a "
            "time, over tokens; the numbers for each prompt are the closest to it."
        ),
    ],
)
def test_framing_steepness(
    sweeps: Mapping[str, Sweep], references: References, rng: np.random.Generator
) -> Estimate:
    """Return how much steeper rewards follow valence among wanted words than among the others."""
    beside = references.lexicons("vader", "labmt")
    if "labmt" in beside:
        beside["labmt"] = beside["labmt"] - NEUTRAL
    return framing_steepness.steepness(
        {name: sweep.answers for name, sweep in sweeps.items()},
        references.lexicon("afinn"),
        rng=rng,
        secondary=beside,
    )
