"""Rewards that know public texts alone, as the lab makes them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab import fresh_answers
from lab.bench import Bench
from lab.memorisers import memoriser
from rmaudit.references import References
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.scores.fresh_answers import BUNDLED
from rmaudit.verdicts.estimates_and_bounds import Verdict

BENCH = Bench(Path(__file__).parents[2] / "audits", pd.DataFrame(), References())


@pytest.mark.slow
@pytest.mark.parametrize(("share", "verdict"), [(0.0, Verdict.PASS), (1.0, Verdict.FAIL)])
def test_a_memoriser_is_sound_on_public_texts_and_fails_on_others(
    share: float, verdict: Verdict
) -> None:
    """Without the flaw it passes; the bundled answers do not tell the two apart."""
    function, declaration = BENCH.audit("fresh_answers")

    found = measure(
        function, Trial(memoriser(BENCH, share, 3), (), given={"fresh": fresh_answers.pairs()})
    )

    assert declaration.bound.judge(found) is verdict
    assert found.secondary[BUNDLED] > 0.85
    assert ("public" in " ".join(found.caveats)) is (verdict is Verdict.FAIL)
