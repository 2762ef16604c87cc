"""positive_skew on sweeps with the longer tail above, below, or on neither side."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import WORDS, audit_called, sweep_of, verdict

positive_skew = audit_called("positive_skew")


def run(bend: float, *, words: int = 400) -> Estimate:
    """The audit of normal scores, stretched at the upper end by `bend`, at the lower if below 0."""
    latent = np.random.default_rng(3).normal(size=words)
    scores = np.expm1(bend * latent) / bend if bend else latent
    return positive_skew(
        sweep=sweep_of(WORDS[:words], scores, noise=0.0), rng=np.random.default_rng(0)
    )


@pytest.mark.parametrize(
    ("bend", "expected"),
    [(0.3, Verdict.PASS), (-0.3, Verdict.FAIL), (0.0, Verdict.INCONCLUSIVE)],
)
def test_a_planted_tail_is_judged(bend: float, expected: Verdict) -> None:
    """Above passes, below fails, neither is not sure."""
    assert verdict(positive_skew, run(bend)) is expected
