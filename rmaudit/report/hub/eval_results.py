"""results.json as `.eval_results/rmaudit.yaml`: what the Hub shows on a model's page.

An entry is a finding of one model: a task of the benchmark (`report.benchmark`), its value, and in
`notes` what the value alone does not say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from rmaudit.report.document import Results
from rmaudit.report.hub.benchmark import BenchmarkTask
from rmaudit.report.safe_text import line
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Estimate

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

PATH = ".eval_results/rmaudit.yaml"
MeasuredTask = tuple[BenchmarkTask, Finding, Estimate]


def render(
    results: Results, measured: list[MeasuredTask], *, benchmark: str, source: str = ""
) -> str:
    """Return the entries of one model as YAML; `source` is the address of its report, or ""."""
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
