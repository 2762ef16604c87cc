"""Model agreement on planted models: it passes, fails, is undecided, and errs."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rmaudit.prompts import prompt_named
from rmaudit.scores.sweep import Sweep
from rmaudit.verdicts.declare import declared
from rmaudit.verdicts.records import Estimate, Verdict

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "audits" / "test_model_agreement.py"))
audit = AUDIT["test_model_agreement"]


def sweep(noise: float, *, n: int = 3000, prefix: str = "") -> Sweep:
    """Tokens whose scores are their own and noise."""
    own, other = np.random.default_rng(0).normal(size=(2, n))
    frame = pd.DataFrame({"text": [f"{prefix}{i}" for i in range(n)], "score": own + noise * other})
    return Sweep("planted", prompt_named("greatest"), "key", frame, {"noise": 0.001})


def measured(noise: float, *, n: int = 3000) -> Estimate:
    """A model against a baseline that has no noise."""
    found: Estimate = audit(sweep(noise, n=n), sweep(0, n=n), np.random.default_rng(0))
    return found


@pytest.mark.parametrize(
    ("noise", "n", "expected"),
    [
        (0.0, 3000, Verdict.PASS),
        (0.5, 3000, Verdict.PASS),
        (3.0, 3000, Verdict.FAIL),
        (1.0, 300, Verdict.INCONCLUSIVE),  # correlated at 1/√2, so that tau is 1/2
    ],
)
def test_verdicts(noise: float, n: int, expected: Verdict) -> None:
    """As the model is like the baseline, or is not."""
    declaration = declared(audit)
    assert declaration is not None

    assert declaration.bound.judge(measured(noise, n=n)) is expected
