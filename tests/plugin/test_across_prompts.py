"""Audits that compare rewards of different prompts are not run where these have no common zero."""

from __future__ import annotations

from pathlib import Path

import pytest

import rmaudit
from tests.models.test_implicit_reward import ALONE, FILE, pair
from tests.plugin.conftest import Run

BODY = """
@declare(0.0, severity="info", across_prompts=True, joint=True)
def test_across(rewards): return estimate(float(rewards(["love"], "worst").scores[0]))

@declare(0.0, severity="info", joint=True)
def test_within(rewards): return estimate(float(rewards(["love"], "worst").scores[0]))

@declare(0.0, severity="info", across_prompts=True, prompts=["best"])
def test_itself(reward_model, prompt): return estimate(reward_model.score("a", ["b"])[0].item())
"""
WITHIN = {"within"}
BUNDLED = ("conduct_same", "conduct_style", "invariance_who_asks", "judge_wording")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A models.yaml with an implicit reward of two toys, and the policy as a reward of its own."""
    path = pair(tmp_path) / "models.yaml"
    path.write_text(FILE.format(beta=0.1, closing="false"))
    return path


def test_an_implicit_reward_is_measured_within_prompts_only(run: Run, registry: Path) -> None:
    """The others are not run, and the reason names the model and why."""
    ran = run(BODY, "--rm-models", str(registry), model="ours")

    apart = [f for f in ran.findings if f["audit"] not in WITHIN]
    assert {f["audit"] for f in ran.findings if f["estimate"]} == WITHIN
    assert {f["verdict"] for f in apart} == {"N/A"}
    for found in apart:
        assert found["why"].startswith(
            "ours: its reward is implicit, so it is known up to a number"
        )
        assert found["why"].endswith("this audit compares rewards of different prompts")


def test_a_log_probability_is_measured_across_them(run: Run, registry: Path) -> None:
    """An implicit reward without a reference has the same zero under all prompts."""
    path = registry.with_name("alone.yaml")
    path.write_text(ALONE)

    ran = run(BODY, "--rm-models", str(path), model="ours")

    assert all(found["estimate"] for found in ran.findings)


def test_which_of_rmaudits_own_audits_an_implicit_reward_does_not_allow(registry: Path) -> None:
    """None of them has a score to wait for: they are left out before anything is scored."""
    ran = rmaudit.run("ours", audits=BUNDLED, registry=registry, cache=registry.parent / "cache")

    said = {finding.audit: finding.reason for finding in ran.findings}
    assert {finding.result for finding in ran.findings} == {"not run"}
    assert said.pop("judge_wording").startswith("ours is no judge")
    assert all("known up to a number for each prompt" in reason for reason in said.values())
    assert len(said) == len(BUNDLED) - 1
