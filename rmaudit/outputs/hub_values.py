"""Write eval_results.yaml: a run's values in the format that the Hugging Face Hub shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from rmaudit.report.results_document import OWN_LISTS, WHOLE, Results
from rmaudit.report.safe_text import line
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.rounded_numbers import fixed

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry


def render(results: Results) -> str:
    """Return the Hub's `.eval_results`: for each measured model a YAML document of its values.

    Each is to be uploaded to its model's repository, whose page then shows the values. The format
    has the id of a data set in each entry, which no run knows: `OWNER/DATASET` stands in its place.
    https://huggingface.co/docs/hub/eval-results
    """
    from huggingface_hub import eval_result_entries_to_yaml

    text = f"# {line(str(results.verdict))}\n"
    begun = False
    for model in results.models:
        own = [finding for finding in results.findings if finding.model == model.name]
        parts = dict.fromkeys(sweep.scored for sweep in model.sweeps if sweep.scored != WHOLE)
        told = results.run.environment.get(OWN_LISTS)
        remarks = [f"of {part}" for part in parts] + ([f"own lists: {told}"] if told else [])
        measured = [_entry(results, f, f.estimate, remarks) for f in own if f.estimate]
        name = line(model.name)
        if not measured:
            text += f"# {name}: nothing was measured\n"
            continue
        text += "---\n" if begun else ""
        text += f"# {name}: {len(measured)} of {len(own)} findings have a value\n"
        text += yaml.safe_dump(
            eval_result_entries_to_yaml(measured),
            sort_keys=False,
            allow_unicode=True,
            width=float("inf"),
        )
        begun = True
    return text


def _entry(
    results: Results, finding: Finding, estimate: Estimate, remarks: list[str]
) -> EvalResultEntry:
    from huggingface_hub import EvalResultEntry

    run, n = results.run, finding.decimals
    notes = (
        finding.in_words,
        f"95 % interval {fixed(estimate.low, n)} to {fixed(estimate.high, n)} {estimate.unit}",
        f"n = {estimate.n:,}",
        f"must be {finding.bound}",
        f"rmaudit {run.rmaudit}",
        *remarks,
        *run.gaps,
    )
    return EvalResultEntry(
        dataset_id="OWNER/DATASET",
        task_id=re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{finding.audit}-{finding.prompt}").strip("-"),
        value=estimate.value,
        date=run.created,
        notes=line("; ".join(notes)),
    )
