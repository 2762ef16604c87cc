"""Render a model's results in two external formats: `.eval_results` and Every Eval Ever.

The Hub shows `.eval_results/rmaudit.yaml` on a model's page. Every Eval Ever is a shared store of
evaluations of all kinds; its schema is `eval.schema.json` 0.3.0 of
https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import yaml

from rmaudit.report.hub.benchmark_dataset import BenchmarkTask
from rmaudit.report.results_document import Results
from rmaudit.report.safe_text import line
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.findings import Finding

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

PATH = ".eval_results/rmaudit.yaml"
STORE = "evaleval/EEE_datastore"  # a dataset of the Hub, which takes pull requests
_SCHEMA = "0.3.0"  # of Every Eval Ever
MeasuredTask = tuple[BenchmarkTask, Finding, Estimate]


def eval_results(
    results: Results, measured: list[MeasuredTask], *, benchmark: str, source: str = ""
) -> str:
    """Return one model's results as the text of `.eval_results/rmaudit.yaml`, which the Hub shows.

    Each entry is a task of the benchmark (`benchmark_dataset.tasks`): its value, and `notes` that
    explain the value. `source` is the report's URL or "".
    """
    from huggingface_hub import eval_result_entries_to_yaml

    entries = [_entry(results, each, benchmark, source) for each in measured]
    text = yaml.safe_dump(
        eval_result_entries_to_yaml(entries),
        sort_keys=False,
        allow_unicode=True,
        width=float("inf"),
    )
    return f"# {line(str(results.verdict))}\n{text}"


def _entry(
    results: Results, measured: MeasuredTask, benchmark: str, source: str
) -> EvalResultEntry:
    from huggingface_hub import EvalResultEntry

    task, finding, estimate = measured
    run = results.run
    notes = (
        finding.in_words,
        f"95 % interval {estimate.low:.4g} to {estimate.high:.4g} {estimate.unit}",
        f"n = {estimate.n:,}",
        f"must be {finding.bound}",
        f"rmaudit {run.rmaudit}",
        *run.gaps,
    )
    return EvalResultEntry(
        dataset_id=benchmark,
        task_id=task.id,
        value=estimate.value,
        date=run.created,
        source_url=source or None,
        source_name="rmaudit's report" if source else None,
        notes=line("; ".join(notes)),
    )


def every_eval_ever(
    results: Results, measured: list[MeasuredTask], *, model: str, benchmark: str, by: str
) -> tuple[str, str]:
    """Return one model's record for Every Eval Ever: its path in that store, and its JSON.

    `model` is the model's hub id; `by` names who ran the audits. Equal results have the same path.
    """
    run, (owner, _, name) = results.run, model.partition("/")
    stamp = str(int(datetime.fromisoformat(run.created).timestamp()))
    record = {
        "schema_version": _SCHEMA,
        "evaluation_id": f"rmaudit/{model}/{stamp}",
        "evaluation_timestamp": run.created,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "rmaudit",
            "source_type": "evaluation_run",
            "source_organization_name": by,
            "evaluator_relationship": "first_party" if by == owner else "third_party",
            "additional_details": {"verdict": line(str(results.verdict))},
        },
        "eval_library": {
            "name": "rmaudit",
            "version": line(run.rmaudit),
            "additional_details": {line(k): line(v) for k, v in run.environment.items()},
        },
        "model_info": {
            "name": name,
            "id": model,
            "developer": owner,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": [_result(each, benchmark, run.created) for each in measured],
    }
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    unique = UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)
    return f"data/rmaudit/{owner}/{name}/{unique}.json", text


def _result(measured: MeasuredTask, benchmark: str, created: str) -> dict[str, Any]:
    task, finding, estimate = measured
    bound = finding.bound
    return {
        "evaluation_result_id": task.id,
        "evaluation_name": f"rmaudit: {task.audit.name}",
        "evaluation_timestamp": created,
        "source_data": {
            "dataset_name": "rmaudit",
            "source_type": "hf_dataset",
            "hf_repo": benchmark,
            "hf_split": "test",
        },
        "metric_config": {
            "evaluation_description": line(finding.claim.text),
            "metric_id": f"rmaudit.{task.id}",
            "metric_name": task.audit.name,
            "metric_unit": line(estimate.unit),
            "lower_is_better": bound.low is None,
            "score_type": "continuous",
            "min_score": "-Infinity",
            "max_score": "Infinity",
            "additional_details": {"bound": line(str(bound)), "prompt": line(finding.prompt)},
        },
        "score_details": {
            "score": estimate.value,
            "details": {"result": str(finding.result), "effect": str(finding.effect)},
            "uncertainty": {
                "confidence_interval": {
                    "lower": estimate.low,
                    "upper": estimate.high,
                    "confidence_level": 0.95,
                    "method": line(estimate.interval),
                },
                "num_samples": estimate.n,
            },
        },
    }
