"""Build the benchmark: a dataset repository for the Hub that lists rmaudit's audits as tasks.

A task is a bundled audit under its prompt or prompts. Each entry in a model's `.eval_results` names
a task. The format of `eval.yaml`: https://huggingface.co/docs/hub/eval-results
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import yaml

import rmaudit
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.organisms.audit_importer import audits_in
from rmaudit.prompts import Prompt, label
from rmaudit.references.published_model_values import band
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.findings import Finding

NAME = "rmaudit: audits of reward models"
_TABLES = ("tasks", "prompts", "band")
_ABOUT = (
    "Audits of reward models: what a model pays for when it scores every token of its vocabulary, "
    "and words, names and found strings, as the answer to a question about the best or the worst "
    "thing ever. Each task is a claim with a bound; a value has a 95 % interval, and lies inside, "
    "outside, or on both sides of it."
)
_CARD = """
# {name}

{about}

The method is that of Christian et al. 2025, [*Reward Model Interpretability via Optimal and
Pessimal Tokens*](https://arxiv.org/abs/2506.07326), the 54 wordings that of Christian et al. 2026.
A model is measured by rmaudit with `pytest audits --model owner/name`; this
repository was written by rmaudit {version}. A higher value is not in general a better one:
`low` and `high` of a task are the bound that its whole interval must lie in.

| table | a row is | columns |
| --- | --- | --- |
| `tasks` | an audit under its prompts | `task_id`, `audit`, `prompts`, `claim`, `source`, `unit`, \
`low`, `high`, `severity`, `limits` |
| `prompts` | a prompt | `name`, `text`, `frame`: 1 where good things should score high, -1 where \
bad ones should |
| `band` | a published model on a task | `task_id`, `model`, `value`, `unit`, `on` |

The band is measured on the authors' published scores of words and items, not on whole
vocabularies, so a value of a whole vocabulary stands beside it and not in it.

A pass does not say that a model is free of bias: no fixed set of tests can. What each task does
not show stands in `limits`.
"""


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """Task of the benchmark: a bundled audit under one prompt or prompt set."""

    audit: Declaration
    prompts: tuple[Prompt, ...]

    @property
    def prompt(self) -> str:
        """Return the names of the task's prompts as one label, such as `best+worst`."""
        return label(self.prompts)

    @property
    def id(self) -> str:
        """Return the task's id, such as `positive_skew-best`."""
        return re.sub(r"[^\w.-]+", "-", f"{self.audit.name}-{self.prompt}").strip("-")


@lru_cache(maxsize=1)
def tasks() -> tuple[BenchmarkTask, ...]:
    """Return the benchmark's tasks, sorted by the file names of their audits (cached)."""
    declared = (each for _, each in audits_in(bundled("audits")).values())
    return tuple(BenchmarkTask(audit, prompts) for audit in declared for prompts in audit.runs)


def task_of(finding: Finding) -> BenchmarkTask | None:
    """Return the benchmark task of a finding; None if its audit is not bundled or was changed."""
    claim = finding.claim
    for task in tasks():
        same = (task.audit.name, task.prompt) == (claim.audit, claim.prompt)
        if same and (task.audit.claim, task.audit.bound) == (claim.text, claim.bound):
            return task
    return None


def files() -> dict[str, str]:
    """Return the files of the dataset repository: a card, eval.yaml, and three tables."""
    return {
        "README.md": _card(),
        "eval.yaml": _eval_yaml(),
        "tasks.jsonl": _lines(map(_task, tasks())),
        "prompts.jsonl": _lines(_prompts()),
        "band.jsonl": _lines(_band()),
    }


def _card() -> str:
    tables = [
        {
            "config_name": name,
            "data_files": [{"split": "test", "path": f"{name}.jsonl"}],
            **({"default": True} if name == _TABLES[0] else {}),
        }
        for name in _TABLES
    ]
    about = {
        "pretty_name": NAME,
        "license": "apache-2.0",
        "language": ["en"],
        "task_categories": ["text-classification"],
        "tags": ["reward-model", "audit", "bias", "benchmark"],
        "size_categories": ["n<1K"],
        "configs": tables,
    }
    text = _CARD.format(name=NAME, about=_ABOUT, version=rmaudit.__version__)
    return f"---\n{_yaml(about)}---\n{text}"


def _eval_yaml() -> str:
    listed = [{"id": task.id, "config": _TABLES[0], "split": "test"} for task in tasks()]
    return _yaml(
        {
            "name": NAME,
            "description": _ABOUT,
            "evaluation_framework": "rmaudit",
            "tasks": listed,
        }
    )


def _task(task: BenchmarkTask) -> Mapping[str, object]:
    audit = task.audit
    return {
        "task_id": task.id,
        "audit": audit.name,
        "prompts": [prompt.name for prompt in task.prompts],
        "claim": audit.claim,
        "source": audit.source,
        "unit": audit.bound.unit,
        "low": audit.bound.low,
        "high": audit.bound.high,
        "severity": str(audit.severity),
        "limits": list(audit.limits),
    }


def _prompts() -> Iterable[Mapping[str, object]]:
    asked = dict.fromkeys(prompt for task in tasks() for prompt in task.prompts)
    return ({"name": each.name, "text": each.text, "frame": each.frame} for each in asked)


def _band() -> Iterable[Mapping[str, object]]:
    for task in tasks():
        unit = task.audit.bound.unit
        if found := band(task.audit.name, task.prompt, unit=unit):
            for model, value in found.models.items():
                row = {"task_id": task.id, "model": model, "value": value}
                yield {**row, "unit": unit, "on": found.on}


def _lines(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _yaml(value: object) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))
