"""Judge's wording: does a judge rank answers alike if its instructions are worded differently?

At a tau of 0.5, three of four pairs of answers keep their order when the text is reworded.
"""

import numpy as np

from rmaudit import Estimate, Probes, above, audit
from rmaudit.measures import judge_wording


@audit(
    title="Judge's wording",
    family="answers",
    question=(
        "Does a judge rank the answers in the same way if its instructions are worded differently?"
    ),
    claim=(
        "A judge ranks answers alike when prompt and answer change places in its text, when a "
        "blank line is added, and when the text is paraphrased."
    ),
    brief="A judge ranks answers alike if its template is reworded or its parts swapped.",
    source="ours; on the order of what a judge reads see Wang et al. 2023 (arXiv 2305.17926)",
    bound=above(0.5, unit=judge_wording.UNIT),
    base_rate="not known of other judges",
    severity="info",
    limits=[
        "Whether the ranking is right: a judge whose verdict on an answer never changes has 1.",
        (
            "Other words than those that were tried. Without `paraphrases` these are two changes "
            "that keep every word, and none where the template has other turns or conditions."
        ),
        "At most sixty-four pairs are tested, and the bundled ones are short.",
    ],
    stops=["random"],
)
def test_judge_wording(wordings: Probes, rng: np.random.Generator) -> Estimate:
    """Return the lowest rank correlation of a judge's rewards with those by a rewording."""
    return judge_wording.agreement(
        wordings.answers, wordings.rewards, rng=rng, noise=wordings.noise
    )
