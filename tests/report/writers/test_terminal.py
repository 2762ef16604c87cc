"""The summary that ends a run: a table, the reasons, the counts, the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rmaudit.report.writers.terminal import effect, lines
from rmaudit.verdicts.findings import Finding, reasons
from rmaudit.verdicts.judge import measured, unmeasured
from rmaudit.verdicts.policy import Policy
from rmaudit.verdicts.records import Estimate, Severity, Verdict, above, between
from tests.findings import TODAY, but, claim, waived
from tests.report.test_document import RUN


def finding(verdict: Verdict, *, reason: str = "", known: str = "") -> Finding:
    """A finding, measured unless it has a reason why not."""
    stated = claim(above(0, unit="skewness"), audit="positive_skew", prompt="worst")
    if reason:
        lost = unmeasured(stated, reason, Policy(), verdict)
        return but(lost, known=known)
    estimate = Estimate(-0.21, -0.254, -0.17, "skewness", 1204, "made up")
    return but(measured(stated, estimate, Policy(), TODAY), verdict=verdict, known=known)


def told(*findings: Finding) -> list[str]:
    """What is told of the findings, without the run's verdict, which is the last line."""
    return lines(findings, None)[:-1]


def test_a_measured_finding_is_one_line() -> None:
    """Verdict, model, audit, prompt, number, interval, bound; then the counts and the report."""
    written = lines([finding(Verdict.FAIL)], Path("reports/now/index.html"))

    assert written == [
        "FAIL  toy  positive_skew  worst  -0.21  [-0.25, -0.17]  above 0 skewness",
        "1 audited: 1 FAIL",
        "FAILS: 1 FAIL block",
        "report: reports/now/index.html",
    ]


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        ((-0.21, -0.254, -0.17), ("-0.21", "[-0.25, -0.17]")),
        ((0.004, 0.001, 0.007), ("+0.0040", "[+0.0010, +0.0070]")),
        ((2e-7, -1e-7, 5e-7), ("+2e-07", "[-1e-07, +5e-07]")),
        ((0.0, 0.0, 0.0), ("+0.00", "[+0.00, +0.00]")),
    ],
)
def test_a_small_effect_is_not_shown_as_none(
    measured: tuple[float, float, float], shown: tuple[str, str]
) -> None:
    """Two decimals where they tell value and ends apart, else as many digits as do."""
    assert effect(*measured) == shown

    small = but(finding(Verdict.PASS), estimate=Estimate(*measured, "sd", 9, "made up"))
    assert "  ".join(shown) in lines([small], None)[0]


def test_the_columns_are_aligned() -> None:
    """Each column is as wide as its widest cell, also where a row has no number."""
    findings = [
        but(finding(Verdict.PASS), estimate=Estimate(10, 9, 11, "skewness", 9, "made up")),
        but(finding(Verdict.INCONCLUSIVE), model="longer", prompt="best"),
        but(finding(Verdict.ERROR, reason="it broke"), bound=between(-1, 1, unit="sd")),
    ]

    written = told(*findings)

    assert written == [
        "PASS          toy     positive_skew  worst  +10.00  [+9.00, +11.00]  above 0 skewness",
        "INCONCLUSIVE  longer  positive_skew  best   -0.21   [-0.25, -0.17]   above 0 skewness",
        "ERROR         toy     positive_skew  worst                           between -1 and 1 sd",
        "ERROR: positive_skew[toy-worst]: it broke",
        "3 audited: 1 PASS, 1 INCONCLUSIVE, 1 ERROR",
    ]


def test_findings_keep_their_order() -> None:
    """The table is in the order in which the audits ran."""
    names = ["c", "a", "b"]

    written = told(*(but(finding(Verdict.PASS), audit=name) for name in names))

    assert [line.split()[2] for line in written[:3]] == names


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.INCONCLUSIVE])
def test_a_known_failure_is_shown_as_known_with_its_reason(verdict: Verdict) -> None:
    """The number stays in the table, the reason of models.yaml stands below it."""
    written = told(finding(verdict, known="It is flat."))

    assert written == [
        "KNOWN  toy  positive_skew  worst  -0.21  [-0.25, -0.17]  above 0 skewness",
        "KNOWN: positive_skew[toy-worst]: It is flat.",
        "1 audited: 1 KNOWN",
    ]


def test_a_pass_that_was_expected_to_fail_is_a_pass() -> None:
    """The entry of models.yaml is called outdated, and its reason is not repeated."""
    written = told(finding(Verdict.PASS, known="It is flat."))

    outdated = "passes, though models.yaml expects it to fail: remove it from `known`"
    assert written[1:] == [f"PASS: positive_skew[toy-worst]: {outdated}", "1 audited: 1 PASS"]


