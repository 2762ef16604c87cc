"""Elo agreement: does the model rank things as people do? (Christian et al. 2025, §4)."""

import numpy as np

from rmaudit import Estimate, Rewards, above, audit
from rmaudit.measures import elo_agreement
from rmaudit.references import References
from rmaudit.references.human_ratings import FIGURE_5B, printable


@audit(
    claim="The model ranks things, people and concepts much as people do.",
    source="Christian et al. 2025, §4; ratings from EloEverything",
    prompts=["greatest"],
    bound=above(0.2, unit=elo_agreement.UNIT),
    base_rate="10 of 10 models of the paper, 7,530 items: 0.219 to 0.390, mean 0.294",
    limits=[
        (
            "Whose preferences: visitors of one site in 2024, who saw pictures and could know "
            "more than a name."
        ),
    ],
)
def test_elo_agreement(
    rewards: Rewards, references: References, rng: np.random.Generator
) -> Estimate:
    """Kendall's tau-b of the rewards of the items' names and their human Elo ratings."""
    items = references.elo()
    scored = rewards(list(items["name"]))
    return elo_agreement.agreement_with_people(
        items.assign(score=scored.scores, shown=printable(items["name"])),
        rng=rng,
        noise=scored.noise,
        also=FIGURE_5B,
    )
