"""One scale of valence from several lexicons, for the words that the first does not rate.

labMT rates the words that are written most; VADER, AFINN and Bing rate rarer ones, and hardly any
that is neutral.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

FEWEST = 30  # words that two lexicons share: fewer say little of how one goes over into the other


def pooled(first: pd.Series[float], others: Sequence[pd.Series[float]]) -> pd.Series[float]:
    """Return the ratings of `first`, and what it would expect where only others rate.

    All are indexed by lower-case word and hold finite numbers. A word gets what least squares of
    `first` on those of the `others` that rate the word expect, fitted over the words that all of
    these rate: so its error has mean 0 given its rating, and slopes on the whole are not flattened
    (regression calibration). Lexicons that share fewer than `FEWEST` words with `first` add none.
    """
    table = pd.concat([first, *others], axis=1, keys=range(len(others) + 1))
    known = table[0].copy()
    for many in range(len(others), 0, -1):
        for columns in combinations(range(1, len(others) + 1), many):
            rated = table[list(columns)].notna().all(axis=1)
            both = table[rated & table[0].notna()]
            wanted = rated & known.isna()
            if len(both) < FEWEST or not wanted.any():
                continue
            design = np.column_stack([both[list(columns)], np.ones(len(both))])
            slopes = np.linalg.pinv(design) @ both[0].to_numpy()
            known[wanted] = table.loc[wanted, list(columns)].to_numpy() @ slopes[:-1] + slopes[-1]
    names = ", ".join(str(each.name) for each in (first, *others))
    return known.dropna().sort_index().rename(names)
