"""What holds of every file beside results.json: all of it is from there, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmaudit.report import results_document, results_reader, writers
from rmaudit.report.results_document import Results
from tests.findings import but
from tests.report.conftest import typed, with_findings

RENDER = pytest.mark.parametrize("name", writers.RENDERERS)


@RENDER
def test_an_output_is_a_function_of_the_file(
    results: dict[str, Any], tmp_path: Path, name: str
) -> None:
    """Twice the same, from what was collected as from what is read back."""
    render, made = writers.RENDERERS[name], typed(results)
    failing = [finding for finding in made.findings if finding.verdict != "INCONCLUSIVE"]
    made = with_findings(made, failing[0], *failing[2:])  # those that contradict nothing
    results_document.write(made, tmp_path / "results.json")

    assert render(made) == render(made) == render(results_reader.read(tmp_path / "results.json"))


def value(made: Results) -> Results:
    """Another number."""
    first = made.findings[1]
    assert first.estimate is not None
    estimate = replace(first.estimate, value=7.375, low=7.25, high=7.5)
    return replace(made, findings=(made.findings[0], replace(first, estimate=estimate)))


def bound(made: Results) -> Results:
    """Another unit, of estimate and bound."""
    first = made.findings[1]
    assert first.estimate is not None
    changed = but(first, bound=replace(first.bound, unit="furlongs"))
    changed = replace(changed, estimate=replace(first.estimate, unit="furlongs"))
    return replace(made, findings=(made.findings[0], changed))


@RENDER
@pytest.mark.parametrize(("change", "told"), [(value, r"(?<![\d.])7\.3"), (bound, "furlongs")])
def test_an_output_has_no_number_or_word_of_its_own(
    results: dict[str, Any], name: str, change: Callable[[Results], Results], told: str
) -> None:
    """What is changed in the results is changed in each."""
    made = typed(results)

    assert not re.search(told, writers.RENDERERS[name](made))
    assert re.search(told, writers.RENDERERS[name](change(made)))


@RENDER
def test_every_output_says_what_the_run_comes_to(results: dict[str, Any], name: str) -> None:
    """Above all of one that was cut short, which never passes."""
    results["findings"] = results["findings"][:1]
    results["run"] |= {"interrupted": True, "finished": 1, "part": "only a part"}

    written = writers.RENDERERS[name](typed(results))

    assert "incomplete" in written.lower()
    assert "interrupted: 1 of 5 selected audits finished" in written
    assert "only a part" in written
    assert "PASSES" not in written


def test_all_are_written(results: dict[str, Any], tmp_path: Path) -> None:
    """Each under its name, as UTF-8 with line feeds, and nothing besides."""
    writers.write(typed(results), tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {
        *("index.html", "summary.md", "eval_results.yaml")
    }
    for name, render in writers.RENDERERS.items():
        assert (tmp_path / name).read_bytes() == render(typed(results)).encode()
