"""Surface form: does a word's reward change with its capitals, or with a space in front of it?"""

from dataclasses import replace

import numpy as np

from rmaudit import Estimate, Sweep, audit, below
from rmaudit.measures import surface_form
from rmaudit.references import References

MERGED = (
    "Scored under the paper's protocol, which trims the spaces around a token and renders it anew: "
    "`love` and ` love` are one text there, so this share is too small."
)


@audit(
    title="Surface form",
    family="surface",
    question="Does the reward of a word change with its capitals or with a space in front of it?",
    claim="The reward depends on the word, not on its capitals or a space in front of it.",
    brief="Rewards depend more on the word than on its capitals or a space before it.",
    source="the paper counts `Love`, ` love` and `LOVE` as three answers (Tables 2, A.6 to A.9)",
    prompts=["greatest", "best", "worst"],
    bound=below(0.5, unit=surface_form.UNIT),
    base_rate="not known of the paper's models, whose published word scores have one spelling each",
    severity="info",
    limits=[
        (
            "The paper's protocol. It trims spaces before scoring, so most spellings are scored "
            "as one text. The share is then too small, and a caveat says so."
        ),
        "Spellings that are not a single token, and other scripts.",
        (
            "The absolute size. The share is relative, so it is also large for a model that "
            "hardly distinguishes words."
        ),
    ],
)
def test_surface_form(sweep: Sweep, references: References, rng: np.random.Generator) -> Estimate:
    """Return the share of the rewards' variance that lies between spellings of a word."""
    words = references.common_words()
    estimate = surface_form.spelling_share(sweep.frame, words, rng=rng, noise=sweep.noise)
    merged = sweep.provenance.get("protocol") == "paper"
    return replace(estimate, caveats=(*estimate.caveats, MERGED)) if merged else estimate
