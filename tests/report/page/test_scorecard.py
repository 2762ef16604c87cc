"""Rows of the scorecard, and the verdict above them: what comes first, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from rmaudit.report.page import scorecard, verdict_box
from rmaudit.report.page.scorecard import ScorecardRow
from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.outcome import Outcome
from rmaudit.verdicts.records import Effect, Estimate, Result, Severity, Verdict, below
from tests.findings import but, found, gap, waived
from tests.report.conftest import typed, with_findings

HARD, SOFT = {"verdict": Verdict.FAIL, "blocks": True}, {"severity": Severity.INFO}


def rows_of(*findings: Finding) -> list[ScorecardRow]:
    """The rows of one model's findings."""
    anchors = scorecard.anchors(findings, ["Toy"], ())
    return scorecard.rows(findings, anchors, scorecard.scales(findings))


def passing(audit: str, **given: Any) -> Finding:
    """A finding of 0.10, below 0.67."""
    return but(found(0.05, 0.15), audit=audit, bound=below(0.67, unit="sd"), **given)


def failing(audit: str, **given: Any) -> Finding:
    """A finding of 0.75, where below 0.67 is asked for."""
    measured = found(0.7, 0.8)
    return but(measured, audit=audit, bound=below(0.67, unit="sd"), **HARD | given)


def test_gates_come_first_and_among_them_blockers_each_by_title() -> None:
    """Then what informs; a row is as its worst prompt is."""
    findings = [
        passing("numerics", **SOFT),
        passing("ours"),
        passing("frequency_bias"),
        passing("positive_skew", prompt="best"),
        failing("gcg_probes", known="so", blocks=False, title="Adversarial strings"),
        passing("elo_agreement", prompt="best"),
        failing("elo_agreement", prompt="worst"),
    ]

    rows = rows_of(*findings)
    assert [(row.audit, row.result, row.effect) for row in rows] == [
        ("elo_agreement", Result.FAIL, Effect.BLOCKS),
        ("gcg_probes", Result.FAIL, Effect.ACCEPTED),
        ("frequency_bias", Result.PASS, Effect.NONE),
        ("ours", Result.PASS, Effect.NONE),
        ("positive_skew", Result.PASS, Effect.NONE),
        ("numerics", Result.PASS, Effect.INFO),
    ]
    assert [row.gates for row in rows] == [True] * 5 + [False]
    assert rows[1].title == "Adversarial strings"
    assert rows[3].title == "Ours"


def test_anchors_are_the_audits_names_and_never_twice() -> None:
    """With the model's name where there are several; nothing that an id cannot hold."""
    findings = [found(0, 1, audit=audit) for audit in ("a", "summary", "x y", "x-y")]

    assert list(scorecard.anchors(findings, ["Toy"], ["summary"]).values()) == [
        *("a", "summary-2", "x-y", "x-y-2")
    ]
    two = [found(0, 1, audit="a", model=model) for model in ("M", "N<>")]
    assert list(scorecard.anchors(two, ["M", "N<>"], ()).values()) == ["a--M", "a--N-"]


def box(results: dict[str, Any], *findings: Finding) -> verdict_box.Box:
    """The box above the scorecard of these findings."""
    results["run"] |= dict.fromkeys(("collected", "selected", "finished"), len(findings))
    return verdict_box.verdict(with_findings(typed(results), *findings), rows_of(*findings))


def test_what_blocks_is_told_with_how_much(results: dict[str, Any]) -> None:
    """Value, bound and distance; a failure under two prompts is one line; no-go in plain words."""
    said = box(
        results,
        failing("frequency_bias", prompt="best"),
        failing("frequency_bias", prompt="worst"),
        passing("positive_skew"),
        passing("numerics", **SOFT),
    )

    assert (said.outcome, said.words) == (Outcome.FAILS, "Does not pass")
    assert said.gates == "1 of 2 gates passes, 1 fails"
    (line,) = said.blocking
    text = "0.75 [0.70, 0.80] sd, must be below 0.67: 0.08 too high"
    assert line.says == [("best", text), ("worst", text)]


def test_unsure_is_told_with_its_reason(results: dict[str, Any]) -> None:
    """Chance in the run, an interval that crosses, or a null control; the clearest first."""
    unsure = {"bound": below(0.67, unit="sd"), "verdict": Verdict.INCONCLUSIVE}
    crossing = but(found(0.6, 0.7), audit="a", **unsure)
    chance = failing("b", verdict=Verdict.INCONCLUSIVE, reason="may be chance among 9")
    null = {"long words": Control(Verdict.PASS, True, 0.1, 0.0, 0.2)}
    slipped = passing("c", verdict=Verdict.INCONCLUSIVE, controls=null)
    blocking = [but(each, blocks=True) for each in (crossing, chance, slipped)]

    said = box(results, *blocking)
    assert said.words == "Not established"
    assert [line.says[0][1] for line in said.blocking] == [
        (
            "0.75 [0.70, 0.80] sd, must be below 0.67: outside, but with so many gates that may "
            "be chance (Holm)"
        ),
        "0.65 [0.60, 0.70] sd, must be below 0.67: the interval crosses the bound",
        "0.10 [0.05, 0.15] sd, must be below 0.67: a null control passes, so a pass shows nothing",
    ]


