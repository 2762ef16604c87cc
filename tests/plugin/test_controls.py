"""Null controls stand next to every finding: a prompt's own, and a model's where it is asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plugin.conftest import Run

LENGTH = """
@declare(-100.0)
def test_length(sweep):
    frame = sweep.frame
    return estimate(float(frame["score"].corr(frame["text"].str.len())))
"""
NAMED = """
@declare(-100.0)
def test_named(reward_model, prompt):
    return estimate(float(100 * len(reward_model.name) + len(prompt.name)))
"""
TRAINED = """
@declare(0.0, prompts=["best"])
def test_half(references):
    references.lexicon("afinn")
    return estimate(1.0)
"""


def test_controls_are_measured_by_the_audit(run: Run) -> None:
    """An audit that measures length gives the length-only control 1, and the random one about 0."""
    found = run(LENGTH, "-k", "greatest").only["controls"]

    assert list(found) == ["random", "frequency only", "length only", "valence only"]
    assert found["length only"] == pytest.approx(1, abs=0.01)
    assert found["random"] == pytest.approx(0, abs=0.3)


def test_controls_are_the_prompts_own_and_the_models_where_it_is_asked(
    run: Run, toy: Path, tmp_path: Path
) -> None:
    """An audit that takes the model itself shares no control with one of another model."""
    shutil.copytree(toy, tmp_path / "longer name")

    ran = run(NAMED, "--rm-model", str(tmp_path / "longer name"))

    found = [(f["model"], f["prompt"], f["controls"]["random"]) for f in ran.findings]
    assert len(found) == 4
    assert all(value == 100 * len(model) + len(prompt) for model, prompt, value in found)


def test_what_a_model_was_trained_on_is_said(run: Run, toy: Path, tmp_path: Path) -> None:
    """A finding that rests on references says which half of them the model is judged by."""
    entry = f"  Toy: {{source: {toy}, default: true, trained_on: salt}}\n"
    (tmp_path / "models.yaml").write_text(f"models:\n{entry}", encoding="utf-8")

    (caveat,) = run(TRAINED, model=None).only["estimate"]["caveats"]

    assert caveat.startswith("This model was trained on half of the reference words")
