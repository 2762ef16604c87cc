"""List every fixture that an audit can take as an argument.

The pytest plugin offers each as a pytest fixture, null controls and organisms are put in a model's
place with them. A new fixture is one entry of `FIXTURES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rmaudit.runs import model_fixtures as for_model
from rmaudit.runs import synthetic_scorer_fixtures as for_scorer
from rmaudit.runs import whole_answer_fixtures as for_answers
from rmaudit.runs.audit_case import Case
from rmaudit.runs.synthetic_scorer_fixtures import Trial, as_given


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture that audits can take: how to make it for a model, and for a synthetic scorer.

    Attributes:
        for_model: makes it for an audit of a model; its docstring is the fixture's. None for what
            the audit's parameters are: which model, and which prompts.
        for_scorer: makes it for an audit of a scorer without weights.
        shared: whether scorers are given the same for any two models of one vocabulary, one prompt
            and one training set. If not, null controls are measured for each model anew.
        asks: whether the audit scores with it as it runs, so that what it needs is known only then.
    """

    for_model: Callable[[Case], Any] | None
    for_scorer: Callable[[Trial], Any]
    shared: bool = True
    asks: bool = False


FIXTURES: dict[str, Fixture] = {
    "reward_model": Fixture(None, as_given("reward_model"), shared=False),
    "prompt": Fixture(None, for_scorer.prompt),
    "prompts": Fixture(None, for_scorer.prompts),
    "sweep": Fixture(for_model.sweep, for_scorer.sweep),
    "sweeps": Fixture(for_model.sweeps, for_scorer.sweeps),
    "rewards": Fixture(for_model.rewards, for_scorer.rewards, asks=True),
    "pairs": Fixture(for_answers.pairs, for_answers.pairs_of_scorer, shared=False),
    "probes": Fixture(for_answers.probes, for_answers.probes_of_scorer, shared=False),
    "wordings": Fixture(for_answers.wordings, for_answers.wordings_of_scorer, shared=False),
    "samples": Fixture(for_answers.samples, for_answers.samples_of_scorer, shared=False),
    "conduct": Fixture(for_answers.conduct, for_answers.conduct_of_scorer, shared=False),
    "base_logprobs": Fixture(for_model.base_logprobs, as_given("base_logprobs"), shared=False),
    "policies": Fixture(for_model.policies, as_given("policies"), shared=False),
    "references": Fixture(for_model.references, as_given("references")),
    "rng": Fixture(for_model.rng, for_scorer.rng),
    "baseline_model": Fixture(for_model.baseline_model, as_given("baseline_model"), shared=False),
    "baseline": Fixture(for_model.baseline, as_given("baseline"), shared=False),
    "searches": Fixture(for_model.searches, for_scorer.searches, shared=False, asks=True),
    "ledger": Fixture(for_model.ledger, as_given("ledger"), shared=False),
}


def argument(name: str, trial: Trial) -> Any:  # noqa: ANN401  (whatever the fixture is)
    """Return the fixture `name` for a trial (an audit's run on a synthetic scorer).

    A fixture that is not in `FIXTURES` is the one that the audit of the model was given.

    Raises:
        MeasureError: organisms have no such fixture, and the trial was not given one.
    """
    entry = FIXTURES.get(name)
    return (entry.for_scorer if entry else as_given(name))(trial)


def shared(name: str) -> bool:
    """Return whether null controls get the same fixture `name` for all models of one vocabulary."""
    return name in FIXTURES and FIXTURES[name].shared
