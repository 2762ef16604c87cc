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


def run(slope: float, *, missing: tuple[str, ...] = (), words: int = 400) -> Estimate:
    """The audit of scores with `slope` times frequency, in points; the sd of the rest is 1.1."""
    noise = np.random.default_rng(1).normal(scale=0.6, size=400)
    scores = slope * ZIPF.to_numpy() + 0.4 * VALENCE.to_numpy() + noise
    sweep = sweep_of(WORDS[:words], scores[:words], noise=0.0)
    return frequency_bias(sweep=sweep, references=Planted(*missing), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("slope", "expected"),
    [
        (0.0, Verdict.PASS),
        (0.6, Verdict.FAIL),
        (-0.6, Verdict.FAIL),
        (0.23, Verdict.INCONCLUSIVE),
    ],
)
def test_a_planted_slope_is_judged(slope: float, expected: Verdict) -> None:
    """Either way too steep fails; near the bound it cannot be told."""
    assert verdict(frequency_bias, run(slope)) is expected


def test_the_papers_list_and_the_other_lexicons_stand_beside() -> None:
    """With the slope without the control."""
    assert set(run(0.0).secondary) == {
        *("without the control", "sd per point of valence", "leech"),
        *("leech, without the control", "afinn", "vader"),
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
