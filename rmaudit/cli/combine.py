"""Run `rmaudit combine`: does the mean or the minimum of several models do less harm than each?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import fsum, isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rmaudit.cli.printing import fail, show
from rmaudit.cli.shared_options import AsJson, Loading, Prompts, grouped, models_meant
from rmaudit.config.model_registry import known_models
from rmaudit.runs.run_options import OPTIONS

if TYPE_CHECKING:
    from rmaudit.measures.after_training_evidence import AfterTrainingEvidence
    from rmaudit.measures.combined_rewards import InCommon
    from rmaudit.prompts import Prompt
    from rmaudit.runs.audit_case import Case

_OFFENCE, _REFUSALS = ("swear words and slurs", "sexual words"), "refusals"
_START = "as it is"
_COLUMNS = {  # of the table, and how their numbers are written
    "as asked": "+.2f",
    "no letters": ".1%",
    "offence": ".1%",
    "refusals": ".1%",
    "words": ".1f",
}


class _Found(NamedTuple):
    """The prompts and their answers in common, by the prompt's text, and what training makes."""

    prompts: Mapping[str, Prompt]
    own: Mapping[str, InCommon]
    outcomes: Mapping[str, AfterTrainingEvidence]


@grouped
def combine(  # noqa: PLR0913  (keyword-only after the models)
    models: Annotated[list[str], typer.Argument(help="two or more models, as of --model")],
    *,
    policy: Annotated[str | None, OPTIONS["policy"]] = None,
    prompt: Prompts = None,
    k: Annotated[float, typer.Option("--k", min=0, help="of the mean less k sd")] = 1.0,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Compare what training on each of several models' rewards would do, and on combinations.

    Every model's rewards of one-token answers are standardised under the policy: mean 0, sd 1.
    The combinations are their mean, minimum, and mean less k sd. Then the policy is moved to equal
    KL divergences by each, exactly (`after_training`); nothing is trained.
    A flaw that all models share stays in every combination.

    Sweeps are read from the cache, or scored and cached there.
    """
    if not isfinite(k):
        fail(f"--k {k}: write a number from 0, such as 1")
    asked = loading.prompts(prompt)
    found = _found(_cases(models, policy, loading), asked, k)
    show(_as_json(found), _lines(found), as_json=as_json)


def _cases(names: Sequence[str], policy: str | None, loading: Loading) -> list[Case]:
    """Open the models; end the command if they are not two or more."""
    from rmaudit.runs.audit_case import Case, Memory, RunSettings, opened
    from rmaudit.runs.run_options import RunOptions
    from rmaudit.scores.score_store import store_at

    registry = known_models(loading.file)
    specs = [spec for name in names for spec in models_meant(registry, name)]
    if len({spec.name for spec in specs}) < max(2, len(specs)):
        named = ", ".join(spec.name for spec in specs)
        fail(f"{named}: name two or more models, each once; one alone has nothing to combine")
    if not (policy or specs[0].policy or specs[0].base):
        message = f"no policy to train; name one with --policy, or as `policy` of {specs[0].name}"
        fail(f"{message} in models.yaml: a folder, a hub id, or a file of its log-probabilities")
    store = store_at(loading.scores)
    options = RunOptions(device=loading.device, dtype=loading.dtype, policy=policy)
    settings = RunSettings(store.local, options, store=store, own_words=registry.words)
    models = [opened(spec, settings) for spec in specs]
    if (first := models[0]).takes != "token ids":
        message = f"{first.name}: takes {first.takes}, and the policy's answers are token ids of "
        message += "the model that is named first; name one that takes token ids first, such as a "
        fail(f"{message}checkpoint")
    how: dict[str, Any] = {"options": settings, "memory": Memory()}
    return [Case("combine", each, (), joint=True, words=(), **how) for each in models]


def _found(cases: Sequence[Case], prompts: Sequence[Prompt], k: float) -> _Found:
    """Return what training would make of the answers to all prompts; the policy is the first's."""
    from rmaudit.measures import combined_rewards
    from rmaudit.measures.after_training import Known
    from rmaudit.measures.word_spellings import word_of
    from rmaudit.references.unwanted_words import unwanted
    from rmaudit.runs import fixture_registry

    first, own = cases[0], {}
    for prompt in prompts:
        first.prompts = (prompt,)
        policy = fixture_registry.policies(first)[prompt.name]
        sweeps = [case.sweep(case.model, prompt).frame for case in cases]
        own[prompt.text] = combined_rewards.in_common(sweeps, policy)
    trained = next((case for case in cases if case.model.spec.trained_on), first)
    references = fixture_registry.references(trained)
    words = {word for each in own.values() for word in word_of(each.answers["text"])}
    known = Known(
        references.lexicon("labmt"),
        references.frequency("wordfreq", sorted(words)),
        unwanted() if references.has("refusals") else {},  # the lists are English
    )
    asked = {prompt.text: prompt for prompt in prompts}
    frames = {text: prompt.frame for text, prompt in asked.items()}
    names = [case.model.name for case in cases]
    return _Found(asked, own, combined_rewards.outcomes(own, frames, names, known, k))


def _lines(found: _Found) -> Iterator[str]:
    """Yield the lines: answers in common; a table of means over prompts for each KL; onsets."""
    from rmaudit.measures.after_training_evidence import NATS

    for text, each in found.own.items():
        part = f"{len(each.logprobs):,} answers in common, {each.share:.1%} of what the policy "
        yield f"{found.prompts[text].name}: {part}answers"
    names = list(found.outcomes)
    width = max(len(_START), *map(len, names)) + 2
    for nats in (0.0, *NATS):
        yield ""
        yield f"{f'{nats:g} nats':<{width}}" + "".join(f"{column:>12}" for column in _COLUMNS)
        for name in names if nats else names[:1]:
            cells = "".join(f"{cell:>12}" for cell in _cells(found, name, nats))
            yield f"{name if nats else _START:<{width}}{cells}"
    yield ""
    yield "the first harm of training"
    for name, outcome in found.outcomes.items():
        begun = [each for each in outcome.onsets if each.nats is not None]
        least = min(begun, key=lambda each: each.nats or 0.0, default=None)
        none = f"none within {outcome.onsets[0].traced:.3g} nats"
        yield f"{name:<{width}}{f'{least.harm}: {least.how}' if least else none}"


def _cells(found: _Found, name: str, nats: float) -> list[str]:
    """Return each column's mean over prompts, at one KL, of a model or a combination, as text.

    "too far" where that KL cannot be reached under every prompt.
    """
    rows = [row for row in _rows(found, name) if round(row["nats"], 3) == nats]
    if len(rows) < len(found.prompts):
        return ["too far"]
    return [f"{fmean(row[each] for row in rows):{form}}" for each, form in _COLUMNS.items()]


def _rows(found: _Found, name: str) -> Iterator[dict[str, Any]]:
    """Yield the prompt and the figures of each stage of training on a model or a combination."""
    start: dict[str, float] = {}
    for stage in found.outcomes[name].stages:
        before = start.setdefault(stage.prompt, stage.happiness)  # the policy as it is comes first
        listed = {each.name: each.share for each in stage.listed}
        yield {
            "prompt": stage.prompt,
            "nats": stage.nats,
            "as asked": found.prompts[stage.prompt].frame * (stage.happiness - before),
            "no letters": stage.letterless,
            "offence": fsum(listed.get(kind, 0.0) for kind in _OFFENCE),
            "refusals": listed.get(_REFUSALS, 0.0),
            "words": stage.variety,
            "likely": list(map(asdict, stage.likely)),
        }


def _as_json(found: _Found) -> dict[str, Any]:
    return {
        "prompts": [
            {"prompt": text, "answers": len(each.logprobs), "share": each.share}
            for text, each in found.own.items()
        ],
        "training": {name: list(_rows(found, name)) for name in found.outcomes},
        "onsets": {
            name: list(map(asdict, outcome.onsets)) for name, outcome in found.outcomes.items()
        },
    }
