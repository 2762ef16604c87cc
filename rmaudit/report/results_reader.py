"""Read results.json strictly: right types, every key, and no contradictions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.errors import ResultsError
from rmaudit.report import json_codec, packed_scores, replay
from rmaudit.report.json_codec import quoted
from rmaudit.report.results_document import (
    SCHEMA,
    AuditedModel,
    Comparison,
    Earlier,
    Results,
    SweepSummary,
)
from rmaudit.verdicts.decision import LOST
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.findings import Claim, Figure, Finding, Judgement

_EARLIER = "rmaudit.results/14"
_WAY_OUT = "run the audits again, or use the rmaudit that wrote it"
_CLOSE = 1e-9  # relative: the same sums, added up in another order
_CREATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read(path: Path) -> Results:
    """Read a results.json; raise unless it is complete and free of contradictions.

    Raises:
        ResultsError: there is no such file, or it is not JSON, of another schema, or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # a path with a NUL, or bytes that are not UTF-8
        why = error.strerror if isinstance(error, OSError) else None
        why = "not UTF-8" if isinstance(error, UnicodeDecodeError) else why or str(error)
        message = f"{path}: cannot be read ({why}); give the results.json of a run"
        raise ResultsError(message) from error
    try:
        found = json_codec.parsed(text)
    except ResultsError as error:
        message = f"{path}: {error}; run the audits again, or give another results.json"
        raise ResultsError(message) from error
    named = found.get("schema") if isinstance(found, dict) else None
    if named is None:
        message = f"{path}: this is not the results.json of a run, for it has no `schema`; give the"
        raise ResultsError(f"{message} results.json that `pytest audits` wrote")
    if named == _EARLIER:
        _bring_up_to_date(found)
    elif named != SCHEMA:
        message = f"{path}: its schema is {quoted(named)}, allowed: {json.dumps(SCHEMA)} and"
        raise ResultsError(f"{message} {json.dumps(_EARLIER)}; {_WAY_OUT}")
    try:
        results = json_codec.typed(Results, found)
        if named == _EARLIER:
            results = _with_todays_verdict(results)
        wrong = contradiction(results)
    except ResultsError as error:
        wrong = str(error)
    if wrong:
        raise ResultsError(f"{path}: {wrong}; {_WAY_OUT}")
    return _in_todays_words(results)


def _bring_up_to_date(found: dict[str, Any]) -> None:
    """Add to a file of the earlier schema what it has not: open accepted gates, onsets of harm."""
    found.get("verdict", {}).setdefault("accepted_open", 0)
    for each in (*(found.get("findings") or ()), *(found.get("figures") or ())):
        evidence = (each["estimate"] or {}).get("evidence") or {}
        if evidence.get("kind") in ("after_training", "community_odds"):
            evidence.setdefault("onsets", [])
    found["schema"] = SCHEMA


def _with_todays_verdict(results: Results) -> Results:
    """Return the results with today's reasons for the verdict, unless its outcome differs."""
    again = replay.as_judged(results).verdict
    return replace(results, verdict=again) if again.outcome is results.verdict.outcome else results


def _in_todays_words(results: Results) -> Results:
    """Return the results with today's words for why findings are what they are."""
    again = replay.as_judged(results).findings
    reasons = [follows.judgement.reason for follows in again]
    findings = tuple(
        replace(finding, judgement=replace(finding.judgement, reason=reason))
        for finding, reason in zip(results.findings, reasons, strict=True)
    )
    return replace(results, findings=findings)


def contradiction(results: Results) -> str:
    """Return the first contradiction in the results, or ""; raise if stored scores do not fit.

    It names the place, the value and the allowed values.

    Raises:
        ResultsError: a sweep's scores or its vocabulary are damaged, or differ from its summary.
    """
    found = next(_contradictions(results), "")
    if not found:
        _check_scores(results)
    return found


def _contradictions(results: Results) -> Iterator[str]:
    run = results.run
    if not _CREATED.fullmatch(run.created):
        yield f"run.created is {quoted(run.created)}, allowed: such as 2030-01-31T10:50:00Z"
    if run.finished > run.selected or run.selected > run.collected:
        counts = f"{run.collected} collected, {run.selected} selected, {run.finished} finished"
        yield f"run has {counts}, allowed: no more finished than selected than collected"
    names = [model.name for model in results.models]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        yield f"models: two are named {quoted(twice[0])}, allowed: one of a name"
    for i, model in enumerate(results.models):
        for j, sweep in enumerate(model.sweeps):
            yield from _sweep_faults(sweep, f"models[{i}].sweeps[{j}]", results)
    for i, comparison in enumerate(results.comparison):
        yield from _comparison_faults(comparison, f"comparison[{i}]", names)
    sources = {model.name: model for model in results.models}
    for i, finding in enumerate(results.findings):
        yield from _claim_faults(finding, f"findings[{i}]", sources)
        yield from _measured_faults(finding, f"findings[{i}]")
    yield from _figure_faults(results.figures, sources)
    yield from _blessed_faults(results, sources)
    yield from _replay_faults(results)


