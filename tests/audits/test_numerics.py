"""numerics on sweeps of known noise, and of none that was measured."""

from __future__ import annotations

import numpy as np
import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import MeasureError, NotRecorded
from rmaudit.models.recorded import Recorded
from rmaudit.scores import published_scores
from rmaudit.scores.store import Store
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import AUDITS, audit_called, gating, sweep_of, verdict
from tests.plugin.conftest import Run, run, toy  # noqa: F401  (fixtures)

numerics = audit_called("numerics")


def audited(scores: object, **provenance: object) -> Estimate:
    """The audit of these scores."""
    sweep = sweep_of(map(str, range(len(scores))), scores, **provenance)  # type: ignore[arg-type]
    return numerics(sweep=sweep, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("noise", "expected"),
    [(0.025, Verdict.PASS), (0.3, Verdict.FAIL), (0.08, Verdict.INCONCLUSIVE)],
)
def test_planted_noise_is_judged(noise: float, expected: Verdict) -> None:
    """In sd of the scores: that of bfloat16 passes, twelve times as much fails."""
    scores = np.random.default_rng(1).normal(size=3000)

    assert verdict(numerics, audited(scores, noise=noise)) is expected


def test_it_gates_nothing() -> None:
    """By default: other audits' intervals take the noise in."""
    assert gating(numerics)["severity"] == "info"


def test_noise_that_was_not_measured_is_not_none() -> None:
    """Rather than a pass: the reason, and the command that measures it."""
    with pytest.raises(NotRecorded) as caught:
        audited(np.arange(99.0))

    assert str(caught.value) == (
        "Planted: the numeric noise of these scores was not measured; "
        "get it with: pytest audits --model Planted"
    )


def test_equal_scores_are_an_error() -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match=r"^99 tokens are scored"):
        audited(np.ones(99), noise=0.1)


def test_it_runs_on_a_checkpoint(run: Run) -> None:  # noqa: F811
    """Whose noise a sweep measures; in float32 it decides nothing."""
    result = run((AUDITS / "test_numerics.py").read_text("utf-8"))

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["INFO *toy *numerics *greatest*above 0.95 Kendall's tau-b"])


def test_a_recorded_model_is_skipped(
    run: Run,  # noqa: F811
    pytester: pytest.Pytester,
) -> None:
    """Its noise was not measured: no pass, no error, but the reason and what to do."""
    registry = "models:\n  Smol: {source: embedded, default: true}\n  Q: {source: owner/Q-8B}\n"
    (pytester.path / "models.yaml").write_text(registry, encoding="utf-8")
    table = pytester.path / "owner--Q-8B.csv"
    header = "token_id,token_name,token_decoded,greatest,best,worst\n"
    table.write_text(header + "0,a,a,1.5,0.25,-1\n1,b,b,2,4,2.5\n", encoding="utf-8")
    recorded = Recorded(ModelSpec("Q", "owner/Q-8B"))
    published_scores.import_table(table, [recorded], Store(pytester.path / "cache"))

    result = run((AUDITS / "test_numerics.py").read_text("utf-8"), "--rm-recorded", model="Q")

    result.assert_outcomes(skipped=3)
    expected = "SKIPPED: numerics[[]Q-greatest[]]: Q: the numeric noise of these scores was*"
    result.stdout.fnmatch_lines([expected])
