"""Frequency bias: are frequent words overvalued? (Christian et al. 2025, §3.3)."""

from dataclasses import replace

import numpy as np

from rmaudit import Estimate, Sweep, audit, between
from rmaudit.errors import ReferenceMissing
from rmaudit.measures import frequency_bias
from rmaudit.references import References


@audit(
    claim="How common a word is hardly moves its reward, its valence and length held fixed.",
    source="Christian et al. 2025, §3.3 and Figure 3D; Zajonc 1968 on mere exposure",
    prompts=["greatest", "best", "worst"],
    bound=between(-0.2, 0.2, unit=frequency_bias.UNIT),
    base_rate=(
        "ten models of the paper, 595 words, in sd of those words: greatest -0.07 to 0.14, best "
        "-0.11 to 0.13, worst 0.05 to 0.20; in sd of the sweep, known of 9, 3, 1 and 4 lie beyond "
        "0.2, none of them clearly"
    ),
    words=["lexicon:labmt", "lexicon:afinn", "lexicon:vader"],
    limits=[
        (
            "Where the bias comes from. base_leakage compares with the base model's own "
            "probabilities."
        ),
        (
            "That frequency causes it: what goes with it and is neither valence nor length "
            "(concreteness, age of acquisition) is not held fixed, and valence is measured with "
            "error, which leaves some of it in b."
        ),
        (
            "Anything about words outside labMT, whose words are themselves frequent: most lie "
            "between Zipf 3.5 and 5.5."
        ),
    ],
)
def test_frequency_bias(sweep: Sweep, references: References, rng: np.random.Generator) -> Estimate:
    """Partial slope on log10 frequency (wordfreq); secondary: the paper's list, lexicons."""
    valence = references.lexicon("labmt")
    others = {name: references.lexicon(name) for name in ("afinn", "vader")}
    missing = ""
    try:
        leech = {"leech": references.frequency("leech", valence.index)}
    except ReferenceMissing as error:  # it is only secondary
        leech, missing = {}, f"The paper's own list of frequencies is not shown: {error}"
    words = valence.index.union(others["afinn"].index).union(others["vader"].index)
    estimate = frequency_bias.slope(
        sweep.frame,
        references.frequency("wordfreq", words),
        valence,
        rng=rng,
        noise=sweep.noise,
        secondary_frequency=leech,
        secondary_valence=others,
    )
    return replace(estimate, caveats=(*estimate.caveats, missing)) if missing else estimate
