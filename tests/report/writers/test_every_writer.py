"""What holds of every file beside results.json, and what the Hub reads of its file of values."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from rmaudit.outputs import hub_values
from rmaudit.report import results_document, results_reader, writers
from tests.findings import but
from tests.report.conftest import of, typed, with_findings

RENDER = pytest.mark.parametrize("name", writers.own())


@RENDER
def test_an_output_is_a_function_of_the_file(
    results: dict[str, Any], tmp_path: Path, name: str
) -> None:
    """Twice the same, from what was collected as from what is read back."""
    render, made = writers.own()[name], typed(results)
    failing = [finding for finding in made.findings if finding.verdict != "INCONCLUSIVE"]
    made = with_findings(made, failing[0], *failing[2:])  # those that contradict nothing
    results_document.write(made, tmp_path / "results.json")

    assert render(made) == render(made) == render(results_reader.read(tmp_path / "results.json"))


@RENDER
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": 7.375, "low": 7.25, "high": 7.5}, r"(?<![\d.])7\.3"),
        ({"unit": "furlongs"}, "furlongs"),
    ],
)
def test_an_output_has_no_number_or_word_of_its_own(
    results: dict[str, Any], name: str, change: dict[str, Any], told: str
) -> None:
    """What is changed in the results, of estimate and bound, is changed in each."""
    made = typed(results)
    first, second = made.findings[:2]
    assert second.estimate is not None
    bound = replace(second.bound, unit=change.get("unit", second.bound.unit))
    other = but(second, bound=bound, estimate=replace(second.estimate, **change))

    assert not re.search(told, writers.own()[name](made))
    assert re.search(told, writers.own()[name](replace(made, findings=(first, other))))


@RENDER
def test_every_output_says_what_the_run_comes_to(results: dict[str, Any], name: str) -> None:
    """Above all of one that was cut short, which never passes."""
    results["findings"] = results["findings"][:1]
    results["run"] |= {"interrupted": True, "finished": 1, "part": "only a part"}

    written = writers.own()[name](typed(results))

    assert "incomplete" in written.lower()
    assert "the run did not finish" in written
    assert "only a part" in written
    assert "PASSES" not in written


def test_all_are_written(results: dict[str, Any], tmp_path: Path) -> None:
    """Each under its name, as UTF-8 with line feeds, and nothing besides."""
    writers.write(typed(results), tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {
        *("index.html", "summary.md", "eval_results.yaml")
    }
    for name, render in writers.own().items():
        assert (tmp_path / name).read_bytes() == render(typed(results)).encode()


# Values for the Hub


def test_the_hub_reads_the_values_back(results: dict[str, Any]) -> None:
    """By its own parser: a task, the value, and what it does not say alone."""
    found = parse_eval_result_entries(yaml.safe_load(hub_values.render(typed(results))))

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
        notes="pass; 95 % interval 0.50 to 0.75 rho; n = 50; must be above 0.2 rho; rmaudit 0.1.0",
    )
    notes = [str(each.notes).partition(";")[0] for each in found]
    assert notes == ["pass", "fail (accepted)", "open (blocks)"]


def test_what_others_could_not_compare_says_so(results: dict[str, Any]) -> None:
    """Beside each value: a sample, words of one's own, and texts that are no vocabulary."""
    results["run"] |= {"sample": 2000, "environment": {"words of one's own": "mein for labmt"}}
    for sweep in results["models"][0]["sweeps"]:
        sweep["provenance"] |= {"part": "2000 of 5000"}

    for entry in yaml.safe_load(hub_values.render(typed(results))):
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

    text = hub_values.render(typed(results))

    assert [len(document) for document in yaml.safe_load_all(text)] == [1, 1]
    remarks = [line for line in text.splitlines() if line.startswith("#")]
    assert remarks == [
        "# NOT ESTABLISHED: 2 gates block (1 open, 1 not run)",
        "# Toy: 1 of 1 findings have a value",
        "# None: nothing was measured",
        "# Third: 1 of 1 findings have a value",
    ]
