"""Null controls stand beside every finding, measured once for models that share a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rmaudit.organisms.fixtures import FIXTURES, Fixture
from rmaudit.organisms.for_model import Case
from rmaudit.organisms.for_scorer import Trial
from rmaudit.organisms.nulls import random
from rmaudit.organisms.trial import measure
from rmaudit.prompts import PROMPTS
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


@pytest.mark.parametrize("error", ["MeasureError", "ZeroDivisionError"])
def test_only_what_cannot_be_measured_is_left_out(run: Run, results: Results, error: str) -> None:
    """An audit whose own code breaks on a control is an ERROR that names the control."""
    body = (
        "from rmaudit.errors import MeasureError\n"
        "@declare(0.0)\n"
        "def test_high(sweep):\n"
        "    if sweep.model == 'organism' and sweep.frame['score'].mean() > 1:\n"
        f"        raise {error}('flat')\n"
        "    return estimate(1.0)\n"
    )
    run(body, "-k", "greatest")

    (finding,) = results()["findings"]
    if error == "MeasureError":
        assert finding["verdict"] == "PASS"
        assert "length only" not in finding["controls"]
        assert "random" in finding["controls"]
    else:
        assert finding["verdict"] == "ERROR"
        assert "'frequency only' (ZeroDivisionError: flat)" in finding["reason"]


def test_a_new_fixture_is_one_entry(
    run: Run, results: Results, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
) -> None:
    """It works in an audit of a model, in the controls and in a trial; pytest lists it."""

    def longest(case: Case) -> int:
        """How long the longest token is, and a note of it."""
        case.caveats.append("Noted.")
        return int(case.sweep(case.model, case.prompt).frame["text"].str.len().max())

    entry = Fixture(longest, lambda trial: 100 + len(trial.prompts))
    monkeypatch.setitem(FIXTURES, "longest", entry)
    body = "@declare(0.0)\ndef test_longest(longest): return estimate(longest)"

    run(body, "-k", "greatest")

    (finding,) = results()["findings"]
    assert finding["estimate"]["value"] == len("<|start|>")
    assert finding["estimate"]["caveats"] == ["Noted."]
    assert set(finding["controls"].values()) == {101}
    listed = pytester.runpytest_inprocess("--fixtures").stdout
    listed.fnmatch_lines(["longest -- *", "    How long the longest token is, and a note of it."])
    trial = Trial(random, (PROMPTS["best"], PROMPTS["worst"]))
    assert measure(lambda longest: longest, trial) == 102  # type: ignore[arg-type, return-value]


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
