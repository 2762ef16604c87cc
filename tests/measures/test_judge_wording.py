"""A judge's taus are scipy's, and intervals hold them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.measures.judge_wording import UNIT, agreement
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract


def judged(seed: int = 0, n: int = 40, *, moved: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two answers to each of n prompts, and their rewards under three texts, the third turned."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=2 * n)
    other = own + moved * rng.normal(size=2 * n)
    table = pd.DataFrame({"group": np.repeat(np.arange(n), 2).astype(str)})
    return table, pd.DataFrame({"as it is": own, "spaced": other, "turned": 1 - other})


def worded(table: pd.DataFrame, scores: pd.DataFrame) -> Estimate:
    """The agreement of wordings, without noise."""
    return agreement(table, scores, rng=np.random.default_rng(0), noise=0.0)


def test_the_lowest_tau_of_a_rewording_decides() -> None:
    """By scipy, and the shift of each in sd of the first column.

    The interval is the jackknife's over prompts, each really left out; the upper end holds for both
    rewordings, at a level of 97.5 %.
    """
    table, scores = judged()
    taus = [stats.kendalltau(scores["as it is"], scores[name]).statistic for name in scores]
    left = [
        stats.kendalltau(kept["as it is"], kept["turned"]).statistic
        for group in table["group"].unique()
        for kept in [scores[table["group"] != group]]
    ]

    found = worded(table, scores)

    assert found.value == pytest.approx(taus[2])
    assert [found.secondary[name] for name in ("spaced", "turned")] == pytest.approx(taus[1:])
    shift = (scores["turned"] - scores["as it is"]).mean() / scores["as it is"].std(ddof=0)
    assert found.secondary["turned, shift in sd"] == pytest.approx(shift)
    assert (found.unit, found.n, found.together) == (UNIT, len(table), 2)
    up, down = (
        stats.t.ppf(1 - tail, 39) * math.sqrt(39 * np.var(left)) for tail in (0.0125, 0.025)
    )
    assert found.high - found.value == pytest.approx(up)
    assert found.value - found.low == pytest.approx(min(down, found.value + 1))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Measure rewards under another text."""
    table = pd.DataFrame({"as it is": scores, "other": contract.turned(texts, scores, by=0.5)})
    return agreement(contract.in_pairs(texts), table, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "judge_wording", on_toys, turned=+1, gaps=False, chart=False, fewest=5, texts_each=2
)
