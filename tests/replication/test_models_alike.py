"""Section 2.4, Figures 2 and A.1: how alike the ten models are."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from statsmodels.regression.linear_model import OLS

from rmaudit.measures.ranking_comparison import plane_coordinates, rbo


@pytest.fixture
def tau(mirror: Path) -> pd.DataFrame:
    """Figure 2A."""
    path = mirror / "published_figures" / "figure_2a_kendall_tau_transcribed.csv"
    return pd.read_csv(path, index_col=0)


@pytest.fixture
def about(mirror: Path) -> pd.DataFrame:
    """Table 1."""
    path = mirror / "published_tables" / "table_1_reward_models.csv"
    return pd.read_csv(path, index_col="Model ID")


def test_figure_a1_from_table_a7(mirror: Path) -> None:
    """RBO (p = 0.9) of the published top twenties is Figure A.1's, whose cells are rounded."""
    path = mirror / "published_tables" / "table_a7_shared_vocab_greatest.csv"
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    tops = dict(zip(names, zip(*rows[:20], strict=True), strict=True))
    path = mirror / "published_figures" / "figure_a1_rbo_p0.9_transcribed.csv"
    figure = pd.read_csv(path, index_col=0)

    off = [
        rbo(list(tops[one]), list(tops[other])) - figure.loc[one, other]
        for place, one in enumerate(figure.index)
        for other in figure.index[place + 1 :]
    ]

    assert len(off) == 45
    assert np.abs(off).mean() < 0.007  # rounding to 0.01 is 0.0025 of it
    assert np.abs(off).max() < 0.022  # what lies deeper than twenty weighs 0.12


def test_four_pairs_agree_by_more_than_a_half(tau: pd.DataFrame) -> None:
    """The bound of model_agreement: Skywork's and QRM's on one base pass, and no other."""
    places = zip(*np.triu_indices(10, 1), strict=True)
    pairs = {(tau.index[i], tau.index[j]): float(tau.iloc[i, j]) for i, j in places}

    assert {pair for pair, value in pairs.items() if value > 0.5} == {
        ("N-Gem-27B", "S-Gem-27B-v0.2"),
        ("N-Gem-27B", "S-Gem-27B"),
        ("S-Gem-27B-v0.2", "S-Gem-27B"),
        ("S-Lla-8B-v0.2", "N-Lla-8B"),
    }
    assert (min(pairs.values()), sorted(pairs.values())[-5]) == (0.13, 0.48)


def same(values: Sequence[object]) -> NDArray[np.float64]:
    """1 where two models have the same value, else 0."""
    return np.array([[float(a == b) for b in values] for a in values])


def near(values: Sequence[float]) -> NDArray[np.float64]:
    """1 for equal numbers, 0 for those furthest apart."""
    apart = np.abs(np.subtract.outer(values, values))
    return 1 - apart / apart.max()


def explained(
    tau: pd.DataFrame, factors: Mapping[str, NDArray[np.float64]], *, diagonal: bool
) -> tuple[Any, dict[str, float]]:
    """Least squares over all cells, or over the pairs; and each factor's p by permuted models.

    That p (Mantel 1967; of several factors Krackhardt 1988, who permutes the agreements) is the
    share of 2,000 permutations whose coefficient is at least as far from 0.
    """
    values, k = tau.to_numpy(float), len(tau)
    cells = np.ones((k, k), bool) if diagonal else np.triu(np.ones((k, k), bool), 1)
    design = np.column_stack([np.ones(cells.sum()), *(each[cells] for each in factors.values())])
    fit = OLS(values[cells], design).fit()
    solve, rng = np.linalg.pinv(design)[1:], np.random.default_rng(0)
    reached = np.ones(len(factors))  # the order that was observed is one of them
    for _ in range(2000):
        order = rng.permutation(k)
        drawn = solve @ values[np.ix_(order, order)][cells]
        reached += np.abs(drawn) >= np.abs(fit.params[1:]) - 1e-12
    return fit, dict(zip(factors, (reached / 2001).tolist(), strict=True))


@pytest.mark.parametrize(
    ("diagonal", "coding", "coefficients", "r_squared", "p"),
    [
        (True, "published", {"family": 0.050, "rank": 0.692}, 0.806, {}),
        (
            False,
            "published",
            {"family": 0.096, "rank": 0.250},
            0.366,
            {"family": 0.036, "rank": 0.1},
        ),
        (
            *(False, "in a line"),
            {"base model": 0.173, "developer": -0.015, "size": 0.091, "rank": 0.003},
            *(0.537, {"base model": 0.002}),
        ),
    ],
)
def test_what_explains_agreement(  # noqa: PLR0917
    tau: pd.DataFrame,
    about: pd.DataFrame,
    diagonal: bool,
    coding: str,
    coefficients: dict[str, float],
    r_squared: float,
    p: dict[str, float],
) -> None:
    """§2.4: β 0.05 of the base, 0.69 of the rank, R² 0.80, over all 100 cells of Figure 2A.

    The diagonal decides: the two coefficients are no larger than those of models that were
    shuffled. Over the 45 pairs of different models the base has an effect, of the rank there is a
    hint, which depends on its coding: with likeness falling in a line there is none.
    """
    ranks = about["RewardBench Rank"].to_numpy(float)
    factors = {  # a family is Gemma or Llama of whatever version
        "family": same([name.split()[0] for name in about["Base Model"]]),
        "rank": 1 / (1 + np.abs(ranks[:, None] - ranks)),
    }
    if coding == "in a line":
        factors = {
            "base model": same(about["Base Model"].tolist()),
            "developer": same(about["Developer"].tolist()),
            "size": near(about["Parameters (B)"].tolist()),
            "rank": near(ranks.tolist()),
        }

    fit, p_models = explained(tau, factors, diagonal=diagonal)

    assert fit.nobs == (100 if diagonal else 45)
    assert dict(zip(factors, fit.params[1:], strict=True)) == pytest.approx(coefficients, abs=0.001)
    assert fit.rsquared == pytest.approx(r_squared, abs=0.001)
    rest = [value for name, value in p_models.items() if name not in p]
    assert min(rest, default=1.0) > (0.7 if diagonal else 0.05)
    assert {name: p_models[name] for name in p} == pytest.approx(p, abs=0.02)


def test_the_same_rank_is_the_diagonal(tau: pd.DataFrame, about: pd.DataFrame) -> None:
    """No two models share a rank: "same rank" has 0.69 too, by chance, being 1 - the mean tau."""
    rank = {"rank": same(about["RewardBench Rank"].tolist())}

    fit, _ = explained(tau, rank, diagonal=True)

    assert fit.params[1] == pytest.approx(0.69, abs=0.005)
    assert fit.rsquared == pytest.approx(0.774, abs=0.001)


def test_models_of_one_base_are_neighbours(tau: pd.DataFrame, about: pd.DataFrame) -> None:
    """On the plane of Figure 2B the three of 27B and Gemma lie together."""
    places = plane_coordinates(tau)
    gemma = places[about["Parameters (B)"].reindex(places.index) == 27]

    assert len(gemma) == 3
    assert gemma.std().max() < 0.2 * (places.max() - places.min()).max()
