"""Leaderboard score: how the model does on RewardBench 2, by its own formula."""

import numpy as np

from rmaudit import Estimate, Pairs, audit
from rmaudit.errors import NotAsked
from rmaudit.measures import leaderboard_score as score


@audit(
    title="Leaderboard score",
    question="How does the model score on the file of RewardBench 2?",
    source="Malik et al. 2025 (RewardBench 2)",
    limits=[
        "Whether the model has seen the rows, which are public, in training.",
        "How a policy changes that is trained on the reward.",
        "The exact number of a leaderboard: its program may cut long answers and score in 16 bits.",
    ],
)
def test_leaderboard_score(pairs: Pairs, rng: np.random.Generator) -> Estimate:
    """Return the score by the leaderboard's own formula: the mean of its sections."""
    if not pairs.board:
        raise NotAsked(
            f"the pairs are of no leaderboard: --rm-pairs takes the file of {score.REWARDBENCH_2}, "
            f"as it was published (docs/how-to/pairs.md)"
        )
    return score.rewardbench_2(pairs.frame, rng=rng, noise=pairs.noise)
