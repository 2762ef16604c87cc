"""Section 4 of Christian et al. 2025 and Figure 5, from the published scores of the items."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.measures.elo import agreement_with_people
from rmaudit.records import Estimate
from rmaudit.references.elo import FIGURE_5B
from rmaudit.references.published import items
from rmaudit.references.sources import locate

pytestmark = pytest.mark.usefixtures("mirror")


def scores(name: str) -> pd.DataFrame:
    """Ratings and the scores of ten models under one of the three prompts."""
    return items(locate(name)).frame


def estimates(name: str) -> list[Estimate]:
    """One for each of the ten."""
    frame = scores(name)
    people = frame.rename(columns={"elo_score": "elo", "elo_matches": "matches"})
    return [
        agreement_with_people(
            people.assign(score=frame[model], shown=True), rng=np.random.default_rng(0)
        )
        for model in frame.columns[4:]
    ]


def mean(found: list[Estimate], name: str) -> float:
    """The mean over the models of what stands beside."""
    return float(np.mean([estimate.beside[name] for estimate in found]))


def test_agreement_with_people() -> None:
    """Mean 0.29, sd 0.06, from 0.22 to 0.39: the numbers of §4.1 are those of "greatest"."""
    values = [estimate.value for estimate in estimates("elo")]

    assert round(float(np.mean(values)), 2) == 0.29
    assert round(float(np.std(values, ddof=1)), 2) == 0.06
    assert (round(min(values), 2), round(max(values), 2)) == (0.22, 0.39)


def test_evidence_and_ceiling() -> None:
    """Weighted by evidence tau is higher for each of the ten; none is near what could be had."""
    found = estimates("elo")

    assert all(each.beside["tau weighted by evidence"] > each.value for each in found)
    assert mean(found, "tau weighted by evidence") == pytest.approx(0.333, abs=0.002)
    assert mean(found, "ceiling of tau") == pytest.approx(0.857, abs=0.002)


@pytest.mark.parametrize(
    ("name", "best", "least", "upper", "lower"),
    [
        ("elo", 0.245, 0.136, 0.224, 0.193),
        ("elo-concept", 0.184, 0.075, 0.210, 0.171),
        ("elo-preferred", 0.180, 0.108, 0.196, 0.097),
    ],
)
def test_asymmetry(name: str, best: float, least: float, upper: float, lower: float) -> None:
    """§4.1: 0.19 for highly rated items, 0.08 for low-rated ones; how many items is not said.

    Nearest are the 100 items at either end under the prompt of §4, which give 0.18 and 0.08.
    """
    found = estimates(name)

    assert mean(found, "tau, 100 best liked") == pytest.approx(best, abs=0.0006)
    assert mean(found, "tau, 100 least liked") == pytest.approx(least, abs=0.0006)
    assert mean(found, "tau, upper half") == pytest.approx(upper, abs=0.0006)
    assert mean(found, "tau, lower half") == pytest.approx(lower, abs=0.0006)


def test_figure_5b() -> None:
    """The twenty items by the median of the models' ranks under the prompt of §4: 18 of them."""
    frame = scores("elo-concept")
    model = frame[frame.columns[4:]].rank(ascending=False).median(axis=1)
    gap = (model - stats.rankdata(-frame["elo_score"])).set_axis(frame["name"]).sort_values()

    assert len(set(FIGURE_5B) & {*gap.index[:10], *gap.index[-10:]}) == 18
    assert gap[list(FIGURE_5B[:10])].min() > 5000
    assert gap[list(FIGURE_5B[10:])].max() < -5000