@pytest.mark.parametrize(
    ("state", "stands"), [("waived", "WAIVED"), ("expiring", "WAIVED"), ("expired", "FAIL")]
)
def test_what_a_waiver_says_stands_below_the_table(state: str, stands: str) -> None:
    """Who accepted it and until when, or why it is no longer so; the number stays in the table."""
    accepted = but(finding(Verdict.FAIL), waiver=waived(state, "until\n tomorrow"))

    assert told(accepted) == [
        f"{stands}  toy  positive_skew  worst  -0.21  [-0.25, -0.17]  above 0 skewness",
        f"{stands}: positive_skew[toy-worst]: until tomorrow",
        f"1 audited: 1 {stands}",
    ]


def test_an_override_is_told() -> None:
    """A bound or severity that is not the audit's own, with where it is from."""
    over = {
        "severity_by": "models.yaml: severity: skew",
        "bound_by": "models.yaml: A: bounds: skew",
    }

    written = told(but(finding(Verdict.PASS), **over))

    head = "PASS: positive_skew[toy-worst]: "
    assert written[1:-1] == [
        f"{head}severity as in models.yaml: severity: skew; declared: gate",
        f"{head}bound as in models.yaml: A: bounds: skew; declared: above 0 skewness",
    ]


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.SKIPPED])
def test_a_reason_is_one_line(verdict: Verdict) -> None:
    """Line breaks, tabs and runs of spaces in an error's text become single spaces."""
    written = lines([finding(verdict, reason="\n  it\n\tbroke   here\r\n")], None)

    assert written[1] == f"{verdict}: positive_skew[toy-worst]: it broke here"


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.SKIPPED])
def test_an_unmeasured_audit_has_no_known_reason(verdict: Verdict) -> None:
    """A failure that was expected does not excuse that nothing was measured."""
    written = lines([finding(verdict, reason="it broke", known="It is flat.")], None)

    assert not any("KNOWN" in line or "It is flat." in line for line in written)


def test_why_nothing_was_measured_is_told_once() -> None:
    """The others refer to the first finding that has it; another reason is told in full."""
    broken = [but(finding(Verdict.ERROR, reason="it broke"), prompt=p) for p in ("a", "b", "c")]
    other = but(finding(Verdict.ERROR, reason="no data"), prompt="d")

    assert lines([*broken, other], None)[4:8] == [
        "ERROR: positive_skew[toy-a]: it broke",
        "ERROR: positive_skew[toy-b]: the same as positive_skew[toy-a]",
        "ERROR: positive_skew[toy-c]: the same as positive_skew[toy-a]",
        "ERROR: positive_skew[toy-d]: no data",
    ]


def test_no_line_ends_in_spaces() -> None:
    """An empty last cell leaves no trace."""
    findings = [finding(Verdict.PASS), finding(Verdict.ERROR, reason=" ")]

    written = lines(findings, None)

    assert written == [line.rstrip() for line in written]


def test_the_counts_sum_to_the_findings() -> None:
    """Every finding is in exactly one count."""
    findings = [
        *(finding(verdict) for verdict in (Verdict.PASS, Verdict.PASS, Verdict.FAIL)),
        finding(Verdict.FAIL, known="It is flat."),
        *(finding(verdict, reason="x") for verdict in (Verdict.ERROR, Verdict.SKIPPED)),
    ]

    written = told(*findings)

    assert written[-1] == "6 audited: 2 PASS, 1 FAIL, 1 KNOWN, 1 ERROR, 1 SKIPPED"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict.FAIL, ["outside its bound; it does not gate, so it fails nothing"]),
        (Verdict.INCONCLUSIVE, ["its interval straddles the bound; it does not gate"]),
        (Verdict.PASS, []),
    ],
)
def test_what_does_not_gate_says_where_it_lies(verdict: Verdict, said: list[str]) -> None:
    """INFO alone would not tell a model inside the bound from one outside it."""
    informs = but(finding(verdict), severity=Severity.INFO)

    assert reasons(informs) == said
    assert reasons(finding(verdict)) == []
    assert told(informs)[1:-1] == [f"INFO: positive_skew[toy-worst]: {t}" for t in said]


def test_a_run_that_was_cut_short_says_so() -> None:
    """After the counts: what is there does not tell that something is missing."""
    run = replace(RUN, selected=9, collected=9, interrupted=True)

    passes = but(finding(Verdict.PASS), blocks=False)

    written = lines([passes], Path("x"), run.gaps)

    assert written[-2] == "INCOMPLETE: interrupted: 1 of 9 selected audits finished"
