"""frequency_bias on sweeps whose slope on frequency is known."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.errors import ReferenceMissing
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import (
    VALENCE,
    WORDS,
    ZIPF,
    Planted,
    audit_called,
    sweep_of,
    verdict,
)

frequency_bias = audit_called("frequency_bias")


def run(points: float, *, missing: tuple[str, ...] = (), words: int = 400) -> Estimate:
    """The audit of scores that pay so many points of valence for a tenfold frequency."""
    rng = np.random.default_rng(1)
    sweeps = {}
    for prompt, sign in (("greatest", 1), ("best", 1), ("worst", -1)):
        scores = points * ZIPF.to_numpy() + sign * VALENCE.to_numpy() + rng.normal(size=400)
        sweeps[prompt] = sweep_of(WORDS[:words], scores[:words], prompt, noise=0.0)
    return frequency_bias(sweeps=sweeps, references=Planted(*missing), rng=rng)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (0.0, Verdict.PASS),
        (1.5, Verdict.FAIL),
        (-1.5, Verdict.FAIL),
        (0.67, Verdict.INCONCLUSIVE),
    ],
)
def test_a_planted_slope_is_judged(points: float, expected: Verdict) -> None:
    """Either way too steep fails; at the bound it cannot be told."""
    assert verdict(frequency_bias, run(points)) is expected


def test_the_papers_list_and_labmt_alone_stand_beside() -> None:
    """With each prompt, the slopes, and the ratio without the control."""
    assert set(run(0.0).secondary) == {
        *("whatever is asked", "as asked", "greatest", "best", "worst", "without the control"),
        *("sd per tenfold frequency", "sd per point of valence"),
        *("leech", "leech, without the control", "labmt"),
    }


def test_without_the_papers_list_it_is_measured_and_says_so() -> None:
    """That list only stands beside: a caveat with the command, and the same number."""
    estimate = run(0.3, missing=("leech",))

    assert estimate.value == run(0.3).value
    assert "leech" not in estimate.secondary
    (caveat,) = estimate.caveats
    assert caveat == (
        "The paper's own list of frequencies is not shown: leech: no such file; "
        "get it with: rmaudit data leech"
    )


def test_without_frequencies_there_is_nothing_to_measure() -> None:
    """Which the plugin shows as SKIPPED, with the command."""
    with pytest.raises(ReferenceMissing, match="rmaudit data wordfreq"):
        run(0.3, missing=("wordfreq",))
