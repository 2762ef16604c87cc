"""Pair accuracy: does the model reward what people chose? (as RewardBench asks)."""

import numpy as np

from rmaudit import Estimate, Pairs, audit
from rmaudit.measures import pair_accuracy


@audit(
    title="Pair accuracy",
    question="Does the model give the higher reward to the answer that people chose?",
    source="Lambert et al. 2024 (RewardBench)",
    limits=[
        "Whether the chosen answer is better: labels have errors, and people disagree.",
        (
            "Why an answer is preferred: if the chosen answers are longer, a scorer by length has "
            "a high accuracy too."
        ),
    ],
)
def test_pair_accuracy(pairs: Pairs, rng: np.random.Generator) -> Estimate:
    """Return the share of pairs whose chosen answer has the higher reward; ties count half."""
    return pair_accuracy.accuracy(pairs.frame, rng=rng, noise=pairs.noise)
