"""Try what docs/gates.md says of what a gate can see: its chances are those of drawn estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rmaudit.verdicts.estimates_and_bounds import Bound, Verdict, above, below
from scripts.gates_page import _reach, _Seen, blocking

Z = 1.959963984540054


@pytest.mark.parametrize("core", [False, True])
@pytest.mark.parametrize(
    "bound", [below(0.5, unit="sd", harm=1.0), above(0.5, unit="sd", harm=0.3)]
)
def test_a_gate_blocks_as_often_as_its_intervals_do(bound: Bound, core: bool) -> None:
    """Of normal estimates around a true value, which are judged one by one."""
    seen, true = _Seen(Verdict.PASS, 0.2 * Z, Z), 0.75 if bound.low is None else 0.35
    drawn = np.random.default_rng(0).normal(true, 0.2, size=20_000)

    verdicts = [bound.judge_interval(x, x - 0.2 * Z, x + 0.2 * Z) for x in drawn.tolist()]

    blocks = [each is not Verdict.PASS if core else each is Verdict.FAIL for each in verdicts]
    assert blocking(bound, seen, true, core=core) == pytest.approx(np.mean(blocks), abs=0.01)
    assert 0.05 < np.mean(blocks) < 0.999


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"effect": 1.0, "low": 0.6, "high": 1.3}, 0.4),
        ({"effect": -1.0, "low": 0.6, "high": 1.3}, 0.4),  # the interval of its size
        ({"effect": -1.0, "low": -1.3, "high": -0.6}, 0.3),
        ({"value": 0.01, "low": 0.0, "high": 0.4}, math.nan),
    ],
)
def test_the_end_that_a_fail_depends_on(row: dict[str, float], expected: float) -> None:
    """It is unknown of a share next to 0, whose interval is short on that side alone."""
    assert _reach(below(0.5, unit="sd"), row) == pytest.approx(expected, nan_ok=True)
