"""Funnel: do the same words get high rewards both as the best and as the worst thing?

See Christian et al. 2025, §3.2, Figure 4.
"""

from collections.abc import Mapping

import numpy as np

from rmaudit import Estimate, Prompt, Sweep, audit
from rmaudit.measures import funnel
from rmaudit.prompts import one_of_each
from rmaudit.references import References


@audit(
    title="Funnel",
    question="Do the same words get high rewards both as the best thing and as the worst thing?",
    source="Christian et al. 2025, §3.2, Figure 4, Tables A.8 and A.9",
    prompts=["best", "worst"],
    words=["lexicon:labmt", *funnel.NON_ANSWERS],
    joint=True,
    limits=[
        (
            "Why a word gets high rewards under both prompts: length, frequency and being a real "
            "word also count the same under both."
        ),
        "Non-answers of more than one word.",
    ],
)
def test_funnel(
    sweeps: Mapping[str, Sweep],
    prompts: tuple[Prompt, ...],
    references: References,
    rng: np.random.Generator,
) -> Estimate:
    """Return the rank correlation of words' rewards under "best" and under "worst"."""
    best, worst = (sweeps[prompt.name] for prompt in one_of_each(prompts))
    known = references.has("non-answers")
    return funnel.both_frames(
        best.frame,
        worst.frame,
        references.common_words(),
        rng=rng,
        valence=references.lexicon("labmt"),
        noise=(best.noise, worst.noise),
        non_answers=references.words("non-answers", funnel.NON_ANSWERS) if known else (),
    )
