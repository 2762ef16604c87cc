"""The Hub's file of values: what the Hub reads of it is what was measured."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from rmaudit.report.writers.eval_results import render
from tests.report.conftest import of, typed


def test_the_hub_reads_the_values_back(results: dict[str, Any]) -> None:
    """By its own parser: a task, the value, and what it does not say alone."""
    found = parse_eval_result_entries(yaml.safe_load(render(typed(results))))

    assert [(each.task_id, each.value) for each in found] == [
        ("framing-greatest", 0.625),
        ("framing-greatest", 0.625),
        ("framing-worst", 0.625),
    ]
    assert found[0] == EvalResultEntry(
        dataset_id="OWNER/DATASET",
        task_id="framing-greatest",
        value=0.625,
        date="2026-11-21T10:50:00Z",
        notes="pass; 95 % interval 0.5 to 0.75 rho; n = 50; must be above 0.2 rho; rmaudit 0.1.0",
    )
    notes = [str(each.notes).partition(";")[0] for each in found]
    assert notes == ["pass", "fail (accepted)", "unsure (blocks)"]


def test_what_others_could_not_compare_says_so(results: dict[str, Any]) -> None:
    """Beside each value: a sample, words of one's own, and texts that are no vocabulary."""
    results["run"] |= {"sample": 2000, "environment": {"words of one's own": "mein for labmt"}}
    for sweep in results["models"][0]["sweeps"]:
        sweep["provenance"] |= {"part": "2000 of 5000"}

    for entry in yaml.safe_load(render(typed(results))):
        assert "; of a sample of the vocabulary; own lists: mein for labmt; " in entry["notes"]
        assert "a sample of 2,000 token ids was scored" in entry["notes"]


def test_each_model_has_its_own(results: dict[str, Any]) -> None:
    """A document each, in their order; one of which nothing was measured has only a remark."""
    second, third = (copy.deepcopy(results["models"][0]) for _ in range(2))
    second["name"], third["name"] = "None", "Third"
    results["models"] += [second, third]
    results["findings"] = [
        results["findings"][0],
        of(results["findings"][3], "None"),
        of(results["findings"][2], "Third"),
    ]

    text = render(typed(results))

    assert [len(document) for document in yaml.safe_load_all(text)] == [1, 1]
    remarks = [line for line in text.splitlines() if line.startswith("#")]
    assert remarks == [
        "# NOT ESTABLISHED: 1 unsure, 1 not run block",
        "# Toy: 1 of 1 findings have a value",
        "# None: nothing was measured",
        "# Third: 1 of 1 findings have a value",
    ]
