"""One notion of worse: whoever compares two runs of a finding says the same of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rmaudit.report.releases.finding_comparison import Change, compare_finding, summarize_earlier
from rmaudit.report.releases.history import group_families
from rmaudit.report.releases.run_comparison import compare
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above, below
from rmaudit.verdicts.findings import Finding
from tests.findings import but
from tests.report.releases.test_run_comparison import FAIL, GATE, UNSURE, found, results

OTHER = Estimate(-0.9, -1.0, -0.8, "tau", 99, "made up")


def paired(value: float, verdict: Verdict = Verdict.PASS) -> Finding:
    """A finding whose words are those of any other, so that only a paired interval is narrow."""
    wide = Estimate(value, value - 0.1, value + 0.1, "skewness", 99, "x", parts=(0.0,) * 64)
    return but(GATE, estimate=wide, verdict=verdict)


PAIRS = [
    (found(0.9), found(0.5), Change.WORSE),
    (found(0.5), found(0.9), Change.BETTER),
    (found(0.9), found(0.85), Change.UNCHANGED),
    (paired(0.9), paired(0.8), Change.WORSE),  # which intervals of independent ones do not show
    (found(0.9), found(0.8), Change.UNCHANGED),
    (found(0.05, verdict=UNSURE), found(0.15), Change.UNCHANGED),
    (found(0.15), found(0.05, verdict=UNSURE), Change.UNCLEAR),
    (found(-0.05, verdict=UNSURE), found(-0.15, verdict=FAIL), Change.UNCLEAR),
    (found(-0.47, verdict=FAIL), found(-0.30, verdict=FAIL), Change.UNCHANGED),
    (found(0.9), but(GATE, estimate=OTHER, verdict=FAIL, bound=above(0, unit="tau")), "unclear"),
]


@pytest.mark.parametrize(("old", "new", "expected"), PAIRS)
def test_all_treatments_say_the_same(old: Finding, new: Finding, expected: str) -> None:
    """The comparison of two files, and the history."""
    runs = [results([finding]) for finding in (old, new)]

    (pair,) = compare(*runs).models
    (family,) = group_families([(run, Path()) for run in runs])
    point = family.gates[0].points[1]

    assert [finding.change for finding in pair.findings] == [expected]
    assert point.change is not None
    assert point.change.change == expected
    assert point.regressed == (expected in {"worse", "unclear"})


def upside_down(finding: Finding) -> Finding:
    """The same measurement with the other sign, against the same bound from the other side."""
    of = finding.estimate
    assert of is not None
    turned = replace(of, value=-of.value, low=-of.high, high=-of.low)
    return but(finding, estimate=turned, bound=below(0, unit=finding.bound.unit))


@pytest.mark.parametrize(("old", "new", "expected"), PAIRS)
def test_a_bound_from_above_is_the_same_upside_down(
    old: Finding, new: Finding, expected: str
) -> None:
    """What is worse there is a higher value."""
    both = upside_down(old), upside_down(new)

    assert compare_finding(summarize_earlier(*both), both[1]).change == expected


@pytest.mark.parametrize(("value", "expected"), [(0.85, Change.WORSE), (0.95, Change.UNCHANGED)])
def test_less_than_a_tenth_of_the_distance_to_the_bound_is_no_change(
    value: float, expected: Change
) -> None:
    """However narrow the paired interval is; unless a margin is given."""
    old, new = paired(1.0), paired(value)

    assert compare_finding(summarize_earlier(old, new), new).change is expected
    assert compare_finding(summarize_earlier(old, new), new, margin=0.0).change is Change.WORSE


def test_a_finding_without_a_number_is_never_worse() -> None:
    """Nor one that was measured in the later run alone, or by neither."""
    gone = but(GATE, estimate=None)
    assert compare_finding(summarize_earlier(found(0.9), gone), gone).change is Change.UNMEASURED
    assert compare_finding(summarize_earlier(gone, found(0.9)), found(0.9)).change is Change.NEW
    assert compare_finding(None, found(0.9)).change is Change.NEW
    assert compare_finding(summarize_earlier(gone, gone), gone).change is Change.NEVER


def test_an_older_file_has_no_difference_and_is_compared_without() -> None:
    """As if the two were independent, which finds less and invents nothing."""
    old, new = paired(0.9), paired(0.8)
    summary = summarize_earlier(old, new)

    assert compare_finding(summary, new).change is Change.WORSE
    assert compare_finding(replace(summary, difference=None), new).change is Change.UNCHANGED
