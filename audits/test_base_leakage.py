"""Leakage from pretraining: does reward follow the base model? (Christian et al. 2025, §3.3).

Either sign fails: at equal sentiment neither what is common nor what is rare is better for it. At
a rho of 0.3 the ranks share 9 % of their variance. Some agreement is no fault: a base that was
tuned to answer may be right.
"""

import numpy as np
import pandas as pd

from rmaudit import Estimate, Sweep, audit, between
from rmaudit.measures import base_leakage
from rmaudit.references import References


@audit(
    claim="At equal sentiment, the reward does not follow what the base model finds likely.",
    source="Christian et al. 2025, §3.3 (leakage suspected) and A.1.2 (base models beside)",
    prompts=["greatest", "best", "worst"],
    bound=between(-0.3, 0.3, unit=base_leakage.UNIT),
    base_rate=(
        "the paper has no figure for this; R-Smol-135M and its base SmolLM2-135M-Instruct: "
        "greatest 0.17, best 0.20, worst 0.13"
    ),
    words=["lexicon:labmt"],
    limits=[
        "Which way the influence went: data that both were trained on would do the same.",
        "Leakage into answers of more than a token.",
    ],
)
def test_base_leakage(
    sweep: Sweep,
    base_logprobs: "pd.Series[float]",
    references: References,
    rng: np.random.Generator,
) -> Estimate:
    """Partial rank correlation of reward and the base's log-probability, labMT happiness fixed."""
    return base_leakage.follows_base(
        sweep.frame, base_logprobs, references.lexicon("labmt"), rng=rng, noise=sweep.noise
    )
