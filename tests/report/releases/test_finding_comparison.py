"""One notion of worse: whoever compares two runs of a finding says the same of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from rmaudit.report.releases.finding_comparison import Change, compare_finding, summarize_earlier
from rmaudit.report.releases.history import group_families
from rmaudit.report.releases.run_comparison import compare
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Verdict, above, below
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Finding
from tests.findings import but, with_evidence
from tests.report.runs import FINDING, found, results

FAIL, OPEN = Verdict.FAIL, Verdict.INCONCLUSIVE

OTHER = found(0.9, unit="tau", bound=above(0, unit="tau"))


def paired(value: float, half: float = 0.1, **change: Any) -> Finding:
    """A finding whose words are those of any other, so that only a paired interval is narrow."""
    ends = (value, value - half, value + half)
    return but(FINDING, estimate=Estimate(*ends, "skewness", 99, "x", parts=(0.0,) * 64), **change)


def random(value: float, verdict: Verdict = FAIL) -> Finding:
    """Likewise, of a random head that does not pass: such differences may well exclude 0."""
    return paired(value, 0.02, verdict=verdict, bound=above(0.08, unit="skewness"))


PAIRS = [
    (found(0.9), found(0.5), Change.WORSE),
    (found(0.5), found(0.9), Change.BETTER),
    (found(0.9), found(0.85), Change.UNCHANGED),
    (found(0.9, 0.01), found(0.82, 0.01), Change.UNCHANGED),
    (found(0.9, 0.01), found(0.8, 0.01), Change.WORSE),
    (paired(0.9), paired(0.8), Change.WORSE),  # which intervals of independent ones do not show
    (found(0.9), found(0.8), Change.UNCHANGED),
    (found(0.05, verdict=OPEN), found(0.15), Change.UNCHANGED),
    (found(0.15), found(0.05, verdict=OPEN), Change.UNCLEAR),
    (found(-0.05, verdict=OPEN), found(-0.15, verdict=FAIL), Change.UNCLEAR),
    (found(-0.47, verdict=FAIL), found(-0.30, verdict=FAIL), Change.UNCHANGED),
    (found(0.9), OTHER, Change.INCOMPARABLE),
    (found(0.9), but(OTHER, verdict=FAIL), Change.UNCLEAR),
    # The bound of the later run is taken for both.
    (found(0.9), found(0.5, verdict=FAIL, bound=below(0.2, unit="skewness")), Change.BETTER),
    (random(-0.0037), random(0.01), Change.UNCHANGED),
    (random(0.01), random(-0.0037), Change.UNCHANGED),
    (random(0.01), random(-0.0037, OPEN), Change.UNCHANGED),
    (random(-0.0037), random(0.04), Change.BETTER),
    (random(0.04), random(-0.0037), Change.WORSE),
    (random(0.12, Verdict.PASS), random(0.1, OPEN), Change.WORSE),
]


@pytest.mark.parametrize(("old", "new", "expected"), PAIRS)
def test_all_treatments_say_the_same(old: Finding, new: Finding, expected: Change) -> None:
    """The comparison of two files, and the history."""
    runs = [results([finding]) for finding in (old, new)]

    (pair,) = compare(*runs).models
    (family,) = group_families([(run, Path()) for run in runs])
    point = family.gates[0].points[1]

    assert [finding.change for finding in pair.findings] == [expected]
    assert point.change is not None
    assert point.change.change == expected
    assert point.regressed == (expected in {Change.WORSE, Change.UNCLEAR})


@dataclass(frozen=True)
class Spared(Evidence):
    """Of a measure that leaves out what models.yaml wants."""

    kind: Literal["spared"] = "spared"
    wanted: tuple[str, ...] = ()


@pytest.mark.parametrize(("now", "expected"), [(0.9, Change.INCOMPARABLE), (0.1, Change.UNCLEAR)])
def test_what_is_wanted_makes_no_model_better(now: float, expected: Change) -> None:
    """Where other kinds were wanted, the values are of other kinds; the note says of which."""
    before, after = found(0.5), found(now, verdict=Verdict.PASS if now > 0.5 else FAIL)
    said = []
    for old, new in (((), ("wine",)), (("wine",), ()), (("wine",), ("wine",))):
        pair = (with_evidence(before, Spared(wanted=old)), with_evidence(after, Spared(wanted=new)))
        (both,) = compare(*(results([finding]) for finding in pair)).models
        (finding,) = both.findings
        said.append((finding.change, finding.note))

    assert said[:2] == [
        (expected, "models.yaml wanted nothing, wants wine"),
        (expected, "models.yaml wanted wine, wants nothing"),
    ]
    assert said[2][0] is (Change.BETTER if now > 0.5 else Change.WORSE)


@dataclass(frozen=True)
class Kinds(Evidence):
    """Evidence of a measure that finds kinds by itself."""

    kind: Literal["kinds of a test"] = "kinds of a test"
    names: tuple[str, ...] = ()
    sizes: tuple[float, ...] = ()

    @property
    def effects(self) -> dict[str, float]:
        """Return the sizes, by name."""
        return dict(zip(self.names, self.sizes, strict=True))


def test_a_note_says_what_became_of_kinds() -> None:
    """It has those of both runs and of one, offensive ones masked; nothing where all are alike."""
    then = Kinds(names=("digits", "fucks"), sizes=(2.0, -1.25))
    now = Kinds(names=("lists", "digits"), sizes=(0.91, 0.4))
    runs = [results([with_evidence(found(0.5), kinds)]) for kinds in (then, now)]
    ((finding,),) = (model.findings for model in compare(*runs).models)
    ((same,),) = (model.findings for model in compare(runs[0], runs[0]).models)

    assert same.note == ""
    digits, swear, lists = finding.note.split("; ")
    assert digits == "digits: +2.0 sd, then +0.4 sd"
    assert swear.endswith(": -1.2 sd, then not among the surest")
    assert "fucks" not in swear
    assert lists == "lists: not among the surest, then +0.9 sd"


def upside_down(finding: Finding) -> Finding:
    """The same measurement with the other sign, against the same bound from the other side."""
    of, (low, high) = finding.estimate, finding.bound.ends
    assert of is not None
    turned = replace(of, value=-of.value, low=-of.high, high=-of.low)
    return but(finding, estimate=turned, bound=Bound(-high, -low, finding.bound.unit))


@pytest.mark.parametrize(("old", "new", "expected"), PAIRS)
def test_a_bound_from_above_is_the_same_upside_down(
    old: Finding, new: Finding, expected: Change
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


def test_an_older_file_has_no_difference_and_is_compared_without() -> None:
    """As if the two were independent, which finds less and invents nothing."""
    old, new = paired(0.9), paired(0.8)
    summary = replace(summarize_earlier(old, new), difference=None)

    assert compare_finding(summary, new).change is Change.UNCHANGED
