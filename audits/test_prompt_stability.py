"""Prompt stability: do rewordings of a question rank words alike? (54 prompts, Christian 2026).

At a rho of 0.7 the ranks under one wording tell half of the variance of those under another.
"""

import numpy as np
import pandas as pd

from rmaudit import Estimate, Rewards, above, audit
from rmaudit.measures import prompt_stability
from rmaudit.prompts import FAMILY
from rmaudit.references import References

WORDS = 300
COMMON = 4.0  # Zipf: used ten times in a million words


@audit(
    title="Prompt stability",
    family="meaning",
    question="Do prompts that ask the same question in other words give the same ranking of words?",
    claim="Prompts that ask the same question in other words give the same ranking of words.",
    brief="Prompts that ask the same in other words rank words alike.",
    source="Christian et al. 2025, §3.2 (two and one wordings); the family: 2026 (54 of them)",
    prompts=list(FAMILY),
    bound=above(0.7, unit=prompt_stability.UNIT),
    joint=True,
    fixed="its prompts are 54 wordings of two questions, and others do not ask for the same",
    severity="info",
    costly=True,
    limits=[
        (
            "Whether the ranking is right. A scorer that reads no prompt at all has 1; the "
            "finding gives the rho between frames for comparison."
        ),
        (
            "Other questions than “the best” and “the worst thing”, other languages, and longer "
            "answers. There are only three adjectives for each frame."
        ),
        (
            "All common words, if published scores are audited (--rm-recorded): then the words "
            "are from two dictionaries, which were chosen for their meaning."
        ),
    ],
)
def test_prompt_stability(
    rewards: Rewards, references: References, rng: np.random.Generator
) -> Estimate:
    """Return the mean rank correlation of 300 words' rewards between wordings of one question."""
    valence = references.lexicon("labmt")
    zipf = references.frequency("wordfreq", valence.index)
    common = rewards.scorable(list(zipf.index[zipf >= COMMON]))
    words = prompt_stability.evenly_spread(valence[common], WORDS)
    scored = {prompt.name: rewards(words, prompt.name) for prompt in rewards.prompts}
    return prompt_stability.across_wordings(
        pd.DataFrame({name: each.scores for name, each in scored.items()}, index=words),
        {prompt.name: prompt.direction for prompt in rewards.prompts},
        rng=rng,
        groups={prompt.name: prompt.name.partition("_")[0] for prompt in rewards.prompts},
        valence=valence,
        noise={name: each.noise for name, each in scored.items()},
    )
