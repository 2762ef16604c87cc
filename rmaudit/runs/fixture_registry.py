"""Register the fixtures that an audit can take, and what makes each for an audit of a model.

The pytest plugin offers each as a pytest fixture, whose docstring `pytest --fixtures` shows; null
controls and organisms are put in a model's place with them. A new fixture is one entry of
`FIXTURES`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rmaudit.errors import NotAsked
from rmaudit.prompts import Prompt, label
from rmaudit.references import References
from rmaudit.runs import synthetic_scorer_fixtures as for_scorer
from rmaudit.runs import whole_answer_fixtures as for_answers
from rmaudit.runs.audit_case import SEARCHED, Case, opened
from rmaudit.runs.synthetic_scorer_fixtures import Trial, as_given

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.sweep_result import Sweep
    from rmaudit.scores.text_rewards import Rewards, TextScores
    from rmaudit.search.cached_search import Searches, SearchResult
    from rmaudit.search.search_settings import Direction


def sweep(case: Case) -> Sweep:
    """Return the rewards of every token id under the prompt; scored once, then read from the cache.

    With `--rm-sample`, a sample of the ids, and one of the words that the audit names.
    """
    found = case.sweep(case.model, case.prompt)
    case.keys.extend(found.keys)
    return found


def sweeps(case: Case) -> dict[str, Sweep]:
    """Return the sweep (rewards of every token id) under each prompt of a joint audit, by name."""
    found = {prompt.name: case.sweep(case.model, prompt) for prompt in case.prompts}
    for each in found.values():
        case.keys.extend(each.keys)
    return found


def rewards(case: Case) -> Rewards:
    """Return a function that scores texts as answers to the prompt: rewards and noise (cached)."""
    from rmaudit.scores.text_rewards import Rewards, scorable_texts

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        scored = case.options.scores.texts(case.model, prompt, tuple(texts))
        case.keys.append(scored.key)
        case.caveats.extend(scored.caveats)
        return scored

    def known(texts: Sequence[str], prompt: Prompt) -> list[str]:
        return scorable_texts(case.model, prompt, texts, cache=case.options.scores.kept)

    return Rewards(case.prompts, score, known)


def base_logprobs(case: Case) -> pd.Series[float]:
    """Return each token id's log-probability as the answer, under the model's base model (cached).

    Skips the audit where models.yaml names no base, or with `--rm-recorded`.
    """
    found = case.logprobs("base", case.prompt)
    case.keys.append(found.key)
    return found.by_id


def policies(case: Case) -> dict[str, pd.Series[float]]:
    """Return the log-probability of each token id under the policy (a language model), by prompt.

    For a joint audit. The policy is that of `--rm-policy`, or else of models.yaml, or else the
    base. By token id, as `base_logprobs`; skipped where it is. A file of log-probabilities is read
    once a run.
    """
    from rmaudit.scores.first_token_logprobs import is_file, policy_in

    spec = case.model.spec
    if spec.policy:
        case.caveats.append(f"The policy is {spec.policy}.")
    if spec.policy and is_file(spec.policy):
        file = Path(spec.policy)
        model = case.model.with_weights("its tokens are matched with those of a policy's file")
        return case.memory.once(
            ("policy", spec, case.prompts),
            lambda: policy_in(file, case.prompts, model.vocabulary()),
        )
    whose: Literal["policy", "base"] = "policy" if spec.policy else "base"
    found = {prompt.name: case.logprobs(whose, prompt) for prompt in case.prompts}
    case.keys.extend(each.key for each in found.values())
    return {name: each.by_id for name, each in found.items()}


def references(case: Case) -> References:
    """Return lexicons and human ratings, without the words that the model was trained on."""
    return References(salt=case.model.spec.trained_on, own_words=case.options.own_words)


def wanted(case: Case) -> dict[str, str]:
    """Return the kinds of tokens and answers that models.yaml says are wanted, with the reasons."""
    return dict(case.model.spec.wanted)


def rng(case: Case) -> np.random.Generator:
    """Return a random generator whose draws depend only on the seed, audit, model and prompts.

    Neither order nor xdist changes its draws.
    """
    import numpy as np

    name = f"{case.audit}|{case.model.name}|{label(case.prompts)}"
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return np.random.default_rng([case.options.asked.seed, place])


def baseline_model(case: Case) -> Scored:
    """Return the model of `--rm-baseline`; without the option the audit is skipped."""
    spec = case.options.baseline
    if spec is None:
        raise NotAsked("no model to compare with; name one with --rm-baseline NAME")

    def make() -> Scored:
        with case.options.watched():
            return opened(spec, case.options)

    model = case.memory.once(("baseline", spec), make)
    # It is not to stay in memory next to the audited model; it loads again when it is asked.
    case.after.callback(model.close)
    return model


def baseline(case: Case) -> Sweep:
    """Return the `--rm-baseline` model's sweep under the prompt; skip the audit without one."""
    prompt, other = case.prompt, baseline_model(case)
    found = case.sweep(other, prompt)
    said = f"Compared with {other.spec.name}: {other.spec.source}, scores {found.key[:12]}."
    case.caveats.append(said)
    return found


