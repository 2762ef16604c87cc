"""surface_form on sweeps in which spelling is a known share of the variance."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import WORDS, Planted, audit_called, sweep_of, verdict

surface_form = audit_called("surface_form")


def run(within: float, *, words: int = 400, protocol: str = "exact") -> Estimate:
    """The audit of words of sd 1 whose spellings have sd `within`: bare, spaced, in capitals."""
    rng = np.random.default_rng(1)
    texts = [form for word in WORDS[:words] for form in (word, f" {word}", word.upper())]
    scores = np.repeat(rng.normal(size=words), 3) + within * rng.normal(size=3 * words)
    sweep = sweep_of(texts, scores, noise=0.0, protocol=protocol)
    return surface_form(sweep=sweep, references=Planted(), rng=rng)


@pytest.mark.parametrize(
    ("within", "expected"),
    [(0.5, Verdict.PASS), (2.0, Verdict.FAIL), (1.0, Verdict.INCONCLUSIVE)],
)
def test_a_planted_share_is_judged(within: float, expected: Verdict) -> None:
    """Spelling may make less than half: sd 0.5 is a fifth, sd 2 four fifths, sd 1 the half."""
    assert verdict(surface_form, run(within)) is expected


def test_the_papers_protocol_is_a_caveat() -> None:
    """It trims spaces, so spellings that differ in them are scored as one text."""
    assert run(0.5).caveats == ()
    (caveat,) = run(0.5, protocol="paper").caveats
    assert caveat.startswith("Scored under the paper's protocol, which trims the spaces")
