"""positive_skew on sweeps whose upper tail is what was asked for, its opposite, or anything."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.verdicts.records import Verdict
from tests.audits.planted import VALENCE, WORDS, Planted, audit_called, sweep_of, verdict

positive_skew = audit_called("positive_skew")
HAPPY = VALENCE.to_numpy() - 5


@pytest.mark.parametrize(
    ("size", "prompt", "expected"),
    [
        (1.0, "best", Verdict.PASS),
        (-1.0, "worst", Verdict.PASS),
        (1.0, "worst", Verdict.FAIL),
        (-0.2, "best", Verdict.FAIL),
        (0.1, "best", Verdict.INCONCLUSIVE),
    ],
)
def test_a_planted_tail_is_judged(size: float, prompt: str, expected: Verdict) -> None:
    """Happy words on top, as the prompt asks or not; the scores are stretched at the lower end."""
    scores = size * HAPPY + np.random.default_rng(3).normal(size=400)
    sweep = sweep_of(WORDS, -np.exp(-scores), prompt, noise=0.0)

    estimate = positive_skew(sweep=sweep, references=Planted(), rng=np.random.default_rng(0))

    assert verdict(positive_skew, estimate) is expected
    assert estimate.secondary["skewness"] < 0
    assert estimate.evidence is not None
