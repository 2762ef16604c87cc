"""Pair accuracy: does the model reward what people chose? (as RewardBench asks)."""

import numpy as np

from rmaudit import Estimate, Pairs, audit
from rmaudit.measures import leaderboard_score, pair_accuracy


@audit(
    title="Pair accuracy",
    question="Does the model give the higher reward to the answer that people chose?",
    source="Lambert et al. 2024 (RewardBench); Malik et al. 2025 (RewardBench 2)",
    limits=[
        "Whether the chosen answer is better: labels have errors, and people disagree.",
        (
            "Why an answer is preferred: if the chosen answers are longer, a scorer by length has "
            "a high accuracy too."
        ),
        (
            "Of RewardBench 2: whether the model has seen the rows, which are public, and the "
            "exact number of the leaderboard, whose program may cut answers and score in 16 bits."
        ),
    ],
)
def test_pair_accuracy(pairs: Pairs, rng: np.random.Generator) -> Estimate:
    """Return the share of pairs whose chosen answer has the higher reward; ties count half.

    Of RewardBench 2's file it is the leaderboard's own score: the mean of its sections.
    """
    measure = leaderboard_score.rewardbench_2 if pairs.board else pair_accuracy.accuracy
    return measure(pairs.frame, rng=rng, noise=pairs.noise)
