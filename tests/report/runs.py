"""A small run: its facts, its model, a finding, and the results that it would have written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rmaudit.config.model_registry import ModelSpec
from rmaudit.report.results_document import Results, Run
from rmaudit.report.results_of_run import SweepRecord, collect
from rmaudit.verdicts.decision import measured
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY, but, claim

RUN = Run(
    created="2026-11-21T10:50:00Z",
    rmaudit="0.1.0",
    command="pytest audits",
    seed=7,
    environment={"python": "3.11"},
    collected=1,
    selected=1,
    finished=1,
    interrupted=False,
    part="",
    sample=None,
)
SPEC = ModelSpec("toy", "owner/name", notes=("Small.",))
STATED = claim(
    above(0, unit="skewness"),
    audit="positive_skew",
    nodeid="audits/test_positive_skew.py::test_positive_skew[toy-worst]",
    prompt="worst",
)
ESTIMATE = Estimate(0.2, 0.1, 0.3, "skewness", 1204, "made up", caveats=("Half only.",))
FINDING = measured(STATED, ESTIMATE, Policy(), TODAY, sweeps=("key",))


def found(
    value: float | None,
    half: float = 0.1,
    verdict: Verdict = Verdict.PASS,
    unit: str = "skewness",
    **change: Any,
) -> Finding:
    """A gating finding above 0, with an interval of this half width; None is unmeasured."""
    estimate = None
    if value is not None:
        estimate = Estimate(value, value - half, value + half, unit, 99, "made up")
    return but(FINDING, estimate=estimate, verdict=verdict, **change)


def record(scores: ArrayLike, **change: Any) -> SweepRecord:
    """A sweep with these scores, its ids 10, 11, and so on."""
    values = np.asarray(scores, dtype=np.float32)
    ids = np.arange(10, 10 + len(values), dtype=np.int32)
    frame = pd.DataFrame({"token_id": ids, "token": [f"Ġw{i}" for i in ids]})
    frame = frame.assign(text=[f" w{i}" for i in ids], score=values)
    given = {"model": "toy", "prompt": "worst", "prompt_text": "What?", "key": "key"}
    return SweepRecord(**{**given, "frame": frame, "provenance": {}, **change})


def results(
    findings: Sequence[Finding] = (),
    sweeps: Sequence[SweepRecord] = (),
    specs: Sequence[ModelSpec] = (SPEC,),
    run: Run = RUN,
) -> Results:
    """What a run that found these would have written."""
    return collect(run, specs, sweeps, findings)
