"""What an audit of a model is given: its own random draws, and only references it never saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rmaudit.config.registry import ModelSpec
from rmaudit.models.recorded import Recorded
from rmaudit.organisms.for_model import Case, Memory, Options, references, rng
from rmaudit.prompts import PROMPTS

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]


def case(
    *, audit: str = "test_a", name: str = "M", seed: int = 0, trained_on: str | None = None
) -> Case:
    """An audit of a model under one prompt."""
    model = Recorded(ModelSpec(name, "owner/name", trained_on=trained_on))
    options = Options(Path("unused"), seed=seed)
    return Case(audit, model, (BEST,), joint=False, words=(), options=options, memory=Memory())


def test_draws_are_of_audit_model_prompts_and_seed() -> None:
    """Each of them has its own; the same have the same, in whatever order they come."""
    joint = replace(case(), prompts=(BEST, WORST))
    cases = [case(), case(audit="test_b"), case(name="N"), case(seed=1)]
    cases += [replace(case(), prompts=(WORST,)), joint]

    draws = [rng(each).random() for each in cases]

    assert len(set(draws)) == len(cases)
    assert [rng(each).random() for each in reversed(cases)] == draws[::-1]


def test_references_are_without_what_the_model_was_trained_on() -> None:
    """Half of them, by the salt that models.yaml has; all for a model trained elsewhere."""
    half, other = (
        set(references(case(trained_on=salt)).lexicon("afinn").index) for salt in ("a", "b")
    )

    assert half != other
    assert half | other < set(references(case()).lexicon("afinn").index)
