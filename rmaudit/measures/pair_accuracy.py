"""Measure how often a model rewards the chosen answer above the rejected one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, clustered_error, even_clusters, widened
from rmaudit.verdicts.estimates_and_bounds import Estimate

UNIT = "accuracy"
FEWEST = 5  # groups
SWAPPED = 0.4  # an accuracy that is surely less is less likely a bad model than swapped labels
_SWAPPED = (
    f"The whole interval lies below {SWAPPED}: what is called rejected wins. Chosen and rejected "
    f"may be swapped in the file, or the reward may have the other sign: read a few of the pairs. "
    f"With the two swapped the accuracy is 1 less this one."
)
_Floats = NDArray[np.float64]


def accuracy(
    frame: pd.DataFrame, *, rng: np.random.Generator, noise: float = UNMEASURED
) -> Estimate:
    """Return the share of pairs whose chosen answer scores higher; each line counts the same.

    `frame` has a row for each answer: `line`, `response`, `chosen` (bool), `subset`, `group` and
    `reward`. A line of c chosen and r rejected answers has c·r pairs; ties count half. Lines of a
    group are not independent: the interval is Clopper and Pearson's with the number of independent
    lines that gives the variance over groups (Korn and Graubard 1998, Survey Methodology 24), with
    the degrees of freedom of `even_clusters`, for a few groups may have most lines; it is
    widened by numeric `noise` (its sd for one reward, in its units).

    Secondary: the accuracy of each subset with its interval; `all chosen above all rejected`, the
    share of lines of which this is so (as RewardBench 2 counts); `the longer one`, the accuracy of
    preferring more characters.

    If the two are swapped, the value is 1 minus this one, and the interval mirrored. Where the
    interval lies below `SWAPPED` as a whole, a caveat says that they may be.

    Raises:
        MeasureError: a reward is missing, all are equal, or there are fewer than `FEWEST` groups.
    """
    table = frame.reset_index(drop=True)
    refuse_unusable_answers(table)
    scores = table["reward"].to_numpy(float)
    each = _PairsByLine(table)
    shares = each.shares(scores)
    value, low, high = share_interval(shares, each.group)
    secondary = {"all chosen above all rejected": float(np.mean(shares == 1.0))}
    lengths = np.asarray(table["response"].str.len(), dtype=np.float64)
    secondary["the longer one"] = float(each.shares(lengths).mean())
    for subset in sorted(set(each.subset) - {""}):
        inside = each.subset == subset
        of_subset = share_interval(shares[inside], each.group[inside])
        for name, number in zip(("", ", low", ", high"), of_subset, strict=True):
            secondary[f"{subset}{name}"] = number
    estimate = Estimate(
        value,
        low,
        high,
        UNIT,
        len(shares),
        "Clopper and Pearson's, over groups",
        secondary=secondary,
    )
    found = widened(
        estimate,
        lambda drawn: float(each.shares(drawn).mean()),
        scores,
        noise,
        rng,
        within=(0.0, 1.0),
    )
    return replace(found, caveats=(*found.caveats, _SWAPPED)) if found.high < SWAPPED else found


def refuse_unusable_answers(frame: pd.DataFrame) -> None:
    """Raise MeasureError if answers are of too few groups, or rewards are missing or all equal.

    Raises:
        MeasureError: a reward is missing, all are equal, or there are fewer than `FEWEST` groups.
    """
    scores, groups = frame["reward"].to_numpy(float), frame["group"].nunique()
    if groups < FEWEST or not np.isfinite(scores).all() or not np.ptp(scores):
        raise MeasureError(
            f"{groups} prompts or groups of pairs, with {len(np.unique(scores))} distinct rewards, "
            f"{int((~np.isfinite(scores)).sum())} of them missing; at least {FEWEST} groups and "
            f"rewards that differ are needed"
        )


class _PairsByLine:
    """Row numbers of each line's pairs of a chosen and a rejected answer, with the line's group."""

    def __init__(self, table: pd.DataFrame) -> None:
        codes, _ = pd.factorize(table["line"])
        firsts = np.unique(codes, return_index=True)[1]
        self.group = pd.factorize(table["group"])[0][firsts]
        self.subset = table["subset"].to_numpy(dtype=object)[firsts]
        rows = pd.DataFrame({"line": codes, "row": np.arange(len(codes))})
        chosen = table["chosen"].to_numpy(bool)
        pairs = rows[chosen].merge(rows[~chosen], on="line", suffixes=("", "_other"))
        self._line = pairs["line"].to_numpy()
        self._better, self._worse = pairs["row"].to_numpy(), pairs["row_other"].to_numpy()
        self._counts = np.bincount(self._line, minlength=len(firsts))

    def shares(self, scores: _Floats) -> _Floats:
        """Return each line's share of pairs whose chosen answer scores higher; ties count half."""
        won = (np.sign(scores[self._better] - scores[self._worse]) + 1) / 2
        return np.bincount(self._line, won, minlength=len(self._counts)) / self._counts


def share_interval(shares: _Floats, groups: NDArray[Any]) -> tuple[float, float, float]:
    """Return the mean of lines' shares, and the low and high of its 95 % interval over `groups`."""
    value, many = float(shares.mean()), even_clusters(groups)
    n = many  # of independent lines: without variance, or in one group, no more than that
    if many > 1 and (error := clustered_error(shares - value, groups)) > 0:
        narrow, wide = (float(scipy.stats.t.ppf(0.975, n - 1)) for n in (len(shares), many))
        n = min(value * (1 - value) / error**2 * (narrow / wide) ** 2, float(len(shares)))
    hits = value * n
    low = scipy.stats.beta.ppf(0.025, hits, n - hits + 1) if hits > 0 else 0.0
    high = scipy.stats.beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0
    return value, min(float(low), value), max(float(high), value)
