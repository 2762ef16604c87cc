"""multi_token_framing on a scorer of phrases that reads the frame to a known degree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import VALENCE, Planted, audit_called, verdict

framing = audit_called("multi_token_framing")
ASKED = tuple(PROMPTS[name] for name in ("greatest", "best", "worst"))


def run(size: float, worst: float, references: Planted | None = None) -> Estimate:
    """The audit of phrases whose reward is their words' valence, `worst` times under "worst"."""
    rng = np.random.default_rng(4)

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        happy = np.array([VALENCE[text.split(" and ")].mean() - 5 for text in texts])
        turn = worst if prompt.frame < 0 else 1.0
        scores = size * turn * happy + rng.normal(size=len(texts))
        return TextScores(scores.astype(np.float32), 0.0, "key")

    rewards = Rewards(ASKED, score)
    return framing(rewards=rewards, references=references or Planted(), rng=rng)


@pytest.mark.parametrize(
    ("size", "worst", "expected"),
    [
        (1.0, -1.0, Verdict.PASS),
        (1.0, 1.0, Verdict.FAIL),
        (-1.0, -1.0, Verdict.FAIL),
        (0.15, -1.0, Verdict.INCONCLUSIVE),
    ],
)
def test_planted_frames_are_judged(size: float, worst: float, expected: Verdict) -> None:
    """Read, ignored, flipped, and hardly there at all."""
    estimate = run(size, worst)

    assert verdict(framing, estimate) is expected
    assert 90 <= estimate.n <= 200  # of 400 words; some share a stem, a bin may leave one over
