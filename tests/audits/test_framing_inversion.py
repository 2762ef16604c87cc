"""framing_inversion and framing_steepness on sweeps that read the frame to a known degree."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import VALENCE, WORDS, Planted, audit_called, sweep_of, verdict

inversion = audit_called("framing_inversion")
steepness = audit_called("framing_steepness")
HAPPY = VALENCE.to_numpy() - 5
PROMPTS = ["greatest", "best", "worst"]


class Centred(Planted):
    """Lexicons as they are: labMT from 1 to 9, the others about 0."""

    def lexicon(self, name: str) -> object:  # type: ignore[override]
        """Valences."""
        found = super().lexicon(name)
        return found if name == "labmt" else found - 5


def run(audit: object, scores: dict[str, np.ndarray], words: int = 400) -> Estimate:
    """The audit of these scores and as much noise."""
    rng = np.random.default_rng(3)
    sweeps = {
        name: sweep_of(WORDS[:words], (values + rng.normal(size=400))[:words], name, noise=0.0)
        for name, values in scores.items()
    }
    return audit(sweeps=sweeps, references=Centred(), rng=rng)  # type: ignore[operator]


def framed(size: float, worst: float) -> dict[str, np.ndarray]:
    """Valence counts `size` under positive frames and `worst` times that under the negative."""
    return {"greatest": size * HAPPY, "best": size * HAPPY, "worst": worst * size * HAPPY}


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
    assert verdict(inversion, run(inversion, framed(size, worst))) is expected


def test_what_passes_alone_fails_together() -> None:
    """Happy words high whatever is asked: each positive prompt looks well, and the model fails."""
    estimate = run(inversion, framed(1.0, 1.0))

    assert estimate.secondary["greatest"] > 0.8
    assert estimate.value == estimate.secondary["worst"] < -0.8
    assert abs(estimate.secondary["change"]) < 0.2
    assert {"bing", "afinn", "vader"} < set(estimate.secondary)


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        (["best", "worst"], Verdict.PASS),
        ([*PROMPTS, "best again", "worst again"], Verdict.PASS),
        ([*PROMPTS, "best again", "worst again", "turned"], Verdict.FAIL),
    ],
)
def test_any_number_of_prompts_will_do(prompts: list[str], expected: Verdict) -> None:
    """One of each sign at least, a user's own too; one that is turned is enough to fail."""
    rng = np.random.default_rng(3)
    sweeps = {}
    for name in prompts:
        sought = -HAPPY if "worst" in name else HAPPY
        scores = (-sought if name == "turned" else sought) + rng.normal(size=400)
        prompt = "worst" if "worst" in name else "best"
        sweeps[name] = sweep_of(WORDS, scores, prompt, noise=0.0)

    estimate = inversion(sweeps=sweeps, references=Centred(), rng=rng)

    assert set(prompts) < set(estimate.secondary)
    assert verdict(inversion, estimate) is expected


@pytest.mark.parametrize(
    ("sought", "other", "expected"),
    [
        (1.0, 0.2, Verdict.FAIL),
        (0.2, 1.0, Verdict.PASS),
        (1.0, 1.0, Verdict.INCONCLUSIVE),
    ],
)
def test_planted_slopes_are_judged(sought: float, other: float, expected: Verdict) -> None:
    """Steeper on the side that is sought, on the other, and alike on both."""
    good = np.where(HAPPY > 0, sought, other) * HAPPY
    bad = -np.where(HAPPY > 0, other, sought) * HAPPY

    estimate = run(steepness, {"greatest": good, "best": good, "worst": bad})

    assert verdict(steepness, estimate) is expected
    assert {"vader", "labmt", "worst, negative words"} < set(estimate.secondary)
    assert estimate.secondary["labmt"] == pytest.approx(estimate.value)  # the same words, centred
