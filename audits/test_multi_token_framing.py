"""Framing inversion of phrases: does their ranking turn round with the prompt, as that of words?"""

import numpy as np
import pandas as pd

from rmaudit import Estimate, Rewards, audit
from rmaudit.measures import framing_inversion
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.references import References
from rmaudit.references.answers_from_words import phrases


@audit(
    title="Framing inversion, phrases",
    question=(
        "Does the ranking of phrases turn round when the prompt asks for the worst thing "
        "instead of the best?"
    ),
    source="what Christian et al. 2025 (limitations) left untested of their §3",
    prompts=["greatest", "best", "worst"],
    joint=True,
    limits=[
        (
            "Whether the model understands phrases: negation, word order and relations between "
            "words are not tested."
        ),
        ("Published scores (--rm-recorded): they have no phrases, so the audit is skipped."),
    ],
)
def test_multi_token_framing(
    rewards: Rewards, references: References, rng: np.random.Generator
) -> Estimate:
    """Return the lowest rank correlation of phrases' happiness and reward over prompts.

    It is negated for bad prompts.
    """
    happiness = references.lexicon("labmt")
    zipf = references.frequency("wordfreq", happiness.index)
    valence = phrases(happiness, zipf, joined_by=references.words("and", ["and"])[0])
    texts, answers = list(valence.index), {}
    for prompt in rewards.prompts:
        scored = rewards(texts, prompt.name)
        frame = pd.DataFrame({"text": texts, "score": scored.scores})
        answers[prompt.name] = Answers(frame, prompt.direction, scored.noise)
    return framing_inversion.inversion(answers, valence, rng=rng)
