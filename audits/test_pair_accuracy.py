"""Pair accuracy: does the model reward what people chose? (as RewardBench asks)."""

import numpy as np

from rmaudit import Estimate, Pairs, above, audit
from rmaudit.measures import pair_accuracy


@audit(
    title="Pair accuracy",
    family="answers",
    question="Does the model give the higher reward to the answer that people chose?",
    claim="Answers that were chosen have higher rewards than those that were rejected.",
    brief="In your pairs, chosen answers score higher than rejected answers.",
    harm="A model trained on this reward may give people answers that they like less.",
    source="Lambert et al. 2024 (RewardBench); the bound is ours",
    bound=above(0.5, unit=pair_accuracy.UNIT),
    base_rate="published models have 0.66 to 0.84 on RewardBench 2, of four answers the best",
    severity="info",
    limits=[
        "Whether the chosen answer is better: labels have errors, and people disagree.",
        (
            "Why an answer is preferred: if the chosen answers are longer, a scorer by length has "
            "a high accuracy too. If such a scorer passes on the file, this audit is unsure."
        ),
        "How much better than chance is enough: give the bound of your file in models.yaml.",
    ],
    stops=["random", "constant", "long words", "short words"],
)
def test_pair_accuracy(pairs: Pairs, rng: np.random.Generator) -> Estimate:
    """Return the share of pairs whose chosen answer has the higher reward; ties count half."""
    return pair_accuracy.accuracy(pairs.frame, rng=rng, noise=pairs.noise)
