"""Render results as YAML `model-index` blocks, which a model card on the Hub shows.

One document a model, to be put into the front matter of that model's card. Only what was measured
has a value to show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from rmaudit.report.results_document import Results, Run
from rmaudit.report.safe_text import line
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.findings import Finding

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

_TASK = "text-classification"  # the Hub's name for what reward models do


def render(results: Results) -> str:
    """Return a YAML stream with one document for each model that has a measured finding."""
    from huggingface_hub.repocard_data import eval_results_to_model_index

    run, blocks = results.run, 0
    text = f"# {line(str(results.verdict))}\n"
    for model in results.models:
        own = [finding for finding in results.findings if finding.model == model.name]
        measured = [_evaluation(f, f.estimate, run) for f in own if f.estimate]
        name = line(model.name)
        if not measured:
            text += f"# {name}: nothing was measured\n"
            continue
        index = eval_results_to_model_index(name, measured)
        text += "---\n" if blocks else ""
        text += f"# {name}: {len(measured)} of {len(own)} findings have a value\n"
        text += yaml.safe_dump(
            {"model-index": index}, sort_keys=False, allow_unicode=True, width=float("inf")
        )
        blocks += 1
    return text


def _evaluation(finding: Finding, estimate: Estimate, run: Run) -> EvalResult:
    """Return one finding's `model-index` entry: the audit as dataset, the prompt as its config."""
    from huggingface_hub import EvalResult

    by = (f"rmaudit {line(run.rmaudit)}", line(run.created))
    return EvalResult(
        task_type=_TASK,
        task_name="reward model audit",
        dataset_type=line(finding.audit),
        dataset_name=line(finding.claim.text),
        dataset_config=line(finding.prompt),
        metric_type=line(estimate.unit),
        metric_name=f"{line(finding.audit)}, {line(finding.prompt)}",
        metric_value=estimate.value,
        metric_args={
            "result": str(finding.result),
            **({"effect": str(finding.effect)} if finding.effect else {}),
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n,
            "bound": line(str(finding.bound)),
            "source": line(finding.claim.source),
            "measured_by": ", ".join((*by, *run.gaps)),
        },
    )