def _sweep_faults(sweep: SweepSummary, where: str, results: Results) -> Iterator[str]:
    counts, edges = len(sweep.histogram.counts), sweep.histogram.edges
    if len(edges) != counts + 1:
        found = f"{len(edges)} edges and {counts} counts"
        yield f"{where}.histogram has {found}, allowed: one edge more"
    if any(right <= left for left, right in pairwise(edges)):
        yield f"{where}.histogram.edges do not rise, allowed: each above the one before"
    if not sum(sweep.histogram.counts):
        yield f"{where}.histogram.counts are all 0, allowed: the counts of {sweep.n} tokens"
    if (sweep.vocabulary is None) != (sweep.scores is None):
        has, lacks = ("vocabulary", "scores") if sweep.vocabulary else ("scores", "vocabulary")
        yield f'{where} has "{has}", but no "{lacks}"'
    if sweep.vocabulary is not None and sweep.vocabulary not in results.vocabularies:
        yield f"{where}.vocabulary is {quoted(sweep.vocabulary)}, allowed: one of `vocabularies`"


def _comparison_faults(comparison: Comparison, where: str, names: list[str]) -> Iterator[str]:
    n = len(comparison.models)
    if unknown := [name for name in comparison.models if name not in names]:
        yield f"{where}.models has {quoted(unknown[0])}, allowed: {_quoted_list(names)}"
    if len(set(comparison.models)) < max(n, 2):
        yield f"{where}.models are {n}, allowed: two or more, each once"
    for key, rows in (("tau", comparison.tau), ("places", comparison.places)):
        if len(rows) != n:
            yield f"{where}.{key} has {len(rows)} rows, allowed: {n}, one for each model"
    lengths = {len(row) for row in (*comparison.tau, *(r.ranks for r in comparison.ranked))}
    if lengths - {n}:
        yield f"{where} has rows of {min(lengths - {n})} numbers, allowed: {n}, one for each model"


def _blessed_faults(results: Results, models: dict[str, AuditedModel]) -> Iterator[str]:
    """Yield contradictions about blessed (approved) releases."""
    for i, blessed in enumerate(results.blessed):
        if blessed.model not in models:
            allowed = _quoted_list([*models])
            yield f"blessed[{i}].model is {quoted(blessed.model)}, allowed: {allowed}"
        for name in ("created", "on"):
            if not _DAY.match(getattr(blessed, name)):
                found = quoted(getattr(blessed, name))
                yield f"blessed[{i}].{name} is {found}, allowed: such as 2030-01-31"
        for j, earlier in enumerate(blessed.findings):
            yield from _earlier_faults(earlier, f"blessed[{i}].findings[{j}]")


def _earlier_faults(earlier: Earlier, where: str) -> Iterator[str]:
    """Yield contradictions in the numbers of a blessed release's finding."""
    numbers = [n for n in (earlier.low, earlier.value, earlier.high) if n is not None]
    if len(numbers) != (0 if earlier.result is Result.NOT_RUN else 3):
        yield f"{where} is {earlier.result}, allowed: three numbers, or none if it was not run"
    yield from _order_faults(numbers, where)
    if (between := earlier.difference) is not None:
        ends = [between.low, between.value, between.high]
        yield from _order_faults(ends, f"{where}.difference", wrong=not numbers)


def _claim_faults(finding: Finding, where: str, models: dict[str, AuditedModel]) -> Iterator[str]:
    claim, judged = finding.claim, finding.judgement
    yield from _model_faults(claim, f"{where}.claim", models)
    for key in ("bound", "severity"):
        if getattr(judged, key) != getattr(claim, key) and not getattr(judged, f"{key}_by"):
            found = quoted(str(getattr(judged, key)))
            allowed = f"the claim's, or another with the place that sets it in {key}_by"
            yield f"{where}.judgement.{key} is {found}, allowed: {allowed}"


def _figure_faults(figures: Sequence[Figure], models: dict[str, AuditedModel]) -> Iterator[str]:
    for i, figure in enumerate(figures):
        yield from _model_faults(figure, f"figures[{i}]", models)
        if (figure.estimate is None) != bool(figure.reason):
            yield f"figures[{i}] has a reason and an estimate, or neither, allowed: one of them"


