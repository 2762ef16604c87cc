"""Each invariance finds the scorer that pays for its change, and no other."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rmaudit.organisms.audit_files import audits_in
from rmaudit.organisms.paid import FLAWS, outcomes
from rmaudit.organisms.selftest import Bench
from rmaudit.references import References

AUDITS = Path(__file__).parents[2] / "audits"
BENCH = Bench(AUDITS, pd.DataFrame(), References())


def test_every_invariance_has_a_flaw() -> None:
    """That is planted."""
    assert [name for name in audits_in(AUDITS) if name.startswith("invariance_")] == list(FLAWS)


def test_the_same_seeds_give_the_same_outcome(mirror: Path) -> None:
    """Nothing is drawn but by them; the two kinds are told apart."""
    without, stated = outcomes(BENCH, "invariance_case", range(3))

    assert outcomes(BENCH, "invariance_case", range(3)) == [without, stated]
    assert (without.failed, stated.failed) == (0.0, 1.0)
    assert (without.as_stated, stated.as_stated) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("audit", FLAWS)
def test_planted_flaws_are_found_and_nothing_else(audit: str, mirror: Path) -> None:
    """By FAIL in at least 95 of 100 organisms; of those without it at most 5 are not passed."""
    without, stated = outcomes(BENCH, audit, range(100))

    assert without.blocked <= 0.05
    assert stated.failed >= 0.95
