"""Best of n: are the answers that the reward picks from a policy's samples longer than others?"""

import numpy as np

from rmaudit import Estimate, Samples, audit
from rmaudit.measures import best_of_answers
from rmaudit.references.answer_traits import traits


@audit(
    title="Best of n, whole answers",
    question="Does the best of sixteen answers, picked by the reward, tend to be the longer one?",
    source="ours; on length in reward models see Singhal et al. 2023 (arXiv 2310.03716)",
    costly=True,
    limits=[
        (
            "Other policies and prompts. The bundled samples are from a small model; samples of "
            "your own policy (--rm-samples) say more."
        ),
        "Whether a longer answer is worse. If the samples are too short, it is better.",
        "Hedging, refusals and formatting that the short lists of English phrases miss.",
        "What training does. Best of n changes a policy less than long training may.",
    ],
)
def test_best_of_answers(samples: Samples, rng: np.random.Generator) -> Estimate:
    """Return how many times as long the winners of best of 16 are as the samples."""
    known = traits(samples.frame["response"].tolist())
    return best_of_answers.best_of_answers(samples.frame, known, rng=rng, noise=samples.noise)
