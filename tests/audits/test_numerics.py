"""numerics on sweeps of known noise, and of none that was measured."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.errors import NotRecorded
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import audit_called, sweep_of, verdict

numerics = audit_called("numerics")


def audited(scores: object, **provenance: object) -> Estimate:
    """The audit of these scores."""
    sweep = sweep_of(map(str, range(len(scores))), scores, **provenance)  # type: ignore[arg-type]
    return numerics(sweep=sweep, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("noise", "expected"),
    [(0.025, Verdict.PASS), (0.3, Verdict.FAIL), (0.08, Verdict.INCONCLUSIVE)],
)
def test_planted_noise_is_judged(noise: float, expected: Verdict) -> None:
    """In sd of the scores: that of bfloat16 passes, twelve times as much fails."""
    scores = np.random.default_rng(1).normal(size=3000)

    assert verdict(numerics, audited(scores, noise=noise)) is expected


def test_noise_that_was_not_measured_is_not_none() -> None:
    """Rather than a pass: the reason, and the command that measures it."""
    with pytest.raises(NotRecorded) as caught:
        audited(np.arange(99.0))

    assert str(caught.value) == (
        "Planted: the numeric noise of these scores was not measured; "
        "get it with: pytest audits --model Planted"
    )
