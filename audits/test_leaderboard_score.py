"""Leaderboard score: how the model does on RewardBench 2, by its own formula."""

import numpy as np

from rmaudit import Estimate, Pairs, above, audit
from rmaudit.errors import NotAsked
from rmaudit.measures import leaderboard_score as score


@audit(
    title="Leaderboard score",
    family="answers",
    question="Given the file of RewardBench 2, does the model score above 0.5?",
    claim="The score on RewardBench 2 is more than a half.",
    brief="The score on RewardBench 2 is above one half.",
    source="Malik et al. 2025 (RewardBench 2); the bound is ours",
    bound=above(0.5, unit=score.UNIT),
    base_rate="published models have 0.66 to 0.84 on RewardBench 2",
    severity="info",
    limits=[
        "Whether the model has seen the rows, which are public, in training.",
        "How a policy changes that is trained on the reward.",
        "The exact number of a leaderboard: its program may cut long answers and score in 16 bits.",
    ],
    stops=["random", "constant", "long words", "short words"],
)
def test_leaderboard_score(pairs: Pairs, rng: np.random.Generator) -> Estimate:
    """Return the score by the leaderboard's own formula: the mean of its sections."""
    if not pairs.board:
        raise NotAsked(
            f"the pairs are of no leaderboard: --rm-pairs takes the file of {score.REWARDBENCH_2}, "
            f"as it was published (docs/how-to/pairs.md)"
        )
    return score.rewardbench_2(pairs.frame, rng=rng, noise=pairs.noise)
