"""Stored findings decided anew: which flip, what blocks, and what a run comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as dc_replace
from datetime import date

import pytest

from rmaudit.models.recorded_model import CAVEAT
from rmaudit.report.releases.finding_comparison import Measured
from rmaudit.report.replay import ReplaySummary, lines, outcome, replay, summarize
from rmaudit.report.results_document import OWN_LISTS, Results
from rmaudit.verdicts.estimates_and_bounds import Estimate, Severity, Verdict, above
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import NamedAudit, Policy, Rules, Waiver
from tests.findings import but
from tests.report.runs import FINDING, RUN, results

TODAY = date(2026, 11, 21)
ESTIMATE = Estimate(0.2, 0.1, 0.3, "skewness", 99, "made up")
PASSING = but(FINDING, estimate=ESTIMATE)
FAILING = but(PASSING, verdict=Verdict.FAIL, prompt="best", bound=above(0.5, unit="skewness"))
UNMEASURED = but(PASSING, estimate=None, verdict=Verdict.SKIPPED, reason="No data here.")


def decided(policy: Policy, *findings: Finding, on: date = TODAY) -> ReplaySummary:
    """What a replay of these under the policy says."""
    old = results(findings)
    return summarize(old, replay(old, policy, on), policy)


# What a run comes to


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ([], "pass"),
        ([Verdict.INCONCLUSIVE], "open"),
        ([Verdict.SKIPPED], "open"),
        ([Verdict.ERROR], "not run"),
        ([Verdict.ERROR, Verdict.INCONCLUSIVE], "not run"),
        ([Verdict.FAIL], "fail"),
        ([Verdict.ERROR, Verdict.FAIL, Verdict.SKIPPED], "fail"),
        ([Verdict.PASS], "fail"),  # which models.yaml expects to fail
    ],
)
def test_the_outcome_is_that_of_what_blocks(stops: Sequence[Verdict], expected: str) -> None:
    """Fail before not run before open; what does not block does not count."""
    blocking = [but(FAILING, verdict=verdict, blocks=True) for verdict in stops]
    measured = set(Verdict) - {Verdict.SKIPPED}  # a gate that should have been measured is a gap
    others = [but(FAILING, verdict=verdict) for verdict in measured]

    assert outcome(results([PASSING, *others, *blocking])) == expected


def test_nothing_measured_is_no_pass() -> None:
    """Though nothing blocks."""
    assert [outcome(results(each)) for each in ([UNMEASURED], [])] == ["open"] * 2


# Under another policy


def test_a_bound_flips_a_verdict() -> None:
    """And it is said where the bound is from; nothing else moves."""
    bounds = {"positive_skew[worst]": (0.25, float("inf"))}
    policy = Policy(models={"toy": Rules(bounds=bounds)})

    told = decided(policy, PASSING, but(PASSING, prompt="greatest"))

    (flip,) = told.flips
    assert (flip.prompt, str(flip.old), str(flip.new)) == ("worst", "pass", "open (blocks)")
    assert "models.yaml: toy: bounds: positive_skew[worst]" in flip.why
    assert flip.bound == "above 0.25 skewness"
    assert flip.estimate == Measured(0.2, 0.1, 0.3, "skewness", 99)
    assert (told.outcome, told.gates) == ("open", "1 gate: 1 open")
    assert [stop.prompt for stop in told.blocking] == ["worst"]


def test_what_is_known_is_known_under_the_audits_own_prompts() -> None:
    """Of a run that asked others, or saw other words, only what names the very prompt."""
    known = Rules(known={"positive_skew": "expected", "positive_skew[beste]": "this prompt too"})
    policy = Policy(models={"toy": known})
    old = results([FAILING, but(FAILING, prompt="beste")])
    asked = old.run.environment | {OWN_LISTS: "prompts beste (deutsch.yaml)"}
    others = dc_replace(old, run=dc_replace(old.run, environment=asked))

    def of(run: Results) -> list[str]:
        return [finding.judgement.known for finding in replay(run, policy, TODAY).findings]

    assert of(old) == ["expected", "this prompt too"]
    assert of(others) == ["", "this prompt too"]
    assert outcome(replay(others, policy, TODAY)) == "fail"


def test_the_same_policy_again_flips_nothing() -> None:
    """Deciding what was decided."""
    policy = Policy(everywhere=Rules(severity={"positive_skew": Severity.INFO}))
    once = replay(results([PASSING, FAILING, UNMEASURED]), policy, TODAY)

    again = replay(once, policy, TODAY)

    assert again == once
    assert summarize(once, again, policy).flips == ()


def test_rules_that_decide_nothing_are_named() -> None:
    """Those of another model of the same name, and of what no finding has: it may be misspelt."""
    named = (
        NamedAudit("positive_skew", "bounds: ", 2),
        NamedAudit("positive_skew[worst]", "toy: waivers: ", 7),
        NamedAudit("positive_skew[worse]", "toy: waivers: ", 8),
        NamedAudit("positve_skew", "bounds: ", 9),
    )
    waiver = Waiver("me", "because", date(2026, 11, 30), 0.2)
    rules = {"toy": Rules(waivers={"positive_skew": waiver})}

    told = decided(Policy(models=rules, sources={"toy": "x/y"}, named=named), FAILING, PASSING)
    own = decided(Policy(models=rules, sources={"toy": "owner/name"}), FAILING)

    assert (told.outcome, own.outcome, own.foreign) == ("fail", "pass", ())
    (line,) = told.foreign
    assert all(name in line for name in ("toy", "x/y", "owner/name"))
    assert list(told.unmatched) == [
        (
            "models.yaml:8: toy: waivers: positive_skew[worse]: there is no finding of it here: "
            "it decides nothing"
        ),
        "models.yaml:9: bounds: positve_skew: there is no finding of it here: it decides nothing",
    ]


def test_the_lines_of_a_replay() -> None:
    """What changed by which number, what blocks, the sum; nothing of it is a command.

    A finding that is told among the first is not explained again among the second.
    """
    policy = Policy(everywhere=Rules(severity={"positive_skew": Severity.CORE}))
    hostile = but(UNMEASURED, reason="gone\n::error::x\x1b[31m")

    told = lines(decided(policy, PASSING, FAILING, hostile))

    assert told[-2:] == [
        "1 gate: 1 fail; 1 result changed",
        (
            "verdict: FAILS: 1 gate blocks (1 fail); positive_skew was not measured: "
            "gone ::error::x\\x1b[31m"
        ),
    ]
    assert told[0] == (
        "fail -> fail (blocks): positive_skew[toy-best]: +0.20 [+0.10, +0.30], "
        "bound above 0.5 skewness"
    )
    assert told[1:-2] == ["blocks: fail: positive_skew[toy-best]"]


def test_what_blocks_and_did_before_is_explained() -> None:
    """By the same numbers: a file that is asked alone has no flips."""
    stored = results([but(FAILING, blocks=True)])

    told = lines(summarize(stored, stored, None))

    assert told == [
        "blocks: fail: positive_skew[toy-best]: +0.20 [+0.10, +0.30], bound above 0.5 skewness",
        "1 gate: 1 fail",
        "verdict: FAILS: 1 gate blocks (1 fail)",
    ]


def test_a_run_that_was_cut_short_never_passes() -> None:
    """Whatever is left of it; without a policy and under one."""
    run = dc_replace(RUN, collected=2, selected=2, interrupted=True)
    unbegun = but(UNMEASURED, reason="planned, not run: the run was interrupted")
    cut = results([PASSING, unbegun], run=run)

    assert (outcome(results([PASSING])), outcome(cut)) == ("pass", "open")
    assert outcome(replay(cut, Policy(), TODAY)) == "open"
    assert lines(summarize(cut, cut, None))[-1] == (
        "verdict: INCOMPLETE: the run did not finish; positive_skew was not measured: planned, not "
        "run: the run was interrupted"
    )


def test_a_replay_knows_what_was_scored() -> None:
    """A sample, and words of one's own: there a known flaw that passes is not out of date."""
    known = Policy(models={"toy": Rules(known={"positive_skew": "It is flat."})})
    for run, expected in (
        (RUN, "FAILS"),
        (dc_replace(RUN, sample=2000), "INCOMPLETE"),
        (dc_replace(RUN, environment={OWN_LISTS: "mine for labmt"}), "PASSES"),
    ):
        old = results([PASSING], run=run)
        assert old.run.others == (OWN_LISTS in run.environment)
        assert str(replay(old, known, TODAY).verdict.outcome) == expected


def test_of_published_scores_the_verdict_is_one_sentence() -> None:
    """Without the many reasons for which they are too few, and without commands."""
    recorded = but(PASSING, estimate=dc_replace(ESTIMATE, caveats=(CAVEAT,)))
    lost = but(UNMEASURED, audit="lost", reason="toy: too few; get it with: pytest audits")

    said = decided(Policy(), recorded, lost)

    assert said.verdict == (
        "NOT ESTABLISHED: These are published scores of others' models, which say nothing about a "
        "release"
    )
