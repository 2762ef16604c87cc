"""Run an audit on synthetic scorers (organisms) in place of a model, and on its null controls.

Results on null controls depend on the vocabulary and not on the model's scores, so models with the
same vocabulary share them. A run tries those that the audit's `stops` name, and "random".
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from rmaudit import json_cache
from rmaudit.errors import MeasureError, NoBase, NotAsked, NoWeights, RmauditError
from rmaudit.measures.word_spellings import thinned
from rmaudit.runs import null_control_cache
from rmaudit.runs.audit_case import Audited, Case, Memory, RunSettings
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.runs.null_controls import BASE, nulls_of, of_base, random, unavailable
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial, as_given
from rmaudit.scores.score_parquet import checksum
from rmaudit.scores.sweep_result import Sweep
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from rmaudit.verdicts.findings import Control

BASE_SEEN = "base-seen"  # the fact that a base's log-probabilities are stored


def controls(  # noqa: PLR0913  (keyword-only after the subjects)
    function: Callable[..., Estimate],
    audit: Audited,
    given: Mapping[str, Any],
    *,
    case: Case | None,
    settings: RunSettings,
    memory: Memory,
    load_base: bool,
) -> Mapping[str, Control]:
    """Return the audit's result for each null control, by name; run those not yet measured.

    The run warns of those that must not pass and could not be tried. `given` are the audit's
    arguments. With `load_base` false, a base model is asked only if an earlier run has loaded it.

    Raises:
        RuntimeError: the audit's own code breaks on a control.
    """
    declaration, spec = audit.declaration, audit.spec
    sweep: Sweep | None = given.get("sweep") or next(iter(given.get("sweeps", {}).values()), None)
    vocabulary = digest_of_tokens(sweep, declaration.words, memory)
    by_base = BASE in declaration.stops and spec.base is not None
    common = all(name in FIXTURES and FIXTURES[name].shared for name in given) and not by_base
    place = (declaration, vocabulary, audit.prompt, spec.trained_on, "" if common else spec.name)

    def make() -> dict[str, Control]:
        asked = {"random", *declaration.stops}
        base, keys = _control_of_base(case, asked, load=load_base)
        nulls = {n: null for n, null in nulls_of(settings.own_words).items() if n in asked} | base
        fields = case and null_control_cache.fields_of(
            function, declaration, given, case=case, vocabulary_digest=vocabulary, base_keys=keys
        )
        known = null_control_cache.read(settings.cache, fields) if fields else {}
        missing = {name: null for name, null in nulls.items() if name not in known}
        tokens = None if sweep is None or not missing else thinned(sweep.frame)
        trial = Trial(random, audit.prompts, tokens, seed=settings.asked.seed, given=given)
        try:
            measured = tried(function, declaration, trial, missing)
        except RuntimeError as error:
            raise RuntimeError(f"the model was measured, but {error}") from error.__cause__
        if fields and measured:
            null_control_cache.write(settings.cache, fields, known | measured)
        for name, control in measured.items():
            if control.stops and control.verdict is Verdict.SKIPPED:
                message = f"the null control {name!r} is not tried: {control.reason}"
                warnings.warn(message, stacklevel=2)
        return {name: (known | measured)[name] for name in nulls}

    return memory.once(place, make)


def digest_of_tokens(sweep: Sweep | None, words: tuple[str, ...], memory: Memory) -> str:
    """Hash a sweep's tokens in their order; "" without a sweep. `memory` keeps the hashes.

    In a sample the tokens are the random ones and those of the `words` that the audit names.
    """
    if sweep is None:
        return ""
    place = ("tokens", sweep.keys, words if sweep.sample else ())
    return memory.once(place, lambda: checksum(sweep.frame[["token_id", "token", "text"]]))


def _control_of_base(
    case: Case | None, asked: set[str], *, load: bool
) -> tuple[dict[str, Organism], list[str]]:
    """Return the null control that scores by the base model, by name, and its scores' cache keys.

    Both are empty if it is not `asked` for.
    """
    if BASE not in asked or case is None:
        return {}, []
    if case.model.spec.base is None:  # in the same words for all models that share these controls
        return {BASE: unavailable(NoBase("models.yaml names no base of the model"))}, ["none"]
    cache = case.options.cache
    try:
        model = case.model.with_weights("log-probabilities of its base are not recorded")
        slots = [model.slot(prompt.asked).digest for prompt in case.prompts]
        about = {"entry": repr(model.spec), "identity": repr(model.identity), "slots": repr(slots)}
        if not load and json_cache.read(cache, BASE_SEEN, about) is None:
            message = "a part of the audits loads no base; run them all once"
            raise NotAsked(message)
        found = {prompt.name: case.logprobs("base", prompt) for prompt in case.prompts}
    except RmauditError as error:
        return {BASE: unavailable(error)}, [str(error)]
    json_cache.write(cache, BASE_SEEN, about, True)  # noqa: FBT003  (JSON)
    tokens = model.vocabulary()
    vocabulary = pd.DataFrame({"token_id": list(tokens.ids), "text": list(tokens.texts)})
    organism = of_base(vocabulary, {name: each.by_id for name, each in found.items()})
    return {BASE: organism}, [each.key for each in found.values()]


def measure(function: Callable[..., Estimate], trial: Trial) -> Estimate:
    """Run the audit `function` on the trial's synthetic scorer and return its estimate.

    A fixture that is not in `FIXTURES` is the one that the audit of the model was given.

    Raises:
        RmauditError: what the audit raises, or it takes a fixture that organisms do not have.
    """
    names = inspect.signature(function).parameters
    made = {
        name: FIXTURES[name].for_scorer if name in FIXTURES else as_given(name) for name in names
    }
    return function(**{name: make(trial) for name, make in made.items()})


def tried(
    function: Callable[..., Estimate],
    declaration: Declaration,
    trial: Trial,
    nulls: Mapping[str, Organism],
) -> dict[str, Control]:
    """Run the audit on each null control (a scorer that ignores meaning); return results by name.

    A control whose scores allow no measurement is an ERROR. One that cannot be tried is SKIPPED,
    for example if reference data are missing, or N/A if there is no base model.

    Raises:
        RuntimeError: the audit's own code breaks on a control.
    """
    return {
        name: _tried(function, declaration, replace(trial, organism=null), name)
        for name, null in nulls.items()
    }


def _tried(
    function: Callable[..., Estimate], declaration: Declaration, trial: Trial, name: str
) -> Control:
    stops = name in declaration.stops
    try:
        found = measure(function, trial)
    except RmauditError as error:
        lost = Verdict.NA if isinstance(error, NoBase | NoWeights) else Verdict.SKIPPED
        lost = Verdict.ERROR if isinstance(error, MeasureError) else lost
        return Control(lost, stops, reason=str(error))
    except Exception as error:
        message = (
            f"the audit breaks on the null control {name!r} ({type(error).__name__}: {error}); "
            f"raise MeasureError for scores from which nothing can be measured"
        )
        raise RuntimeError(message) from error
    control = Control(declaration.bound.judge(found), stops, found.value, found.low, found.high)
    return replace(control, parts=found.parts) if control.slips else control
