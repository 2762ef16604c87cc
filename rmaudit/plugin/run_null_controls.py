"""Run audits on null controls: scorers that ignore meaning, such as random numbers.

Their results depend on the vocabulary and not on the model's scores, so models with the same
vocabulary share them.

A run tries the null controls that the audit's `stops` name, and "random".
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from rmaudit import json_cache
from rmaudit.errors import NoBase, NotAsked, RmauditError
from rmaudit.plugin.collection import Audited, left_out
from rmaudit.plugin.pytest_fixtures import case_of
from rmaudit.plugin.pytest_options import options_of
from rmaudit.plugin.run_plan import own_words_of
from rmaudit.plugin.selected_audits import MEMORY, SELECTED
from rmaudit.runs.audit_case import Case
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Control

if TYPE_CHECKING:
    from rmaudit.runs.synthetic_scorer_fixtures import Organism


BASE_SEEN = "base-seen"  # the fact that a base's log-probabilities are stored


def controls(
    item: pytest.Function, audit: Audited, given: Mapping[str, Any]
) -> Mapping[str, Control]:
    """Return the audit's result for each null control, by name; run those not yet measured.

    The run warns of those that must not pass and could not be tried. `given` are the arguments
    that the audit was called with.

    Raises:
        RuntimeError: the audit's own code breaks on a control.
    """
    from rmaudit.runs.null_controls import BASE

    memory = item.config.stash[MEMORY]
    sweep = given.get("sweep") or next(iter(given.get("sweeps", {}).values()), None)
    vocabulary = digest_of_tokens(sweep, audit.declaration.words, memory.digests)
    of_base = BASE in audit.declaration.stops and audit.spec.base is not None
    common = all(name in FIXTURES and FIXTURES[name].shared for name in given) and not of_base
    model = "" if common else audit.spec.name  # or else models of one vocabulary share them
    key = (audit.declaration, vocabulary, audit.prompt, audit.spec.trained_on, model)
    if key not in memory.controls:
        memory.controls[key] = _tried(item, audit, given, sweep, vocabulary)
    return memory.controls[key]


def _tried(
    item: pytest.Function,
    audit: Audited,
    given: Mapping[str, Any],
    sweep: Any,  # noqa: ANN401  (a Sweep, whose module loads pandas)
    vocabulary: str,
) -> dict[str, Control]:
    from rmaudit.runs import null_control_cache
    from rmaudit.runs.null_controls import nulls_of, random
    from rmaudit.runs.synthetic_scorer_trials import thinned, tried

    case, own_words = case_of(item), own_words_of(item.config)
    asked = {"random", *audit.declaration.stops}
    base, keys = _control_of_base(case, asked, load=_loads_base(item))
    fields = case and null_control_cache.fields_of(
        item.obj, audit.declaration, given, case=case, vocabulary_digest=vocabulary, base_keys=keys
    )
    cache = case.options.cache if case else None
    known = null_control_cache.read(cache, fields) if cache and fields else {}
    nulls = {name: null for name, null in nulls_of(own_words).items() if name in asked} | base
    missing = {name: null for name, null in nulls.items() if name not in known}
    tokens = None if sweep is None or not missing else thinned(sweep.frame)
    seed = options_of(item.config).seed
    trial = Trial(random, audit.prompts, tokens, seed=seed, given=given)
    try:
        measured = tried(item.obj, audit.declaration, trial, missing)
    except RuntimeError as error:
        raise RuntimeError(f"the model was measured, but {error}") from error.__cause__
    if cache and fields and measured:
        null_control_cache.write(cache, fields, known | measured)
    for name, control in measured.items():
        if control.stops and control.verdict is Verdict.SKIPPED:
            message = f"the null control {name!r} is not tried: {control.reason}"
            warnings.warn(message, stacklevel=2)
    return {name: (known | measured)[name] for name in nulls}


def digest_of_tokens(sweep: Any, words: tuple[str, ...], known: dict[str, str]) -> str:  # noqa: ANN401  (a Sweep)
    """Hash a sweep's tokens in their order; "" without a sweep. `known` caches the hashes.

    In a sample the tokens are the random ones and those of the `words` that the audit names.
    """
    from rmaudit.scores.score_parquet import checksum

    if sweep is None:
        return ""
    place = repr((sweep.keys, words if sweep.sample else ()))
    if place not in known:
        known[place] = checksum(sweep.frame[["token_id", "token", "text"]])
    return known[place]


def asks_base(item: pytest.Function, audit: Audited, case: Case) -> bool:
    """Return whether a null control of the audit will need the base model's log-probabilities."""
    from rmaudit.runs.null_controls import BASE

    named = BASE in audit.declaration.stops and case.model.spec.base is not None
    return named and not case.options.asked.recorded and _loads_base(item)


def _loads_base(item: pytest.Function) -> bool:
    """Return whether this run may download and load a base model for a test's null control.

    It may not in a run of a part of the audits, which is to be quick, unless the audit itself asks
    for the base.
    """
    audits = item.config.stash[SELECTED]
    part = left_out(item.config) or len(audits.selected) < audits.collected
    return not part or not {"base_logprobs", "policies"}.isdisjoint(item.fixturenames)


def _control_of_base(
    case: Case | None, asked: set[str], *, load: bool
) -> tuple[dict[str, Organism], list[str]]:
    """Return the null control that scores by the base model, by name, and its scores' cache keys.

    Both are empty if it is not `asked` for. With `load` false, the control is run only if an
    earlier run has loaded the base model.
    """
    import pandas as pd

    from rmaudit.runs.null_controls import BASE, of_base, unavailable
    from rmaudit.scores.first_token_logprobs import base_logprobs

    if BASE not in asked or case is None:
        return {}, []
    if case.model.spec.base is None:  # in the same words for all models that share these controls
        return {BASE: unavailable(NoBase("models.yaml names no base of the model"))}, ["none"]
    cache, device = case.options.cache, case.options.asked.device
    try:
        model = case.model.with_weights("log-probabilities of its base are not recorded")
        slots = [model.slot(prompt.asked).digest for prompt in case.prompts]
        about = {"entry": repr(model.spec), "identity": repr(model.identity), "slots": repr(slots)}
        if not load and json_cache.read(cache, BASE_SEEN, about) is None:
            message = "a part of the audits loads no base; run them all once"
            raise NotAsked(message)
        found = {
            prompt.name: base_logprobs(model, prompt, cache=case.options.kept, device=device)
            for prompt in case.prompts
        }
    except RmauditError as error:
        return {BASE: unavailable(error)}, [str(error)]
    json_cache.write(cache, BASE_SEEN, about, True)  # noqa: FBT003  (JSON)
    tokens = model.vocabulary()
    vocabulary = pd.DataFrame({"token_id": list(tokens.ids), "text": list(tokens.texts)})
    organism = of_base(vocabulary, {name: each.by_id for name, each in found.items()})
    return {BASE: organism}, [each.key for each in found.values()]
