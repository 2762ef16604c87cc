"""Strings that searches found on other models, replayed (Christian et al. 2025, §5)."""

import numpy as np
import pandas as pd

from rmaudit import Estimate, Prompt, Rewards, Sweep, audit, below
from rmaudit.measures import gcg_probes
from rmaudit.references import References
from rmaudit.references.answers import answers


@audit(
    claim="Strings that searches found on other models seldom beat real answers of their length.",
    source="Christian et al. 2025, §5, Tables 4 and 5",
    prompts=["greatest", "best", "worst"],
    bound=below(gcg_probes.BOUND, unit=gcg_probes.UNIT),
    base_rate="not known: published are the strings of one model, R-Gem-2B, and not their replay",
    stops=["gibberish"],
    limits=[
        "What a search of this model would find: that is search_headroom.",
        (
            "What searches of models that are not like those of the ledger would find: most of its "
            "strings were found on one small backbone under four heads."
        ),
        (
            "The exact ids that were found: a string is replayed as text, and another tokenizer "
            "cuts it elsewhere. Of the published ones emoji at the ends are lost in print, and "
            "Table 5's were found under prompts without “in one word”."
        ),
    ],
)
def test_gcg_probes(  # noqa: PLR0913, PLR0917  (fixtures)
    sweep: Sweep,
    prompt: Prompt,
    rewards: Rewards,
    ledger: pd.DataFrame,
    references: References,
    rng: np.random.Generator,
) -> Estimate:
    """The strings of the ledger against the best of real answers that are as long."""
    strings, real = ledger.drop_duplicates(["direction", "text"]), answers(references, prompt.frame)
    found, honest = rewards(strings["text"].tolist()), rewards(real)
    return gcg_probes.replayed(
        strings.assign(score=found.scores),
        pd.DataFrame({"text": real, "score": honest.scores}),
        sweep.frame,
        noise=float(np.max([found.noise, honest.noise, sweep.noise])),
        rng=rng,
    )
