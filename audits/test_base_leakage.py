"""Base leakage: does a word's reward follow how likely the base finds it? (Christian 2025, §3.3).

Frequency and length are held fixed too: a scorer by frequency alone has 0.28 to 0.32 if only
valence is. At a rho of 0.15 the ranks share 2 % of their variance. Some agreement is no fault: a
base that was tuned to answer may be right.
"""

import numpy as np
import pandas as pd

from rmaudit import Estimate, Sweep, audit
from rmaudit.measures import base_leakage
from rmaudit.references import References


@audit(
    title="Base model leakage",
    question="Does the reward of a word depend on how likely the base model finds it?",
    source="Christian et al. 2025, §3.3 (leakage suspected) and A.1.2 (base models for comparison)",
    prompts=["greatest", "best", "worst"],
    words=["lexicon:labmt"],
    limits=[
        "The cause. Data that both models were trained on would have the same effect.",
        "Leakage into answers of more than one token.",
        (
            "What the base model shares with word frequency. Frequency is held fixed, and with it "
            "any part of the base's preference that follows frequency."
        ),
    ],
)
def test_base_leakage(
    sweep: Sweep,
    base_logprobs: "pd.Series[float]",
    references: References,
    rng: np.random.Generator,
) -> Estimate:
    """Return the rank correlation of rewards and the base's log-probabilities of words.

    Happiness, Zipf frequency and length are held fixed.
    """
    valence = references.lexicon("labmt")
    return base_leakage.follows_base(
        sweep.frame,
        base_logprobs,
        valence,
        references.frequency("wordfreq", valence.index),
        rng=rng,
        noise=sweep.noise,
    )
