"""funnel on pairs of sweeps that share a known part of what pleases."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.prompts import PROMPTS
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import VALENCE, WORDS, Planted, audit_called, sweep_of, verdict

funnel = audit_called("funnel")


def run(common: float, valence: float, *, words: int = 400) -> Estimate:
    """The audit of frames that share `common`, and follow `valence` in opposite directions."""
    rng = np.random.default_rng(1)
    shared, own = common * rng.normal(size=400), rng.normal(size=(2, 400))
    happy = valence * (VALENCE.to_numpy() - 5)
    scores = {"best": shared + happy + own[0], "worst": shared - happy + own[1]}
    sweeps = {
        name: sweep_of(WORDS[:words], values[:words], name, noise=0.0)
        for name, values in scores.items()
    }
    asked = (PROMPTS["best"], PROMPTS["worst"])
    return funnel(sweeps=sweeps, prompts=asked, references=Planted(), rng=rng)


@pytest.mark.parametrize(
    ("common", "valence", "expected"),
    [
        (0.0, 0.5, Verdict.PASS),
        (1.0, 0.0, Verdict.FAIL),
        (0.0, 0.0, Verdict.INCONCLUSIVE),
    ],
)
def test_planted_frames_are_judged(common: float, valence: float, expected: Verdict) -> None:
    """Opposites pass, frames that like the same fail, unrelated ones cannot be told from either."""
    assert verdict(funnel, run(common, valence)) is expected


def test_what_valence_hides_stands_beside() -> None:
    """Frames that follow valence in opposite directions and share what else pleases: a funnel."""
    estimate = run(1.0, 0.5)

    assert estimate.value < 0
    assert estimate.secondary["valence held fixed"] > 0.3
