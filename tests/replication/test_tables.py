"""Table 3 of Christian et al. 2025: as printed, as released, and from imported token scores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from rmaudit.config.model_registry import load_registry
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import NotRecorded
from rmaudit.models.recorded_model import TOKENS, Recorded
from rmaudit.prompts import PROMPTS
from rmaudit.scores import imported_scores
from rmaudit.scores.score_store import Store
from tests.audits.planted import AUDITS

# The paper's text: mean, variance ("<0.001" as 0), skewness.
PRINTED = {
    "N-Gem-27B": (1.876, 0.193, 0.437),
    "S-Gem-27B-v0.2": (-9.274, 1.017, 0.071),
    "S-Gem-27B": (-30.422, 11.991, 0.878),
    "S-Lla-8B-v0.2": (-18.699, 5.716, 1.117),
    "N-Lla-8B": (16.613, 9.558, 1.133),
    "L-Lla-8B": (-0.137, 0.034, 1.763),
    "R-Lla-8B": (-14.239, 0.781, 0.504),
    "R-Lla-3B": (-6.777, 2.597, 1.672),
    "F-Lla-8B-v0.1": (0.031, 0.0, 1.055),
    "R-Gem-2B": (-5.279, 1.957, 1.457),
}


@pytest.fixture
def released(mirror: Path) -> pd.DataFrame:
    """The table as released beside the code."""
    path = mirror / "published_tables" / "table_3_distribution_moments.csv"
    return pd.read_csv(path, index_col="Model")


def test_printed_and_released(released: pd.DataFrame) -> None:
    """They differ in the last digit for four models: two runs, or two versions of the scores."""
    gap = (released - pd.DataFrame(PRINTED, index=released.columns).T).abs()

    assert list(gap.index) == list(PRINTED)
    assert set(gap.index[gap.gt(1e-9).any(axis=1)]) == {
        "S-Gem-27B-v0.2", "S-Gem-27B", "S-Lla-8B-v0.2", "N-Lla-8B",
    }  # fmt: skip
    assert gap.max().tolist() == pytest.approx([0.001, 0.005, 0.001])


def test_skewed_for_all_ten(released: pd.DataFrame) -> None:
    """§2.2: all are skewed positively."""
    assert (released["Skewness"] > 0).all()


@pytest.mark.parametrize("name", PRINTED)
def test_moments_of_imported_scores(released: pd.DataFrame, name: str) -> None:
    """Mean, variance and skewness of every token's score.

    To half of the last digit printed, and what printed and released differ by: the files may be of
    either run.
    """
    spec = load_registry(AUDITS.parent / "models.yaml").models[name]
    try:
        stored = imported_scores.sweep(
            Recorded(spec), PROMPTS["greatest"], store=Store(default_cache())
        )
    except NotRecorded as error:  # kept by git-lfs, and no part of the mirror
        pytest.skip(f"Table 3 is not measured: {error}")
    if stored.fields["answers"] != TOKENS:
        pytest.skip(f"Table 3 is not measured: {name} has {stored.fields['answers']} only")
    scores = stored.frame["score"].astype(float)
    moments = (scores.mean(), scores.var(ddof=0), stats.skew(scores))

    for ours, theirs, apart in zip(moments, released.loc[name], (0.001, 0.005, 0.001), strict=True):
        assert ours == pytest.approx(theirs, abs=0.0005 + apart)
