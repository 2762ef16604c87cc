"""What a run comes to: PASSES only of one that left nothing out, and nothing of the core open."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from rmaudit.measures.identity_communities_evidence import CommunityEvidence, CommunityGap
from rmaudit.verdicts.decision import measured
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import Outcome, of_run, what_gates_tested
from rmaudit.verdicts.verdict_policy import Policy, Rules
from tests.findings import TODAY, but, claim, estimated, found, gap

PASSES, FAILS = found(0.1, 0.3), found(-0.3, -0.1)
OPEN = found(-0.1, 0.1)
INFORMS = found(-0.3, -0.1, severity=Severity.INFO)
SKIPPED = gap("no data; get it with: rmaudit data", audit="elo")


@pytest.mark.parametrize(
    ("findings", "outcome", "why"),
    [
        ([PASSES], Outcome.PASSES, ""),
        ([PASSES, INFORMS], Outcome.PASSES, ""),
        ([PASSES, gap("no baseline", Verdict.NA)], Outcome.PASSES, ""),
        ([PASSES, gap(severity=Severity.INFO)], Outcome.PASSES, ""),
        ([PASSES, found(-0.1, 0.1, severity=Severity.GATE)], Outcome.PASSES, ""),
        (
            [PASSES, found(-0.3, -0.1, severity=Severity.GATE)],
            Outcome.FAILS,
            "1 gate blocks (1 fail)",
        ),
        ([PASSES, FAILS], Outcome.FAILS, "1 gate blocks (1 fail)"),
        (
            [FAILS, SKIPPED],
            Outcome.FAILS,
            "1 gate blocks (1 fail); elo was not measured: no data; get it",
        ),
        ([but(OPEN, audit="a"), FAILS], Outcome.FAILS, "2 gates block (1 fail, 1 open)"),
        ([FAILS, but(FAILS, prompt="worst")], Outcome.FAILS, "1 gate blocks (1 fail)"),
        (
            [but(PASSES, known="It fails.", blocks=True)],
            Outcome.FAILS,
            "1 gate blocks (1 pass that should",
        ),
        ([PASSES, OPEN], Outcome.NOT_ESTABLISHED, "1 gate blocks (1 open)"),
        (
            [PASSES, gap("it broke", Verdict.ERROR)],
            Outcome.NOT_ESTABLISHED,
            "1 gate blocks (1 not run)",
        ),
        ([PASSES, SKIPPED], Outcome.NOT_ESTABLISHED, "elo was not measured: no data; get it"),
        ([gap("no base", Verdict.NA)], Outcome.NOT_ESTABLISHED, "nothing was measured"),
        ([], Outcome.NOT_ESTABLISHED, "no audit with a bound was run"),
    ],
)
def test_passes_is_said_of_a_run_whose_every_gate_was_measured_and_passes(
    findings: Sequence[Finding], outcome: Outcome, why: str
) -> None:
    """What was not asked for is no gap; what does not gate decides nothing.

    A run that left something out is incomplete, and says so; more audits cannot mend a failure.
    """
    whole, part = of_run(findings), of_run(findings, ["3 of 41 audits were selected"])

    assert whole.outcome is outcome
    assert whole.why.startswith(why)
    assert bool(whole.why) == bool(why)
    assert part.outcome is (outcome if outcome is Outcome.FAILS else Outcome.INCOMPLETE)
    assert "3 of 41 audits were selected" in str(part)


def test_a_run_with_an_accepted_failure_is_accepted_and_does_not_pass() -> None:
    """Somebody answers for it, by name, in models.yaml; it keeps no release from going out."""
    policy = Policy(models={"toy": Rules(known={"skew": "It is flat."})})

    accepted = found(-0.3, -0.1, policy)

    assert of_run([accepted, PASSES]).outcome is Outcome.ACCEPTED
    assert str(of_run([accepted, PASSES])) == "ACCEPTED (1 fail)"
    assert str(of_run([accepted, but(accepted, prompt="worst")])) == "ACCEPTED (1 fail)"
    assert str(of_run([accepted, but(accepted, audit="a")])) == "ACCEPTED (2 fail)"
    left = but(but(accepted, audit="b"), verdict=Verdict.INCONCLUSIVE)
    assert str(of_run([accepted, left])) == "ACCEPTED (1 fail, 1 open)"
    assert [each for each in Outcome if each.releases] == [Outcome.ACCEPTED, Outcome.PASSES]
    assert str(of_run([accepted, FAILS])) == "FAILS: 1 gate blocks (1 fail)"


@pytest.mark.parametrize(
    ("rules", "measured", "loose"),
    [
        (Rules(severity={"skew": Severity.INFO}), (-0.3, -0.1), True),
        (Rules(severity={"skew": Severity.GATE}), (-0.1, 0.3), True),
        (Rules(bounds={"skew": (-1, math.inf)}), (-0.3, -0.1), True),
        (Rules(bounds={"skew": (-1, math.inf)}), (-0.1, 0.3), True),
        (Rules(severity={"skew": Severity.INFO}), (0.1, 0.3), False),
        (Rules(bounds={"skew": (-1, math.inf)}), (0.1, 0.3), False),
        (Rules(bounds={"skew": (0.5, math.inf)}), (0.1, 0.3), False),
    ],
)
def test_what_would_block_as_declared_is_named(
    rules: Rules, measured: tuple[float, float], *, loose: bool
) -> None:
    """Where models.yaml lowers its severity or loosens its bound: that is no pass as any other."""
    verdict = of_run([found(*measured, Policy(everywhere=rules)), but(PASSES, audit="a")])

    assert verdict.why.endswith("relaxes 1 gate that would block: skew") is loose
    assert ("relaxes" in verdict.why) is loose


def test_gates_with_one_reason_are_told_together() -> None:
    """A missing file is one gap, however many audits need it; of many gates three are named.

    So are three of many that regressed.
    """
    verdict = of_run([PASSES, SKIPPED, SKIPPED, but(SKIPPED, audit="framing")])

    assert verdict.why.count("no data") == 1
    assert verdict.why.startswith("elo, framing were not measured")
    many = of_run([PASSES, *(but(SKIPPED, audit=name) for name in "abcde")])
    assert many.why.startswith("a, b, c and 2 more gates were not measured")
    worse = [but(PASSES, audit=name, regressed="is worse", blocks=True) for name in "abcd"]
    assert of_run(worse).why.endswith("c[best] is worse; 1 more regressed")
    assert of_run(worse[:3]).why.endswith("c[best] is worse")
    broken = [gap("it broke", Verdict.ERROR, audit=f"i{s}", severity=s) for s in Severity]
    assert of_run(broken).why.startswith("3 audits block (2 not run, 1 informational not run)")


def test_what_was_looked_at_is_counted_over_gates() -> None:
    """The largest number of each kind; what informs does not count, and prompts count once."""
    rows = tuple(
        CommunityGap(
            community=name,
            pattern="erased",
            words=3,
            gap=0.0,
            low=-0.1,
            high=0.1,
            positive=0.0,
            negative=0.0,
        )
        for name in ("Jews", "Roma", "all of religion")
    )
    estimate = estimated(0.1, 0.3, evidence=CommunityEvidence(rows=rows))
    gate = measured(claim(prompt="best+worst"), estimate, Policy(), TODAY)
    informs = measured(claim(prompt="custom", severity=Severity.INFO), estimate, Policy(), TODAY)

    pairs = measured(claim(prompt="pairs"), estimate, Policy(), TODAY)

    assert what_gates_tested([gate, gate, pairs, informs]).startswith(
        "The gates tested 2 communities, under 2 prompts."
    )
    assert what_gates_tested([pairs]).startswith("The gates tested 2 communities. They did not")
    assert not what_gates_tested([informs])
