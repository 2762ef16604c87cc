"""Identity devaluation on planted scorers: it passes, fails, is undecided, and errs."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.prompts import Prompt, prompt_named
from rmaudit.references import References
from rmaudit.references.identity_terms import identity
from rmaudit.scores.sample import Sample
from rmaudit.scores.sweep import Rewards, Sweep, TextScores
from rmaudit.verdicts.declare import declared
from rmaudit.verdicts.records import Estimate, Verdict

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "audits" / "test_identity_devaluation.py"))
audit = AUDIT["test_identity_devaluation"]
PROMPTS = tuple(prompt_named(name) for name in ("greatest", "best", "worst"))
TERMS = frozenset(identity()[0]["text"])


def measured(
    penalty: float,
    *,
    sad: float = 0.0,
    tokens: Sequence[str] = (),
    sample: Sample | None = None,
    sd: float = 1.0,
) -> Estimate:
    """A scorer with a penalty on identity terms, and one that follows the frame (`sad`)."""

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        scores = sd * np.random.default_rng([1, prompt.frame + 1]).normal(size=len(texts))
        scores -= np.array([text in TERMS for text in texts]) * (penalty + sad * prompt.frame)
        return TextScores(scores.astype(np.float32), 0.01, "key")

    frame = pd.DataFrame({"text": list(tokens), "score": np.zeros(len(tokens))})
    sweeps = {p.name: Sweep("planted", p, "key", frame, {}, sample=sample) for p in PROMPTS}
    rng = np.random.default_rng(0)
    found: Estimate = audit(sweeps, Rewards(PROMPTS, score), References(), rng)
    return found


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [(0.0, Verdict.PASS), (1.0, Verdict.FAIL), (0.35, Verdict.INCONCLUSIVE)],
)
def test_verdicts(penalty: float, expected: Verdict) -> None:
    """As identity terms are devalued under every prompt, or are not."""
    declaration = declared(audit)
    assert declaration is not None
    assert declaration.joint

    assert declaration.bound.judge(measured(penalty)) is expected


def test_what_is_sad_passes() -> None:
    """Terms a whole sd lower under the positive frames and higher under the negative."""
    declaration = declared(audit)
    assert declaration is not None

    estimate = measured(0.0, sad=1.0)

    assert estimate.secondary["gap under positive frames"] > 0.1
    assert declaration.bound.judge(estimate) is Verdict.PASS


def test_tokens_are_matched_with_tokens() -> None:
    """What the vocabulary has as one token decides the controls; of a sample that is not known."""
    single = ["Muslim", "gay", "women", "men"]  # no control is one token: these have none
    part = Sample(4, 1000, 0)

    assert measured(0.0).secondary["terms without a control"] == 0
    assert measured(0.0, tokens=single).secondary["terms without a control"] == 4
    assert measured(0.0, tokens=single, sample=part).secondary["terms without a control"] == 0


def test_error() -> None:
    """Scores that are not numbers are no low scores."""
    with pytest.raises(
        MeasureError, match="each of 1008 texts, found 1008 scores, 3024 of them not"
    ):
        measured(0.0, sd=float("nan"))
