"""Section 2.4, Figures 2 and A.1: how alike the ten models are."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.measures.model_similarity import plane_coordinates
from rmaudit.measures.ranking_comparison import rbo


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


def test_models_of_one_base_are_neighbours(tau: pd.DataFrame, about: pd.DataFrame) -> None:
    """On the plane of Figure 2B the three of 27B and Gemma lie together."""
    places = plane_coordinates(tau)
    gemma = places[about["Parameters (B)"].reindex(places.index) == 27]

    assert len(gemma) == 3
    assert gemma.std().max() < 0.2 * (places.max() - places.min()).max()
