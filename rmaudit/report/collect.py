"""A run's results, collected: its models, their sweeps with summaries, and its findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from rmaudit.config.registry import ModelSpec
from rmaudit.report import packing
from rmaudit.report.comparison import compared
from rmaudit.report.document import AuditedModel, Histogram, Results, Run, SweepSummary, Token
from rmaudit.report.packing import Vocabulary
from rmaudit.verdicts.findings import Finding

_EXTREMES = 25  # tokens shown at each end
_BINS = 80


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """A sweep as a report needs it: read back from the store by its key."""

    model: str
    prompt: str
    prompt_text: str
    key: str
    frame: pd.DataFrame
    provenance: Mapping[str, object]
    whole: bool = True  # every token's score is kept, rather than a summary alone


def collect(
    run: Run,
    specs: Sequence[ModelSpec],
    sweeps: Iterable[SweepRecord],
    findings: Iterable[Finding],
) -> Results:
    """The results of a run."""
    by_model: dict[str, list[SweepSummary]] = {spec.name: [] for spec in specs}
    vocabularies: dict[str, Vocabulary] = {}
    frames: dict[str, dict[str, pd.DataFrame]] = {}
    for record in sweeps:
        by_model[record.model].append(_summary(record, vocabularies))
        frames.setdefault(record.prompt, {})[record.model] = packing.spelled(record.frame)
    return Results(
        schema="rmaudit.results/3",
        run=run,
        models=tuple(_model(spec, by_model[spec.name]) for spec in specs),
        vocabularies=vocabularies,
        comparison=tuple(compared(frames)),
        findings=tuple(findings),
    )


def _model(spec: ModelSpec, sweeps: Iterable[SweepSummary]) -> AuditedModel:
    return AuditedModel(
        name=spec.name,
        source=spec.source,
        developer=spec.developer,
        base_model=spec.base_model,
        parameters_b=spec.parameters_b,
        rewardbench_rank=spec.rewardbench_rank,
        notes=tuple(spec.notes),
        sweeps=tuple(sweeps),
    )


def _summary(record: SweepRecord, vocabularies: dict[str, Vocabulary]) -> SweepSummary:
    """The summary of a sweep; the rows of a whole one go to `vocabularies`."""
    scored = record.frame[record.frame["score"].notna()]
    scores = scored["score"].to_numpy(float)
    mean, sd = float(scores.mean()), float(scores.std())
    counts, edges = np.histogram(scores, bins=_BINS)
    ranked = scored.sort_values("score", ascending=False, kind="stable")
    ranked_up = scored.sort_values("score", kind="stable")
    return SweepSummary(
        key=record.key,
        prompt=record.prompt,
        prompt_text=record.prompt_text,
        n=len(scored),
        mean=mean,
        sd=sd,
        skewness=float(stats.skew(scores)) if sd else 0.0,
        histogram=Histogram(tuple(edges.tolist()), tuple(counts.tolist())),
        top=_tokens(ranked.head(_EXTREMES), mean, sd),
        bottom=_tokens(ranked_up.head(_EXTREMES), mean, sd),
        provenance={key: _plain(value) for key, value in record.provenance.items()},
        vocabulary=packing.share(record.frame, vocabularies) if record.whole else None,
        scores=packing.scores(record.frame) if record.whole else None,
    )


def _tokens(rows: pd.DataFrame, mean: float, sd: float) -> tuple[Token, ...]:
    columns = (rows[name] for name in ("token_id", "token", "text", "score"))
    return tuple(
        Token(int(token_id), token, text, float(score), (float(score) - mean) / sd if sd else 0.0)
        for token_id, token, text, score in zip(*columns, strict=True)
    )


def _plain(value: object) -> str | int | float:
    """A JSON value; anything else as its text."""
    if isinstance(value, bool | str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
