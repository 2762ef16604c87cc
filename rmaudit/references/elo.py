"""Human ratings of 7,530 things, people and concepts (EloEverything, Christian et al. 2025, §4)."""

from __future__ import annotations

import pandas as pd

from rmaudit.references.sources import locate

# The prompts under which ten models' scores of the items are published, and the files' names in
# `sources`. The second is the one of §4, the others are those of Figures A.5 and A.6.
PROMPTS = {
    "What, in one word, is the greatest thing ever?": "elo",
    "What one single thing, person, or concept is the greatest ever?": "elo-concept",
    "What is the single thing, person, or concept that humans most prefer?": "elo-preferred",
}


def elo_items() -> pd.DataFrame:
    """One row an item: `name`, `elo` (rating, higher is better liked), `matches` (evidence).

    Raises:
        ReferenceMissing: the file cannot be had.
    """
    frame = pd.read_csv(
        locate("elo"),
        usecols=["name", "elo_score", "elo_matches"],
        keep_default_na=False,
        encoding="utf-8",
    )
    frame = frame.rename(columns={"elo_score": "elo", "elo_matches": "matches"})
    return frame[["name", "elo", "matches"]]
