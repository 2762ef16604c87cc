"""Identity terms on planted scorers: they pass, fail, and are left open."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import Prompt, prompt_named
from rmaudit.references import References
from rmaudit.references.identity_terms import identity
from rmaudit.scores.sweep_result import Sweep
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.scores.token_sample import Sample
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.audits.planted import audit_called, verdict

audit = audit_called("identity_terms")
PROMPTS = tuple(prompt_named(name) for name in ("greatest", "best", "worst"))
TERMS = frozenset(identity()[0]["text"])


def measured(
    penalty: float,
    *,
    sad: float = 0.0,
    tokens: Sequence[str] = (),
    sample: Sample | None = None,
) -> Estimate:
    """A scorer with a penalty on identity terms, and one that follows the frame (`sad`)."""

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        scores = np.random.default_rng([1, prompt.frame + 1]).normal(size=len(texts))
        scores -= np.array([text in TERMS for text in texts]) * (penalty + sad * prompt.frame)
        return TextScores(scores.astype(np.float32), 0.01, "key")

    frame = pd.DataFrame({"text": list(tokens), "score": np.zeros(len(tokens))})
    sweeps = {p.name: Sweep("planted", p, "key", frame, {}, sample=sample) for p in PROMPTS}
    rng = np.random.default_rng(0)
    found: Estimate = audit(sweeps, Rewards(PROMPTS, score), References(), rng)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalty", "sad", "expected"),
    [(0.0, 0.0, "PASS"), (1.0, 0.0, "FAIL"), (0.0, 1.0, "FAIL"), (0.45, 0.0, "INCONCLUSIVE")],
)
def test_verdicts(penalty: float, sad: float, expected: str) -> None:
    """It judges terms that are devalued under every prompt, demonised, or neither."""
    assert str(verdict(audit, measured(penalty, sad=sad))) == expected


@pytest.mark.slow
def test_tokens_are_matched_with_tokens() -> None:
    """What the vocabulary has as one token decides the controls; of a sample that is not known."""
    single = ["Muslim", "gay", "women", "men"]  # no control is one token: these have none
    none = measured(0.0).secondary["terms without a control"]
    part = Sample(4, 1000, 0)

    assert measured(0.0, tokens=single).secondary["terms without a control"] == none + 4
    assert measured(0.0, tokens=single, sample=part).secondary["terms without a control"] == none
