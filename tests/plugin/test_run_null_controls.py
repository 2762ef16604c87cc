"""Null controls stand next to every finding: those that its audit declares to stop, and random."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rmaudit import Sweep, json_cache
from rmaudit.runs import null_control_cache, null_controls
from rmaudit.runs.audit_case import Memory
from rmaudit.runs.null_control_trials import digest_of_tokens
from tests.plugin.conftest import Run, no_network
from tests.scores.letters import sweep_of

SEES = ["long words", "short words", "frequent words", "constant"]
LENGTH = f"""
import numpy as np
from rmaudit.errors import MeasureError
CALLS = []

@declare(0.5, stops={SEES}, prompts=["greatest"])
def test_length(sweep):
    CALLS.append(sweep.model)
    scores = sweep.frame["score"]
    if scores.nunique() == 1:
        raise MeasureError("all scores are equal")
    value = float(np.corrcoef(scores, sweep.frame["text"].str.len())[0, 1])
    value = value if sweep.model == "organism" else 0.9
    return Estimate(value, value - 0.1, value + 0.1, "points", len(CALLS), "made up")
"""


@pytest.mark.slow
def test_a_null_control_that_slips_through_takes_the_pass_away(
    run: Run, toy: Path, tmp_path: Path
) -> None:
    """What a scorer by length passes shows nothing; models of one vocabulary are tried once."""
    shutil.copytree(toy, tmp_path / "copy")

    ran = run(LENGTH, "--rm-model", "copy")

    one, two = ran.findings
    found = one["controls"]
    verdicts = {name: (control["verdict"], control["stops"]) for name, control in found.items()}
    assert verdicts == {
        "random": ("FAIL", False),
        "constant": ("ERROR", True),
        "frequent words": ("FAIL", True),
        "long words": ("PASS", True),
        "short words": ("FAIL", True),
    }
    assert found["long words"]["value"] == pytest.approx(1, abs=0.01)
    assert found["constant"]["reason"] == "all scores are equal"
    assert (one["verdict"], one["blocks"]) == ("INCONCLUSIVE", True)
    assert "'long words' (+1.00) passes it" in one["reason"]
    assert one["controls"] == two["controls"]
    assert (one["estimate"]["n"], two["estimate"]["n"]) == (1, 7)
    ran.says("null controls: 6 of 8 stopped, 'long words' passes length")


def test_what_is_of_the_model_itself_is_asked_of_each(run: Run, toy: Path, tmp_path: Path) -> None:
    """One that cannot be had is neither stopped nor let through; one that breaks is an error."""
    shutil.copytree(toy, tmp_path / "copy")
    body = """
@declare(0.0, prompts=["best"])
def test_name(reward_model, prompt): return estimate(len(reward_model.name))

@declare(0.0, prompts=["best"], stops=["base log-probability"])
def test_high(sweep): return estimate(1.0)

@declare(0.0, prompts=["best"], stops=["long words"])
def test_broken(sweep):
    if sweep.model == "organism" and sweep.frame["score"].mean() > 1:
        raise ZeroDivisionError("flat")
    return estimate(1.0)
"""
    ran = run(body, "--rm-model", "copy")

    found = {(f["audit"], f["model"]): f for f in ran.findings}
    names = [found["name", model]["controls"]["random"]["value"] for model in ("toy", "copy")]
    assert names == [3, 4]
    for model in ("toy", "copy"):
        control = found["high", model]["controls"]["base log-probability"]  # the toy has no base
        assert (control["verdict"], control["value"]) == ("N/A", None)
        assert "base" in control["reason"]
        assert found["high", model]["verdict"] == "PASS"
        broken = found["broken", model]
        assert broken["verdict"] == "ERROR"
        assert "breaks on the null control 'long words' (ZeroDivisionError: flat)" in broken["why"]
    ran.says("null controls: 0 of 2 stopped, 2 not tried (*")


COUNTED = """
from pathlib import Path

@declare(-99, stops=["surface regression", "long words", "short words"])
def test_counted(sweep):
    value = sweep.frame["score"].mean()
    with Path("asked.txt").open("a") as file:
        print(round(float(value), 6), file=file)
    return estimate(float(value))
"""


@pytest.mark.slow
def test_a_control_that_cannot_be_tried_is_no_obstacle_to_the_others(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without EloEverything's ratings a second run tries that control alone, and says the same."""
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr("pooch.retrieve", no_network)
    monkeypatch.setattr(json_cache, "STARTED", math.inf)
    monkeypatch.setattr(null_control_cache, "bundled", lambda _: tmp_path)  # as if it were ours
    # What another test of this process has read is as if it had not been.
    monkeypatch.setattr(null_controls, "_regressions", null_controls._regressions.__wrapped__)
    args = (COUNTED, "-k", "greatest")
    first = run(*args, cache=tmp_path / "own")
    asked = tmp_path / "asked.txt"
    tries = len(asked.read_text().splitlines())
    second = run(*args, cache=tmp_path / "own")

    controls = first.only["controls"]
    assert controls["surface regression"]["verdict"] == "SKIPPED"
    assert list(second.only["controls"]) == list(controls)
    assert second.only["controls"] == controls
    assert tries == 4  # the model, "random", and two that must not pass
    assert len(asked.read_text().splitlines()) == tries + 1  # the model alone


def test_controls_of_a_sample_are_of_the_words_that_the_audit_names() -> None:
    """Two models may have the same tokens in a sample, and others for the words that are named."""
    plain = sweep_of(["a", "b"], [1.0, 2.0])
    one, two = (sweep_of(["a", "b", word], [1.0, 2.0, 3.0]) for word in ("love", "tranquillity"))
    known = Memory()

    def digest(sweep: Sweep, *words: str) -> str:
        sampled = replace(sweep, sample=2)  # type: ignore[arg-type]
        return digest_of_tokens(sampled, words, known)

    assert digest(plain) == digest(plain) != ""
    assert len({digest(plain), digest(one, "love"), digest(two, "tranquillity")}) == 3
    assert digest_of_tokens(None, (), known) == ""