def test_a_pass_names_what_is_accepted_and_what_was_not_measured(results: dict[str, Any]) -> None:
    """The first sentence of the excuse, and how to measure what is missing."""
    reason = "no model to compare with; name one with --rm-baseline NAME"
    said = box(
        results,
        passing("positive_skew"),
        failing("frequency_bias", known="It is so, e.g. here. And more of it.", blocks=False),
        gap(reason, Verdict.NA, audit="model_agreement"),
    )

    assert said.words == "Passes, with 1 accepted exception"
    passes, accepted = "1 of 2 gates passes", "1 does not pass but is accepted"
    assert said.gates == f"{passes}, {accepted}; 1 more was not asked for"
    excuse = "Known flaw of the bundled model: It is so, e.g. here."
    assert [line.excuses for line in said.accepted] == [[excuse]]
    assert [(each.why, each.how, each.audits, each.opens) for each in said.missing] == [
        (
            "no model to compare with",
            "name one with --rm-baseline NAME",
            ("Model agreement",),
            False,
        )
    ]


def test_what_is_missing_for_a_release_is_said_with_its_name(results: dict[str, Any]) -> None:
    """In the audit's title; the page never asks its reader whether the run passes."""
    said = box(results, passing("positive_skew"), gap("no data", audit="elo", title="People"))

    assert said.means == "Do not release yet: one required check has no data (People)"


def test_who_accepts_a_failure_until_when_and_up_to_what(results: dict[str, Any]) -> None:
    """In full, whatever the owner is called, and the whole reason: its end may be a promise."""
    waiver = waived(owner="Dr. Ana B. Lee", reason="It is small. And more of it.")
    said = box(results, failing("frequency_bias", waiver=waiver, blocks=False))

    assert [line.excuses for line in said.accepted] == [
        ["Accepted by Dr. Ana B. Lee until 2030-06-30, up to -0.5 sd: It is small. And more of it."]
    ]


def test_a_pass_of_random_scores_too_is_doubted(results: dict[str, Any]) -> None:
    """Where no gate of competence passes; another pass is not."""
    random = {"random": Control(Verdict.PASS, False, 0.1, 0.0, 0.2)}
    said = box(
        results,
        failing("framing_inversion"),
        passing("identity_erasure", controls=random),
        passing("positive_skew"),
    )

    assert [row.audit for row in said.doubted] == ["identity_erasure"]


def test_a_reason_that_differs_by_the_models_name_is_said_once() -> None:
    """With all models that it holds for."""
    lost = [
        gap(f"{model}: no data; get it with: pytest audits --model {model}", model=model, audit="a")
        for model in ("M", "N")
    ]

    (said,) = scorecard.missing(lost)
    assert (said.why, said.how) == ("no data", "pytest audits --model NAME")
    assert said.models == ("M", "N")


def test_an_incomplete_run_is_no_verdict(results: dict[str, Any]) -> None:
    """Whatever it measured: what was left out is told."""
    said = box(results, passing("positive_skew"))
    assert said.words == "Passes"
    results["run"] |= {"part": "only one file"}
    run = with_findings(typed(results), passing("positive_skew"))

    assert verdict_box.verdict(run, rows_of(passing("positive_skew"))).words.startswith(
        "Incomplete"
    )
    assert verdict_box.verdict(run, []).gaps == ["only one file"]


def test_numbers_of_each_prompt() -> None:
    """Of a joint finding, where it has them beside its own."""
    joint = but(found(0, 1), prompt="greatest+best")
    assert joint.estimate is not None
    beside = {"share under greatest": 0.125, "best": 0.25, "other": 1.0}
    joint = but(joint, estimate=type(joint.estimate)(0.5, 0, 1, "sd", 9, "x", secondary=beside))

    assert list(scorecard.by_prompt(joint)) == [("greatest", "0.12"), ("best", "0.25")]
    assert list(scorecard.by_prompt(but(joint, prompt="greatest"))) == []


def test_the_day() -> None:
    """In words; a date of another form as it is."""
    assert verdict_box.day("2026-11-22T09:45:51Z") == "22 Nov 2026, 09:45 UTC"
    assert verdict_box.day("yesterday") == "yesterday"


def estimate(value: float, low: float, high: float, *caveats: str) -> Estimate:
    """An estimate in rho."""
    return Estimate(value, low, high, "rho", 50, "made up", caveats=caveats)


@pytest.fixture
def finding(results: dict[str, Any]) -> Finding:
    """A PASS of 0.625 (0.5 to 0.75), bound above 0.2."""
    return typed(results).findings[0]


def test_caveats_of_several_audits_are_said_once(finding: Finding) -> None:
    """With their ends listed; those of one audit stay with it, once."""

    def of(audit: str, *caveats: str) -> Finding:
        return but(finding, audit=audit, estimate=estimate(0.5, 0.4, 0.6, *caveats))

    findings = [
        of("a", "Half only: 1,000 of 2,000 words.", "Old."),
        of("a", "Half only: 1,000 of 2,000 words.", "Old."),
        of("b", "Half only: 3 of 4 items, 1,000 of 2,000 words.", "No seed: 1."),
        of("c"),
        but(finding, audit="d", estimate=None),
    ]

    common, own = scorecard.caveats(findings)
    assert common == ["Half only: 1,000 of 2,000 words, 3 of 4 items."]
    assert own == {"a": ["Old."], "b": ["No seed: 1."], "c": [], "d": []}


def test_sentences_after_a_colon_are_no_list(finding: Finding) -> None:
    """They would be cut at commas, and said twice in one."""
    said = [f"Starts: 8; distinct: 8. Such tell {share} from 0.05, 4 of 5 times." for share in "12"]
    findings = [
        but(finding, audit=audit, estimate=estimate(0.5, 0.4, 0.6, caveat))
        for audit, caveat in zip("abc", [*said, said[0]], strict=True)
    ]

    assert scorecard.caveats(findings) == ([said[0]], {"a": [], "b": [said[1]], "c": []})
