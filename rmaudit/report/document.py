"""results.json: everything a report shows, as plain values. docs/results.md describes it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ResultsError
from rmaudit.report import codec, packing
from rmaudit.report.comparison import compared
from rmaudit.report.schema import fault
from rmaudit.verdicts.findings import Finding

SCHEMA = "rmaudit.results/3"
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
    provenance: Mapping[str, Any]
    whole: bool = True  # every token's score is kept, rather than a summary alone


@dataclass(frozen=True, slots=True)
class Run:
    """What is true of the whole run."""

    created: str  # UTC, ISO 8601
    version: str
    command: str
    seed: int
    environment: Mapping[str, str]


def collect(
    run: Run,
    specs: Sequence[ModelSpec],
    sweeps: Iterable[SweepRecord],
    findings: Iterable[Finding],
) -> dict[str, Any]:
    """The results as one dict of JSON values (schema `SCHEMA`)."""
    by_model: dict[str, list[dict[str, Any]]] = {spec.name: [] for spec in specs}
    vocabularies: dict[str, dict[str, Any]] = {}
    frames: dict[str, dict[str, pd.DataFrame]] = {}
    for record in sweeps:
        sweep = _sweep(record)
        if record.whole:
            sweep["vocabulary"] = packing.share(record.frame, vocabularies)
            sweep["scores"] = packing.scores(record.frame)
        by_model[record.model].append(sweep)
        frames.setdefault(record.prompt, {})[record.model] = record.frame
    return {
        "schema": SCHEMA,
        "created": run.created,
        "rmaudit": run.version,
        "command": run.command,
        "seed": run.seed,
        "environment": dict(run.environment),
        "models": [_model(spec, by_model[spec.name]) for spec in specs],
        "vocabularies": vocabularies,
        "comparison": compared(frames),
        "findings": [as_json(finding) for finding in findings],
    }


def as_json(finding: Finding) -> dict[str, Any]:
    """A finding as JSON values."""
    values: dict[str, Any] = json.loads(codec.encode(finding))
    return values


def findings_of(results: Mapping[str, Any]) -> list[Finding]:
    """The findings of a results dict.

    Raises:
        ResultsError: one is not a finding.
    """
    found = []
    for i, values in enumerate(results["findings"]):
        try:
            found.append(codec.typed(Finding, values))
        except ResultsError as error:
            raise ResultsError(f"findings[{i}].{error}") from error
    return found


def write(results: Mapping[str, Any], path: Path) -> None:
    """Write as UTF-8 JSON; a NaN or an infinity is an error, not a value."""
    text = json.dumps(results, indent=1, ensure_ascii=True, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """The results that a run wrote, checked against docs/results.schema.json.

    Raises:
        ResultsError: there is no such file, or it is not JSON, of another schema, or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read ({_why(error)}); give the results.json of a run"
        raise ResultsError(message) from error
    try:
        results = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        message = f"{path}: not JSON ({error}); run the audits again, or give another results.json"
        raise ResultsError(message) from error
    found = results.get("schema") if isinstance(results, dict) else None
    if found != SCHEMA:
        message = (
            f"{path}: its schema is {json.dumps(found)[:60]}, allowed: {json.dumps(SCHEMA)}; "
            "run the audits again, or use the rmaudit that wrote it"
        )
        raise ResultsError(message)
    if wrong := fault(results):
        message = f"{path}: {wrong}; run the audits again, or use the rmaudit that wrote it"
        raise ResultsError(message)
    try:
        findings_of(results)
    except ResultsError as error:
        message = f"{path}: {error}; run the audits again, or use the rmaudit that wrote it"
        raise ResultsError(message) from error
    try:
        packing.check(results)
    except ResultsError as error:
        raise ResultsError(f"{path}: {error}") from error
    return dict(results)


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "not UTF-8"


def _finite(written: str) -> float:
    """JSON has no NaN and no infinities, though Python reads them, and 1e999 as one."""
    number = float(written)
    if not math.isfinite(number):
        message = f"{written} is no finite number"
        raise ValueError(message)
    return number


def _model(spec: ModelSpec, sweeps: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": spec.name,
        "source": spec.source,
        "developer": spec.developer,
        "base_model": spec.base_model,
        "parameters_b": spec.parameters_b,
        "rewardbench_rank": spec.rewardbench_rank,
        "notes": list(spec.notes),
        "sweeps": sweeps,
    }


def _sweep(record: SweepRecord) -> dict[str, Any]:
    scored = record.frame[record.frame["score"].notna()]
    scores = scored["score"].to_numpy(float)
    mean, sd = float(scores.mean()), float(scores.std())
    histogram, edges = np.histogram(scores, bins=_BINS)
    skewness = float(stats.skew(scores)) if sd else 0.0
    ranked = scored.sort_values("score", ascending=False, kind="stable")
    ranked_up = scored.sort_values("score", kind="stable")
    return {
        "key": record.key,
        "prompt": record.prompt,
        "prompt_text": record.prompt_text,
        "n": len(scored),
        "mean": mean,
        "sd": sd,
        "skewness": skewness,
        "histogram": {"edges": edges.tolist(), "counts": histogram.tolist()},
        "top": _tokens(ranked.head(_EXTREMES), mean, sd),
        "bottom": _tokens(ranked_up.head(_EXTREMES), mean, sd),
        "provenance": {key: _plain(value) for key, value in record.provenance.items()},
    }


def _tokens(rows: pd.DataFrame, mean: float, sd: float) -> list[dict[str, Any]]:
    return [
        {
            "token_id": int(token_id),
            "token": token,
            "text": text,
            "score": float(score),
            "z": (float(score) - mean) / sd if sd else 0.0,
        }
        for token_id, token, text, score in zip(
            rows["token_id"], rows["token"], rows["text"], rows["score"], strict=True
        )
    ]


def _plain(value: object) -> str | int | float:
    """A JSON value; anything else as its text."""
    if isinstance(value, bool | str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
