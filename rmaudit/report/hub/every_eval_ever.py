"""results.json as a record of Every Eval Ever, a shared store of evaluations of all kinds.

Its schema: `eval.schema.json` 0.3.0 of https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any
from uuid import UUID

from rmaudit.report.document import Results
from rmaudit.report.hub.eval_results import MeasuredTask
from rmaudit.report.safe_text import line

SCHEMA = "0.3.0"
STORE = "evaleval/EEE_datastore"  # a dataset of the Hub, which takes pull requests


def render(
    results: Results, measured: list[MeasuredTask], *, model: str, benchmark: str, by: str
) -> tuple[str, str]:
    """Return the path of one model's record in the store, and the record.

    `model` is the model's hub id, `by` who ran the audits. The same results have the same path.
    """
    run, (owner, _, name) = results.run, model.partition("/")
    stamp = str(int(datetime.fromisoformat(run.created).timestamp()))
    record = {
        "schema_version": SCHEMA,
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