def _model_faults(of: Claim | Figure, where: str, models: dict[str, AuditedModel]) -> Iterator[str]:
    if of.model not in models:
        yield f"{where}.model is {quoted(of.model)}, allowed: {_quoted_list([*models])}"
    elif of.model_source != models[of.model].source:
        allowed = quoted(models[of.model].source)
        yield f"{where}.model_source is {quoted(of.model_source)}, allowed: {allowed}"


def _measured_faults(finding: Finding, where: str) -> Iterator[str]:
    """Yield contradictions between an estimate or a null control and what stands beside it."""
    estimate, bound = finding.estimate, finding.judgement.bound
    if estimate is not None and {estimate.unit} != {bound.unit, finding.claim.bound.unit}:
        allowed = quoted(finding.claim.bound.unit)
        yield f"{where}.estimate.unit is {quoted(estimate.unit)}, allowed: the bounds', {allowed}"
    if estimate is not None and finding.reason:
        yield f'{where}.reason is {quoted(finding.reason)}, allowed: "", for it was measured'
    for name, control in finding.controls.items():
        place, lost = f"{where}.controls[{quoted(name)}]", control.verdict in LOST
        numbers = [n for n in (control.low, control.value, control.high) if n is not None]
        if bool(control.reason) != lost or len(numbers) != (0 if lost else 3):
            yield f"{place} is {control.verdict}, allowed: three numbers, or none and a reason"
        yield from _order_faults(numbers, place)


def _order_faults(numbers: list[float], where: str, *, wrong: bool = False) -> Iterator[str]:
    if wrong or numbers != sorted(numbers):
        yield f"{where} has low, value, high = {numbers}, allowed: numbers that rise"


def _replay_faults(results: Results) -> Iterator[str]:
    """Yield where a replay of the findings differs: what does not follow from what was measured."""
    again = replay.as_judged(results)
    pairs = list(enumerate(zip(results.findings, again.findings, strict=True)))
    for i, (finding, follows) in pairs:
        for name, control in follows.controls.items():
            if (found := finding.controls[name].verdict) is not control.verdict:
                place = f"findings[{i}].controls[{quoted(name)}].verdict"
                yield f"{place} is {found}, allowed: {control.verdict}, by the bound"
    # What makes others wrong is named first: a p those of Holm, a regression what blocks.
    keys = ["p", "detectable", "regressed", *(field.name for field in fields(Judgement))]
    for key, (i, (finding, follows)) in product(keys, pairs):
        said, allowed = getattr(finding.judgement, key), getattr(follows.judgement, key)
        if key == "reason":  # its words may be those of another release
            said, allowed = bool(said), bool(allowed)
        if not _same_value(said, allowed):
            what = f"allowed: {quoted(str(allowed))}, which follows from the estimate"
            yield f"findings[{i}].judgement.{key} is {quoted(str(said))}, {what} and the bound"
    if results.verdict != again.verdict:
        yield f"verdict is {quoted(str(results.verdict))}, allowed: {quoted(str(again.verdict))}"


def _same_value(found: object, expected: object) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-300)
    return found == expected


def _check_scores(results: Results) -> None:
    """Raise if a sweep's summary (n, mean, sd, listed tokens) differs from its stored scores."""
    known: dict[str, pd.DataFrame] = {}
    for model in results.models:
        for sweep in model.sweeps:
            if sweep.vocabulary is None:
                continue
            if sweep.vocabulary not in known:
                known[sweep.vocabulary] = packed_scores.rows(results.vocabularies, sweep.vocabulary)
            if wrong := _wrong_summaries(sweep, known[sweep.vocabulary]):
                what = f"{model.name}, {packed_scores.where(sweep)}: {', '.join(wrong)}"
                raise ResultsError(f"{what} and the scores do not agree; {packed_scores.REDO}")


def _wrong_summaries(sweep: SweepSummary, rows: pd.DataFrame) -> list[str]:
    scores, ids = packed_scores.scores_of(sweep, len(rows)), rows["token_id"].to_numpy()
    scored = ~np.isnan(scores)
    values = scores[scored].astype(float)
    if not len(values) or not np.isfinite(values).all():
        return ["n"]
    wrong = ["n"] if sweep.n != len(values) else []
    found = {"mean": float(values.mean()), "sd": float(values.std())}
    far = _CLOSE * float(np.abs(values).max())
    wrong += [name for name, v in found.items() if abs(getattr(sweep, name) - v) > far]
    by_id = dict(zip(ids[scored].tolist(), values.tolist(), strict=True))
    wrong += [
        end
        for end in ("top", "bottom")
        if any(by_id.get(token.token_id) != token.score for token in getattr(sweep, end))
    ]
    return wrong


def _quoted_list(names: list[str]) -> str:
    return ", ".join(map(quoted, names)) or "none, as there are no models"
