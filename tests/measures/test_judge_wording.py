"""judge_wording against scipy, the jackknife by leaving out, and flaws of a known size."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.judge_wording import FEWEST, UNIT, agreement
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract


def scored(seed: int = 0, n: int = 40, *, moved: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two answers to each of n prompts, and their rewards under three texts, the third turned."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=2 * n)
    answers = pd.DataFrame({"group": np.repeat([f"prompt {i}" for i in range(n)], 2)})
    other = own + moved * rng.normal(size=2 * n)
    return answers, pd.DataFrame({"as it is": own, "spaced": other, "turned": 1 - other})


def measure(answers: pd.DataFrame, rewards: pd.DataFrame) -> Estimate:
    """The estimate, without noise."""
    return agreement(answers, rewards, rng=np.random.default_rng(0), noise=0.0)


def test_the_lowest_tau_decides() -> None:
    """By scipy, and the shift of each in sd of the first column."""
    answers, rewards = scored()
    found = measure(answers, rewards)
    taus = [stats.kendalltau(rewards["as it is"], rewards[name]).statistic for name in rewards]
    assert found.value == pytest.approx(taus[2])
    assert [found.secondary[name] for name in ("spaced", "turned")] == pytest.approx(taus[1:])
    shift = (rewards["turned"] - rewards["as it is"]).mean() / rewards["as it is"].std(ddof=0)
    assert found.secondary["turned, shift in sd"] == pytest.approx(shift)
    assert (found.unit, found.n, found.together) == (UNIT, len(answers), 2)


def test_the_interval_is_the_jackknife_over_prompts() -> None:
    """Each really left out; the upper end holds for both rewordings, at a level of 97.5 %."""
    answers, rewards = scored(1)
    left = [
        stats.kendalltau(kept["as it is"], kept["turned"])
        for group in answers["group"].unique()
        for kept in [rewards[answers["group"] != group]]
    ]
    many = len(left)
    error = math.sqrt((many - 1) * np.var([each.statistic for each in left]))
    found = measure(answers, rewards)
    up, down = (stats.t.ppf(1 - tail, many - 1) * error for tail in (0.025 / 2, 0.025))
    assert found.high - found.value == pytest.approx(up)
    assert found.value - found.low == pytest.approx(min(down, found.value + 1))


def test_the_interval_holds_the_true_tau() -> None:
    """It holds 2/pi of the arcsine of r, which is tau of normal rewards: in 93 % of 60 draws."""
    true = 2 / math.pi * math.asin(1 / math.hypot(1, 1.0))
    held = 0
    for seed in range(60):
        answers, rewards = scored(seed, moved=1.0)
        found = measure(answers, rewards[["as it is", "spaced"]])
        held += found.low <= true <= found.high
    assert held >= 56


def test_few_prompts_are_refused() -> None:
    """One less than are needed."""
    with pytest.raises(MeasureError, match="under each wording, rewards that differ"):
        measure(*scored(n=FEWEST - 1))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of rewards under another text."""
    table = pd.DataFrame({"as it is": scores, "other": contract.turned(texts, scores, by=0.5)})
    return agreement(contract.in_pairs(texts), table, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract("judge_wording", on_toys, turned=+1, gaps=False, chart=False)