def searches(case: Case) -> Searches:
    """Return a function that searches for answers of high (up) or low (down) reward (cached).

    Each search has the budget of `--rm-search`, and is held to the ids that score best alone where
    the budget is too small for the vocabulary; what it finds goes into the ledger. Skips the audit
    where the budget is 0, or with `--rm-recorded`.
    """
    from rmaudit.search import exploit_strings as strings
    from rmaudit.search.cached_search import Searches, caveat, random_texts, shortlisted
    from rmaudit.search.search_settings import Settings

    budget, seed = case.options.asked.search, case.options.asked.seed
    if not budget:
        message = f"searches are off (--rm-search 0); run them with --rm-search {SEARCHED}"
        raise NotAsked(message)
    model = case.model.with_weights("what a search would find is not recorded")
    _whole_ledger(case)  # before anything is added to it

    def find(direction: Direction, prompt: Prompt) -> SearchResult:
        plain = Settings(direction=direction, budget=budget, seed=seed)
        settings = shortlisted(model, case.sweep(model, prompt).frame, plain)
        found = case.options.scores.search(model, prompt, settings)
        strings.remember(case.options.cache, found, model)
        case.keys.append(found.key)
        case.caveats.append(caveat(found))
        return found

    def draw(n: int, prompt: Prompt) -> list[str]:
        return random_texts(model, prompt, Settings(seed=seed), n)

    return Searches(case.prompts, find, draw)


def ledger(case: Case) -> pd.DataFrame:
    """Return the strings that searches of other models found under these prompts, one in each row.

    Columns as in `rmaudit.search.exploit_strings`. They are those that are published, and those in
    the cache's folder `ledger` before this run, which searches of earlier releases wrote.
    """
    from rmaudit.search.exploit_strings import weights_of

    known = _whole_ledger(case)
    others = known["weights"] != weights_of(case.model)
    return known[
        known["prompt"].isin([prompt.name for prompt in case.prompts]) & others
    ].reset_index(drop=True)


def _whole_ledger(case: Case) -> pd.DataFrame:
    """Return the ledger (strings that searches found), read once, before this run's searches."""
    from rmaudit.search.exploit_strings import ledger as read

    return case.memory.once("ledger", lambda: read(case.options.cache))


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
    "prompt": Fixture(None, lambda trial: trial.prompts[0]),
    "prompts": Fixture(None, lambda trial: trial.prompts),
    "sweep": Fixture(sweep, lambda trial: trial.scored(trial.prompts[0])),
    "sweeps": Fixture(sweeps, lambda trial: {p.name: trial.scored(p) for p in trial.prompts}),
    "rewards": Fixture(rewards, for_scorer.rewards, asks=True),
    "pairs": Fixture(for_answers.pairs, for_answers.of_scorer("pairs"), shared=False),
    "probes": Fixture(for_answers.probes, for_answers.probes_of_scorer, shared=False),
    "wordings": Fixture(for_answers.wordings, for_answers.wordings_of_scorer, shared=False),
    "samples": Fixture(for_answers.samples, for_answers.of_scorer("samples"), shared=False),
    "fresh": Fixture(for_answers.fresh, for_answers.of_scorer("fresh"), shared=False),
    "conduct": Fixture(for_answers.conduct, for_answers.of_scorer("conduct"), shared=False),
    "same_worth": Fixture(
        for_answers.same_worth, for_answers.of_scorer("same_worth"), shared=False
    ),
    "base_logprobs": Fixture(base_logprobs, as_given("base_logprobs"), shared=False),
    "policies": Fixture(policies, as_given("policies"), shared=False),
    "references": Fixture(references, as_given("references")),
    "wanted": Fixture(wanted, lambda _: {}),
    "rng": Fixture(rng, for_scorer.rng),
    "baseline_model": Fixture(baseline_model, as_given("baseline_model"), shared=False),
    "baseline": Fixture(baseline, as_given("baseline"), shared=False),
    "searches": Fixture(searches, for_scorer.searches, shared=False, asks=True),
    "ledger": Fixture(ledger, as_given("ledger"), shared=False),
}
