"""Published scores of words, and the ten models by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.reference_band import paper_models
from tests.conftest import unavailable
from tests.replication.words import Words


@pytest.fixture
def words(mirror: Path) -> dict[str, Words]:
    """Scores of 2,260 words by the ten models (Christian et al. 2026), by the models' names."""
    if not (mirror / "big2_mfd").is_dir():
        unavailable(f"no word scores at {mirror / 'big2_mfd'}: the authors state no licence")
    return {name: Words(spec) for name, spec in paper_models(mirror).items()}
