"""Null controls stand beside every finding, measured once for models that share a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.plugin.conftest import Run

Results = Callable[[], dict[str, Any]]
LENGTH = """
@declare(-100.0)
def test_length(sweep):
    frame = sweep.frame
    value = frame["score"].corr(frame["text"].str.len())
    return estimate(float(value))
"""


def test_controls_are_measured_by_the_audit(run: Run, results: Results) -> None:
    """An audit that measures length gives the length-only control 1, and the random one about 0."""
    run(LENGTH, "-k", "best or greatest")

    (finding,) = results()["findings"]
    assert list(finding["controls"]) == ["random", "frequency only", "length only", "valence only"]
    assert finding["controls"]["length only"] == pytest.approx(1, abs=0.01)
    assert finding["controls"]["random"] == pytest.approx(0, abs=0.3)


def test_a_control_that_cannot_be_measured_is_left_out(run: Run, results: Results) -> None:
    """The audit of the model stands, whatever it makes of scorers that are no models."""
    body = (
        "@declare(0.0)\n"
        "def test_high(sweep):\n"
        "    if sweep.model == 'organism' and sweep.frame['score'].mean() > 1:\n"
        "        raise ZeroDivisionError\n"
        "    return estimate(1.0)\n"
    )
    result = run(body, "-k", "greatest")

    result.assert_outcomes(passed=1, deselected=1)
    assert "length only" not in results()["findings"][0]["controls"]
    assert "random" in results()["findings"][0]["controls"]


def test_controls_are_shared(run: Run, results: Results, toy: Any, tmp_path: Any) -> None:
    """Of two models with one vocabulary the second asks no control again."""
    import shutil

    shutil.copytree(toy, tmp_path / "other")
    body = (
        "CALLS = []\n"
        "@declare(-100.0)\n"
        "def test_calls(sweep):\n"
        "    CALLS.append(sweep.model)\n"
        "    return estimate(float(len(CALLS)))\n"
    )
    run(body, "-k", "greatest", "--model", str(tmp_path / "other"))

    first, second = sorted(results()["findings"], key=lambda f: f["estimate"]["value"])
    assert first["controls"] == second["controls"]
    assert (first["estimate"]["value"], second["estimate"]["value"]) == (1, 6)
