"""Section 4 of Christian et al. 2025 and Figure 5, from the published scores of the items."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from rmaudit.measures.elo_agreement import ItemScores, agreement_with_people
from rmaudit.references.human_ratings import FIGURE_5B
from rmaudit.references.published_score_tables import items
from rmaudit.references.sources import locate
from rmaudit.verdicts.estimates_and_bounds import Estimate

pytestmark = pytest.mark.usefixtures("mirror")


def scores(name: str) -> pd.DataFrame:
    """Ratings and the scores of ten models under one of the three prompts."""
    return items(locate(name)).frame


@cache  # tests of one prompt share them
def estimates(name: str) -> list[Estimate]:
    """One for each of the ten."""
    frame = scores(name)
    people = frame.rename(columns={"elo_score": "elo"})
    unseen = pd.DataFrame(index=frame.index)  # the paper holds nothing fixed
    return [
        agreement_with_people(
            people.assign(shown=True),
            {"asked": ItemScores(frame[model])},
            unseen,
            rng=np.random.default_rng(0),
        )
        for model in frame.columns[4:]
    ]


def mean(found: list[Estimate], name: str) -> float:
    """The mean over the models of what stands beside."""
    return float(np.mean([estimate.secondary[name] for estimate in found]))


@pytest.mark.slow
def test_agreement_with_people() -> None:
    """Mean 0.29, sd 0.06, from 0.22 to 0.39: the numbers of §4.1 are those of "greatest"."""
    found = estimates("elo")
    values = [estimate.secondary["tau-b, asked"] for estimate in found]

    assert round(float(np.mean(values)), 2) == 0.29
    assert round(float(np.std(values, ddof=1)), 2) == 0.06
    assert (round(min(values), 2), round(max(values), 2)) == (0.22, 0.39)


def taus(name: str) -> NDArray[np.float64]:
    """Kendall's tau-b of people and ten models with each other, shape (11, 11)."""
    frame = scores(name)
    columns = [frame["elo_score"], *(frame[model] for model in frame.columns[4:])]
    tau = np.eye(len(columns))
    for i, j in combinations(range(len(columns)), 2):
        tau[i, j] = tau[j, i] = stats.kendalltau(columns[i], columns[j]).statistic
    return tau


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "figure", "people", "models"),
    [
        ("elo", "GW", [0.294, 0.059, 0.219, 0.390], 0.504),
        ("elo-concept", "GE", [0.263, 0.048, 0.201, 0.384], 0.404),
        ("elo-preferred", "HP", [0.197, 0.054, 0.095, 0.304], 0.331),
    ],
)
def test_figure_a5(
    mirror: Path, name: str, figure: str, people: list[float], models: float
) -> None:
    """All 121 cells of each of its three parts, to the two decimals that are printed.

    Tau of people and a model (mean, sd, range), and mean tau of two models. The prompt that §4
    names is "elo-concept"; its 0.29 for people is that of "elo". Its 0.55 for "pairs of different
    models" is that of "elo" too, each model's 1 with itself counted as a pair.
    """
    path = mirror / "published_figures" / f"figure_a5_{figure}_kendall_tau_transcribed.csv"
    printed = pd.read_csv(path, index_col=0).to_numpy()
    tau = taus(name)
    pairs = tau[1:, 1:][~np.eye(10, dtype=bool)]

    assert tau.shape == printed.shape == (11, 11)
    assert np.abs(tau - printed).max() < 0.005 + 1e-6
    with_people = tau[0, 1:]
    found = [with_people.mean(), with_people.std(ddof=1), with_people.min(), with_people.max()]
    assert found == pytest.approx(people, abs=0.0006)
    assert pairs.mean() == pytest.approx(models, abs=0.0006)
    assert (round(float(tau[1:, 1:].mean()), 2) == 0.55) == (name == "elo")


@pytest.mark.slow
def test_best_liked_items() -> None:
    """§4.1 on what is ranked first is told of its own prompt, and so are not the numbers.

    "Unconditional love" is first for 5 models as published, 6 here; "Sports bra" for R-Lla-8B; and
    "Gödel, Escher, Bach" for F-Lla-8B-v0.1, here with another item. None is first under "elo".
    """
    first = {}
    for name in ("elo", "elo-concept"):
        frame = scores(name)
        tops = [frame["name"][frame[m] == frame[m].max()].tolist() for m in frame.columns[4:]]
        first[name] = Counter(item for top in tops for item in top)
    named = ("Unconditional love", "Sports bra", "Gödel, Escher, Bach")

    assert [first["elo-concept"][item] for item in named] == [6, 1, 1]
    assert [first["elo"][item] for item in named] == [1, 0, 0]


def test_the_items() -> None:
    """§4: 7,530 items, 479.4 pairings an item (sd 464.4), 2.1 words (sd 1.3), from 6 to 3,195.

    1,805,124 comparisons are stated; half of the pairings is 1,804,776.5.
    """
    frame = scores("elo")
    pairings, words = frame["elo_matches"], frame["name"].str.split().str.len()

    assert len(frame) == 7530
    assert (round(pairings.mean(), 1), round(pairings.std(), 1)) == (479.4, 464.4)
    assert (round(words.mean(), 1), round(words.std(), 1)) == (2.1, 1.3)
    assert (pairings.min(), pairings.max(), pairings.sum() / 2) == (6, 3195, 1_804_776.5)


@pytest.mark.slow
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
    """The twenty items, in their order, by the median rank of ten models and people (§4's prompt).

    By the median of the models alone it is 18 of them.
    """
    frame = scores("elo-concept")
    models = frame[frame.columns[4:]].rank(ascending=False)
    people = pd.Series(stats.rankdata(-frame["elo_score"]))
    gap, alone = (
        (ranks.median(axis=1) - people).set_axis(frame["name"]).sort_values()
        for ranks in (models.assign(people=people), models)
    )

    assert tuple(gap.index[:-11:-1]) == FIGURE_5B[:10]
    assert tuple(gap.index[9::-1]) == FIGURE_5B[10:]
    assert len(set(FIGURE_5B) & {*alone.index[:10], *alone.index[-10:]}) == 18
    assert alone[list(FIGURE_5B[:10])].min() > 5000
    assert alone[list(FIGURE_5B[10:])].max() < -5000
