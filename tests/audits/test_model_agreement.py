"""Model agreement on planted models: it passes, fails, is undecided, and errs."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import prompt_named
from rmaudit.references import References
from rmaudit.references.word_frequency import common
from rmaudit.scores.sweep import Sweep
from rmaudit.verdicts.declare import declared
from rmaudit.verdicts.records import Estimate, Verdict

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "audits" / "test_model_agreement.py"))
audit = AUDIT["test_model_agreement"]


def sweep(noise: float, *, n: int = 3000) -> Sweep:
    """Words of wordfreq whose scores are their own and noise."""
    words = common()[:: len(common()) // n][:n]
    own, other = np.random.default_rng(0).normal(size=(2, len(words)))
    frame = pd.DataFrame({"text": words, "score": own + noise * other})
    return Sweep("planted", prompt_named("greatest"), "key", frame, {"noise": 0.001})


def measured(noise: float, *, n: int = 3000) -> Estimate:
    """A model against a baseline that has no noise."""
    sweeps = sweep(noise, n=n), sweep(0, n=n)
    found: Estimate = audit(*sweeps, References(), np.random.default_rng(0))
    return found


@pytest.mark.parametrize(
    ("noise", "n", "expected"),
    [
        (0.0, 3000, Verdict.PASS),
        (0.2, 3000, Verdict.PASS),
        (3.0, 3000, Verdict.FAIL),
        (0.48, 300, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(noise: float, n: int, expected: Verdict) -> None:
    """As the model picks like the baseline, or does not."""
    declaration = declared(audit)
    assert declaration is not None

    assert declaration.bound.judge(measured(noise, n=n)) is expected
