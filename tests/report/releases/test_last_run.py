"""What a run is compared with, and what the page says has changed since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.report import results_document
from rmaudit.report.over_time.finding_changes import summarize_earlier
from rmaudit.report.over_time.last_run import age, previous_run
from rmaudit.report.page import html_page
from rmaudit.report.results_document import Before, Earlier, Results
from rmaudit.report.writers import markdown
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import Outcome
from tests.findings import found
from tests.report.conftest import typed, with_findings

TOY = [ModelSpec("Toy", "some/folder")]


def run_of(results: dict[str, Any], created: str, *findings: Finding) -> Results:
    """A run at this time, with these findings."""
    n = len(findings)
    results["run"] |= {"created": created, "collected": n, "selected": n, "finished": n}
    return with_findings(typed(results), *findings)


def measured(low: float, high: float, **given: Any) -> Finding:
    """A finding of Toy's."""
    return found(low, high, model="Toy", audit="frequency_bias", prompt="best", **given)


def test_the_last_run_of_the_same_models_counts(results: dict[str, Any], tmp_path: Path) -> None:
    """Of those before it; other models, other sources, later runs and what is broken are not it."""
    for name, created, change in (
        ("a", "2026-11-01T00:00:00Z", {}),
        ("b", "2026-11-02T00:00:00Z", {}),
        ("c", "2026-11-03T00:00:00Z", {"name": "Other"}),
        ("d", "2026-11-04T00:00:00Z", {"source": "elsewhere"}),
        ("e", "2026-11-20T00:00:00Z", {}),
    ):
        made = run_of(results, created, measured(0.1, 0.2))
        made = replace(made, models=tuple(replace(model, **change) for model in made.models))
        (tmp_path / name).mkdir()
        results_document.write(made, tmp_path / name / "results.json")
    for name, text in (("f", "no JSON"), ("g", '{"run": {"created": "2026-11-02T10:00:00Z"}}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(text, encoding="utf-8")

    now = measured(0.3, 0.4)
    with pytest.warns(UserWarning, match="times after now .the last 2026-11-20"):
        before = previous_run(tmp_path, TOY, "2026-11-10T00:00:00Z", [now])
    assert before is not None
    assert before.created == "2026-11-02T00:00:00Z"
    assert before.findings == (summarize_earlier(measured(0.1, 0.2), now),)
    with pytest.warns(UserWarning, match="times after now .the last 2026-11-"):
        assert previous_run(tmp_path, TOY, "2026-10-01T00:00:00Z", [now]) is None
    with pytest.warns(UserWarning, match="is a clock wrong"):  # and it is not before itself
        assert previous_run(tmp_path, TOY, "2026-11-01T00:00:00Z", [now]) is None
    assert previous_run(tmp_path / "nowhere", TOY, "2026-11-10T00:00:00Z", [now]) is None


@pytest.mark.parametrize(
    ("was", "result", "told"),
    [
        ((0.10, 0.20), Result.FAIL, "0 worse, 0 better, 1 with no clear change"),
        (None, Result.NOT_RUN, "0 worse, 0 better, 0 with no clear change, 1 not comparable"),
    ],
)
def test_what_changed_is_on_top(
    results: dict[str, Any], was: tuple[float, float] | None, result: Result, told: str
) -> None:
    """What is clearly better or worse is counted; another result is listed all the same."""
    made = run_of(results, "2026-11-22T00:00:00Z", measured(0.12, 0.22))  # it must be above 0
    numbers = ("sd", sum(was) / 2, *was) if was else ("", None, None, None)
    then = Earlier("Toy", "frequency_bias", "best", result, *numbers)
    before = Before("2026-11-20T10:00:00Z", "0.1.0", Outcome.PASSES, (then,))

    page = html_page.render(replace(made, before=before))
    summary = markdown.render(replace(made, before=before))
    assert "Since the run of 20 Nov 2026, 10:00 UTC, 38 hours earlier" in page
    assert told in page
    assert page.index(told) < page.index("Scorecard")
    since = "### Since the run of 2026-11-20T10&#58;00&#58;00Z, 38 hours earlier (PASSES)"
    assert f"{since}\n\n{told}\n" in summary
    if result is Result.FAIL:
        assert "0.17, was 0.15; pass, was fail" in page
        moved = (
            "- no clear change: frequency_bias&#91;Toy-best&#93;: 0.17, was 0.15; pass, was fail\n"
        )
        assert moved in summary


@pytest.mark.parametrize(
    ("was", "told"),
    [
        ("2026-11-22T22:33:40Z", "19 seconds earlier"),
        ("2026-11-22T22:33:58Z", "a moment earlier"),
        ("2026-11-22T22:03:00Z", "30 minutes earlier"),
        ("2026-11-21T22:33:59Z", "24 hours earlier"),
        ("2026-10-23T22:33:59Z", "30 days earlier"),
        ("yesterday", "earlier"),
    ],
)
def test_the_run_before_has_its_age(was: str, told: str) -> None:
    """The hour alone looks like long ago where it was seconds before."""
    assert age(was, "2026-11-22T22:33:59Z") == told
