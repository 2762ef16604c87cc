"""All outputs say the same of one run: they are read back and compared."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rmaudit.outputs import hub_values, markdown
from rmaudit.plugin.audit_run import AuditRun
from rmaudit.report import replay
from rmaudit.report.audit_rows import MARKS, sign_of
from rmaudit.report.five_questions import OTHER
from rmaudit.report.page import html_page
from rmaudit.report.releases import run_comparison
from rmaudit.report.releases.history import group_families
from rmaudit.report.results_document import Results
from rmaudit.report.summary import summarize
from rmaudit.report.writers import terminal
from rmaudit.verdicts.decision import decide, measured
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict, above
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import by_audit, count_gates, worst_of
from rmaudit.verdicts.verdict_policy import Policy, Rules
from rmaudit.verdicts.verdict_wording import explain
from tests.findings import TODAY, but, claim, estimated, found, gap
from tests.report.runs import SPEC, results

KNOWN = Policy(everywhere=Rules(), models={"toy": Rules(known={"known": "It was left so."})})
GATES = "6 gates: 1 pass, 2 fail (1 accepted), 2 open, 1 not run; 1 not asked for"


@pytest.fixture
def run() -> Results:
    """A run with gates of all states; one fails under two prompts, and one may be chance."""
    measured = [
        found(-0.9, -0.8, audit="fails"),
        found(-0.9, -0.8, audit="fails", prompt="worst"),
        found(-0.6, -0.0001, audit="chance"),
        found(-0.1, 0.3, audit="undecided", severity=Severity.GATE),
        found(-0.9, -0.8, audit="known"),
        found(0.1, 0.3, audit="passes"),
        gap("no data", audit="lost"),
        gap("no baseline", Verdict.NA, audit="unasked"),
        found(-0.9, -0.8, audit="informs", severity=Severity.INFO),
    ]
    return results(decide(measured, KNOWN, TODAY))


def test_every_output_counts_the_same_gates(run: Results) -> None:
    """In the same words; a gate that fails under two prompts is one."""
    page, summary = html_page.render(run), markdown.render(run)
    screen = [each.text for each in terminal.summary(summarize(run))]
    again = replay.summarize(run, replay.replay(run, KNOWN, TODAY), KNOWN)

    assert count_gates(run.findings) == GATES
    assert f"FAILS  {GATES}" in screen[0]
    assert f"\n{GATES}\n" in summary
    assert f"</b> 2 gates block (1 fail, 1 open). {GATES}." in page
    assert replay.lines(again)[-2] == f"{GATES}; 0 results changed"
    assert terminal.quiet(summarize(run)).text == f"rmaudit: FAILS: {GATES}"
    assert run.verdict.why.startswith("2 gates block (1 fail, 1 open); ")
    assert f"verdict: {again.verdict}" == replay.lines(again)[-1]


def test_every_output_has_one_sign_for_a_gate(run: Results) -> None:
    """The terminal's line, and the page's row; a fail that may be chance is open in both."""
    page = html_page.render(run)
    shown = re.findall(
        r'<span class="mark [\w-]+" aria-hidden="true">(.)</span>\s*<span class="what"><b>(\w+)',
        page,
    )
    screen = "\n".join(each.text for each in terminal.summary(summarize(run)))

    worst: list[Finding] = [worst_of(own) for own in by_audit(run.findings)]
    signs = {finding.title: MARKS[sign_of(finding)] for finding in worst}
    assert {title: sign for sign, title in shown} == signs
    assert signs["Chance"] == "○"
    for name in ("fails", "chance", "undecided", "known", "passes", "lost"):
        assert f"{signs[name.capitalize()]} {name}" in screen


@pytest.mark.parametrize("value", [0.4996, 0.499997])
def test_no_output_rounds_a_value_onto_its_bound(value: float, tmp_path: Path) -> None:
    """What is short of 0.50 is nowhere shown as 0.50, and so it is seen why it fails."""
    stated = claim(above(0.5, unit="sd"))
    near = measured(stated, estimated(value - 0.02, value, value), Policy(), TODAY)
    old, run = results([but(near, verdict=Verdict.PASS, blocks=False)]), results([near])

    lines = [*terminal.summary(summarize(run)), *terminal.table(run.findings)]
    outputs = {
        "page": html_page.render(run),
        "terminal": "\n".join(each.text for each in lines),
        "summary.md": markdown.render(run),
        "hub": hub_values.render(run),
        "JUnit": explain(near),
        "replay": "\n".join(replay.lines(replay.summarize(old, run, Policy()))),
        "compare": "\n".join(run_comparison.lines(run_comparison.compare(old, run))),
        "history": group_families([(old, tmp_path), (run, tmp_path)])[0].regression,
        "notebook": repr(AuditRun(run, tmp_path)),
    }
    assert str(near.result) == "fail"
    for name, text in outputs.items():
        assert str(value) in text, name
        assert name == "page" or not re.search(r"(?<!above )\b0\.50*\b", text), name


def test_a_failure_is_told_after_all_were_judged(run: Results) -> None:
    """Among so many gates it may be chance: no output calls it a fail."""
    chance = next(finding for finding in run.findings if finding.audit == "chance")
    page = html.unescape(html_page.render(run))

    gates = sum(f.severity.gates and f.estimate is not None for f in run.findings)
    assert str(chance.result) == "open"
    for text in (page, markdown.render(run)):
        assert f"but among {gates} tests one may get there by chance alone" in text


def test_every_output_says_how_many_accepted_gates_fail() -> None:
    """And how many are open: of a release that somebody accepts this is what he agrees with."""
    policy = Policy(models={"toy": Rules(known={"known": "So.", "left": "So."})})
    measured = [found(-0.9, -0.8, audit="known"), found(-0.1, 0.3, audit="left")]
    accepted = results(decide([*measured, found(0.1, 0.3)], policy, TODAY))
    said = "ACCEPTED (1 fail, 1 open)"

    assert f"~</span> {said}</h2>" in html_page.render(accepted)
    assert f"## rmaudit: {said}\n" in markdown.render(accepted)
    assert terminal.summary(summarize(accepted))[0].text.startswith(f"{said}  ")
    assert terminal.quiet(summarize(accepted)).text.startswith(f"rmaudit: {said}: ")
    assert replay.lines(replay.summarize(accepted, accepted, None))[-1] == f"verdict: {said}"


def test_of_several_models_the_questions_have_one_answer() -> None:
    """In the table of summary.md and in that of the page: a row a model, a column a question."""
    findings = decide([found(-0.9, -0.8), found(0.1, 0.3, model="fine")], Policy(), TODAY)
    two = results(findings, specs=(SPEC, replace(SPEC, name="fine")))
    table = [line for line in markdown.render(two).splitlines() if line.startswith("| ")]

    assert table[:4] == [
        f"| model | verdict | {OTHER} |",
        "| --- | --- | --- |",
        "| toy | FAILS | ✗ No: 1 of 1 gate fails. |",
        "| fine | PASSES | ✓ Yes, as far as 1 of 1 gate can tell. |",
    ]
    for line in table[2:4]:
        assert f"</span> {line[:-2].rpartition('|')[2][3:]}</td>" in html_page.render(two)


def test_every_output_names_what_models_yaml_relaxes(run: Results) -> None:
    """A run that passes for it is ACCEPTED, and says so wherever its verdict stands."""
    policy = Policy(everywhere=Rules(severity={"fails": Severity.INFO}))
    off = results(decide(list(run.findings[:2] + run.findings[5:6]), policy, TODAY))
    said = "models.yaml relaxes 1 gate that would block"

    assert str(off.verdict) == f"ACCEPTED (1 fail): {said}: fails"
    assert "<b>Agree</b> with what models.yaml" in html_page.render(off)
    assert (
        "models.yaml keeps it from blocking by another severity, and gives no reason."
        in html_page.render(off)
    )
    assert said in markdown.render(off)
    assert f"{said}: fails" in "".join(each.text for each in terminal.summary(summarize(off)))
    assert said in replay.lines(replay.summarize(off, off, None))[-1]


def test_a_run_in_which_an_audit_broke_is_not_called_free_of_blocks() -> None:
    """The page says what broke, and why; nothing invites to bless it."""
    broken = gap("it broke", Verdict.ERROR, audit="broken")
    page = html_page.render(results(decide([found(0.1, 0.3), broken], Policy(), TODAY)))

    assert "<b>Repair</b>" in page
    assert "it broke" in page
    assert "Nothing blocks" not in page
    assert "Nothing blocks" in html_page.render(results([found(0.1, 0.3)]))
