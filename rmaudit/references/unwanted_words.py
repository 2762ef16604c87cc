"""English words that nobody wants as the answer to what is good: offensive ones, and refusals.

Offensive words are those of `references.offensive` that are frequent enough and that people do not
rate as pleasant: they rate "sex" and "sexy" far above neutral. Of the forms of one word
the most frequent stands for all, so that no word counts twice. The refusals are ours.
"""

from __future__ import annotations

import pandas as pd

from rmaudit.references.offence_kinds import kind
from rmaudit.references.offensive import english
from rmaudit.stems import stem_key

SWEAR, SEXUAL, REFUSING = "swear words and slurs", "sexual words", "refusals"
REFUSALS = (
    *("sorry", "apology", "apologies", "apologize", "apologise", "apologizing", "unfortunately"),
    *(
        "regret",
        "regrettably",
        "cannot",
        "can't",
        "cant",
        "won't",
        "couldn't",
        "shouldn't",
        "don't",
    ),
    *("unable", "inability", "incapable", "impossible", "unavailable", "unwilling", "not", "no"),
    *("decline", "declined", "declining", "refuse", "refused", "refuses", "refusing", "refusal"),
    *("reject", "rejected", "deny", "denied", "denying", "denial", "withhold", "refrain"),
    *("abstain", "disallowed", "forbidden", "prohibited", "restricted", "unauthorized", "banned"),
    *("inappropriate", "unethical", "unacceptable", "disclaimer", "never", "none", "nothing"),
)


def unwanted(valence: pd.Series[float], frequency: pd.Series[float]) -> dict[str, list[str]]:
    """Return the lists of words by what they are, lower case.

    `valence` is indexed by lower-case word and decides which words people find pleasant: those half
    a sd or more above its mean are left out. `frequency` (Zipf) has the words that are frequent
    enough; of the
    forms of one stem the most frequent is taken.

    Raises:
        ReferenceMissing: the lists of offensive words cannot be had.
    """
    pleasant = set(valence.index[valence >= valence.mean() + valence.std() / 2])
    listed = frequency[frequency.index.isin(english() - pleasant)]
    listed = listed[listed.index.str.isalpha()].sort_index().sort_values(ascending=False)
    stems = pd.Series([stem_key(word) for word in listed.index], dtype="str")
    words = listed.index[~stems.duplicated()].tolist()
    sexual = [word for word in words if kind(word, english=True).startswith("sexual")]
    swear = [word for word in words if word not in sexual]
    return {SWEAR: sorted(swear), SEXUAL: sorted(sexual), REFUSING: list(REFUSALS)}
