"""SARIF: valid by its own schema, and one result for each finding that does not pass."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from jsonschema import Draft7Validator, FormatChecker

from rmaudit.report.writers.sarif import render
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import Finding
from tests.fetched import npm_package
from tests.findings import but, waived
from tests.report.conftest import typed, with_findings
from tests.report.test_hostile import TEXTS, poisoned

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"  # carries the committee's schema (MIT)
SCHEMA = "lib/schemas/sarif-2.1.0-rtm.5.json"
SHA256 = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"


@pytest.fixture(scope="session")
def schema() -> Any:
    """The schema of SARIF 2.1.0, checked."""
    content = (npm_package(PACKAGE) / SCHEMA).read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256
    return json.loads(content)


def run_of(results: dict[str, Any], *findings: Finding) -> Any:
    """The one run of the log of these findings, or of all."""
    made = typed(results)
    made = with_findings(made, *findings) if findings else made
    (run,) = json.loads(render(made))["runs"]
    return run


@pytest.fixture
def failing(results: dict[str, Any]) -> Finding:
    """A finding that gates and fails."""
    passing = typed(results).findings[0]
    return but(passing, verdict=Verdict.FAIL, p_holm=0.25)


@pytest.mark.parametrize("text", ["greatest", *TEXTS], ids=ascii)
def test_it_keeps_its_schema(results: dict[str, Any], schema: Any, text: str) -> None:
    """The committee's own schema takes it, whatever the texts are."""
    log = json.loads(render(typed(poisoned(results, text))))

    Draft7Validator(schema, format_checker=FormatChecker()).validate(log)


def test_what_does_not_pass_is_a_result(results: dict[str, Any]) -> None:
    """One each, at the level of its verdict; what is known is there and suppressed."""
    run = run_of(results)

    assert [(found["level"], found["properties"]["result"]) for found in run["results"]] == [
        ("note", "fail"),
        ("warning", "unsure"),
        ("error", "not run"),
    ]
    assert [found.get("suppressions") for found in run["results"]] == [
        [{"kind": "external", "justification": "It is small, and known to be so."}],
        None,
        None,
    ]
    verdict, skipped = run["invocations"][0]["toolExecutionNotifications"]
    assert skipped["message"]["text"] == "Toy, greatest: not measured. No data here."
    assert verdict["message"]["text"].startswith("The run: NOT ESTABLISHED: 1 unsure")
    assert run["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    ("change", "level"),
    [
        ({}, "error"),
        ({"severity": Severity.INFO}, "note"),
        ({"verdict": Verdict.INCONCLUSIVE}, "warning"),
        ({"waiver": waived("waived", "Accepted until then.")}, "note"),
        ({"waiver": waived("expired", "It is over.")}, "error"),
    ],
)
def test_levels(results: dict[str, Any], failing: Finding, change: Any, level: str) -> None:
    """By verdict and severity; a waiver suppresses as long as it holds."""
    (found,) = run_of(results, but(failing, **change))["results"]

    assert found["level"] == level
    holds = "waiver" in change and change["waiver"].holds
    expected = [{"kind": "external", "justification": "Accepted until then."}] if holds else None
    assert found.get("suppressions") == expected


def test_a_result_says_what_was_measured(results: dict[str, Any], failing: Finding) -> None:
    """In words for people and in numbers for tools; the place is the audit's file."""
    (found,) = run_of(results, failing)["results"]

    assert found["message"]["text"] == (
        "Toy, greatest: fail; measured 0.625 rho, 95 % interval 0.5 to 0.75, n = 50; "
        "bound above 0.2 rho."
    )
    assert found["properties"] == {
        "model": "Toy",
        "prompt": "greatest",
        "result": "fail",
        "effect": "",
        "severity": "gate",
        "value": 0.625,
        "low": 0.5,
        "high": 0.75,
        "n": 50,
        "unit": "rho",
        "p_holm": 0.25,
    }
    (place,) = found["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "audits/test_framing.py"}
    (name,) = place["logicalLocations"]
    assert name["fullyQualifiedName"] == "audits/test_framing.py::test_framing[Toy-greatest]"


def test_a_rule_is_an_audit(results: dict[str, Any], failing: Finding) -> None:
    """Also one that passes: its claim, its source, its base rate."""
    failing = but(failing, limits=("Causes.", "Other words."))
    other = but(failing, audit="other", verdict=Verdict.PASS, limits=())
    run = run_of(results, other, failing)

    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["other", "framing"]
    assert rules[1]["shortDescription"]["text"] == "It follows."
    assert rules[1]["help"]["text"] == (
        "Claim: It follows.\nSource: A paper, section 3\nBase rate: 9 of 10 models\n"
        "Does not show: Causes. Other words."
    )
    assert "Does not show" not in rules[0]["help"]["text"]
    (found,) = run["results"]
    assert rules[found["ruleIndex"]]["id"] == found["ruleId"] == "framing"


def test_a_finding_is_the_same_in_the_next_run(results: dict[str, Any], failing: Finding) -> None:
    """Its fingerprint is that of audit, model and prompt: other numbers do not change it."""
    later = but(failing, verdict=Verdict.INCONCLUSIVE, nodeid="x.py::y", text="Reworded.")
    others = [but(failing, **{name: "other"}) for name in ("audit", "model", "prompt")]

    prints = [
        found["partialFingerprints"]["primaryLocationLineHash"]
        for found in run_of(results, failing, later, *others)["results"]
    ]

    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_run_that_was_cut_short_was_not_successful(
    results: dict[str, Any], failing: Finding, interrupted: bool
) -> None:
    """Else the tool did its work, whatever the model is like."""
    results["run"]["interrupted"] = interrupted

    (invocation,) = run_of(results, failing)["invocations"]

    assert invocation["executionSuccessful"] is not interrupted
    assert invocation["endTimeUtc"] == "2026-11-21T10:50:00Z"
    told = json.dumps(invocation["toolExecutionNotifications"])
    assert ("interrupted" in told) is interrupted
