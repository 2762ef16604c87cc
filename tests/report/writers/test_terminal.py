"""The summary that ends a run: its verdict, what blocks, a line an audit, what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rmaudit.report.summary import Summary, summarize_findings
from rmaudit.report.writers.terminal import ASCII, Screen, quiet, summary, table
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from rmaudit.verdicts.findings import Control, Finding
from rmaudit.verdicts.run_verdict import of_run
from tests.findings import but, found, gap, waived

INFO = Severity.INFO
LONG = "How common a word is hardly moves its reward, however long it is and whoever says it."


def summed_up(findings: Sequence[Finding], gaps: Sequence[str] = ()) -> Summary:
    """The summary of these findings."""
    return summarize_findings(findings, of_run(findings, gaps), gaps)


def told(findings: Sequence[Finding], gaps: Sequence[str] = (), **screen: object) -> list[str]:
    """The lines of a summary of these findings."""
    run = summed_up(findings, gaps)
    return [each.text for each in summary(run, Screen(**screen))]  # type: ignore[arg-type]


def every() -> list[Finding]:
    """A finding of each kind, of one model."""
    return [
        found(0.4, 0.6, audit="passing"),
        found(0.7, 0.8, audit="passing", prompt="worst"),
        found(0.4, 0.6, audit="fine"),
        but(found(0.4, 0.6, audit="mixed"), known=""),
        found(-0.6, -0.4, audit="mixed", prompt="worst"),
        found(-0.0004, 0.0012, audit="straddling", text=LONG),
        but(
            found(-0.6, -0.4, audit="accepted"),
            known="It was left so on purpose, " * 4,
            blocks=False,
        ),
        gap("toy: no list of words; get it with: rmaudit data words", audit="gapped"),
        gap("toy: no list of words; get it with: rmaudit data words", audit="lacking"),
        gap("it broke", Verdict.ERROR, audit="broken"),
        found(0.4, 0.6, audit="inside", severity=INFO),
        found(0.4, 0.6, audit="outside", severity=INFO),
        found(-0.6, -0.4, audit="outside", prompt="worst", severity=INFO),
        found(-0.1, 0.1, audit="open", severity=INFO),
        found(-0.1, 0.1, audit="few", severity=Severity.GATE),
    ]


GOLDEN = """\
FAILS  9 gates: 2 pass, 2 fail (1 accepted), 2 open, 3 not run
not a whole run: 3 of 41 audits were selected
✗ mixed  fail under worst (blocks): best 0.50, worst -0.50, must be above 0
    Mixed: It is skewed.
    read on: docs/mixed.md
○ straddling  open (blocks): 0.0004 [-0.0004, 0.0012], must be above 0
    Straddling: How common a word is hardly moves its reward, however long it is
    and whoever says it.
    harm is neither shown nor ruled out; a true value of -0.0011 sd or worse
    would have been shown in 80 of 100 cases
    read on: docs/straddling.md
~ accepted  fail (accepted): -0.50 [-0.60, -0.40], must be above 0
    accepted: It was left so on purpose, It was left so on purpose, It was le...
○ few  open: 0.00 [-0.10, 0.10], must be above 0
✓ passing  pass: best 0.50, worst 0.75, must be above 0
✓ fine  pass: 0.50 [0.40, 0.60], must be above 0
– broken (blocks): not run: it broke
– gapped, lacking: not run; get it with: rmaudit data words
    no list of words
3 informational: 1 pass, 1 fail (outside[worst]), 1 open (open)
"""


def test_the_whole() -> None:
    """The verdict, then what blocks and what that says; the rest a line each, a reason once."""
    written = told(every(), ["3 of 41 audits were selected"], read_on="docs/{}.md".format)

    assert "\n".join(written) + "\n" == GOLDEN


def test_without_gates_the_informational_audits_are_told() -> None:
    """They are all that was asked for: value, interval and bound, and that none blocks."""
    written = told([finding for finding in every() if finding.severity is INFO])

    assert "✓ inside  pass (info): 0.50 [0.40, 0.60], must be above 0" in written
    assert [line.split()[:2] for line in written if line[0] in "✗○"] == [
        ["✗", "outside"],
        ["○", "open"],
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_it_fits_and_can_be_plain(width: int) -> None:
    """No line is wider than the screen; with plain marks all of it is ASCII."""
    written = told(every(), width=width, marks=ASCII)

    assert max(map(len, written)) <= width
    assert all(text.isascii() and text == text.rstrip() for text in written)
    assert [text[0] for text in written if not text.startswith((" ", "F", "3"))] == [*"xo~o++--"]


def test_many_passes_are_only_named() -> None:
    """Up to three have their values: who asks for one with `-k` wants to see it."""
    few, many = ([found(0.4, 0.6, audit=f"a{i}") for i in range(n)] for n in (3, 4))

    assert [line for line in told(few) if "✓" in line] == [
        f"✓ a{i}  pass: 0.50 [0.40, 0.60], must be above 0" for i in range(3)
    ]
    assert told(many)[-1] == "✓ a0, a1, a2, a3"


def test_colours_say_what_the_marks_say() -> None:
    """Red blocks, yellow is open, green passes; a run that passes is green."""
    shown = {each.text[0]: each.colour for each in summary(summed_up(every()))}
    green = [found(0.4, 0.6)]

    assert shown == {"F": "red", "✗": "red", "○": "yellow", "✓": "green"} | dict.fromkeys(
        " ~–3", ""
    )
    assert summary(summed_up(green))[0].colour == "green"
    assert quiet(summed_up([gap()])).colour == "yellow"
    accepted = [*green, but(found(-0.6, -0.4, audit="accepted"), known="So.", blocks=False)]
    said = "rmaudit: ACCEPTED (1 fail): 2 gates: 1 pass, 1 fail (accepted)"
    assert quiet(summed_up(accepted)).text == said


def test_several_models_have_a_line_each() -> None:
    """What blocks each; a reason that all share is said once."""
    models = [
        [but(f, model=n, reason=f.reason.replace("toy", n).replace("words", n)) for f in every()]
        for n in ("one", "two")
    ]
    fine = but(found(0.4, 0.6), model="three")

    head, *written = told([*models[0], *models[1], fine], width=200)

    assert head == "FAILS  19 gates: 5 pass, 4 fail (2 accepted), 4 open, 6 not run"
    assert written == [
        *(
            f"✗ {name}  FAILS: 9 gates: 2 pass, 2 fail (1 accepted), 2 open, 3 not run; "
            "blocks: mixed, straddling, broken"
            for name in ("one", "two")
        ),
        "✓ three  PASSES: 1 gate: 1 pass",
        "– broken (of 2 models) (blocks): not run: it broke",
        "– gapped, lacking (of 2 models): not run; get it with: rmaudit data NAME",
        "    no list of NAME",
        ("6 informational: 2 pass, 2 fail (outside[worst] of 2 models), 2 open (open of 2 models)"),
    ]
    lost = but(models[0][0], estimate=None, verdict=Verdict.ERROR, reason="it broke", model="four")
    assert any("(of four): not run: it broke" in each for each in told([fine, lost], width=200))


def test_what_is_missing_for_a_release_stands_second() -> None:
    """With its name; an address is cut after its host, and a gate not asked for does not count."""
    url = "https://data.example.org/" + "What%2C%20in%20one%20word" * 9
    findings = [
        found(0.4, 0.6),
        gap(f"toy: {url} could not be downloaded; get it with: rmaudit data elo", audit="elo"),
        gap("no model to compare with; name one", Verdict.NA, audit="agreement"),
    ]

    assert told(findings) == [
        "NOT ESTABLISHED  2 gates: 1 pass, 1 not run; 1 not asked for",
        "Do not release yet: one required check has no data (elo).",
        "✓ skew  pass: 0.50 [0.40, 0.60], must be above 0",
        "– elo: not run; get it with: rmaudit data elo",
        "    https://data.example.org/… could not be downloaded",
        "– agreement: not asked for: no model to compare with; name one",
    ]


def test_who_accepts_a_failure_stands_in_full() -> None:
    """The owner, the day and the bound are never cut; the reason is."""
    waiver = waived(owner="ana@a-company-with-a-long-name.example", reason="It is so. " * 20)

    head, value, signed, until, reason = told([but(found(-0.6, -0.4), waiver=waiver, blocks=False)])

    assert (head, value[0]) == ("ACCEPTED (1 fail)  1 gate: 1 fail (accepted)", "~")
    assert f"{signed} {until.strip()}" == (
        "    accepted by ana@a-company-with-a-long-name.example until 2030-06-30, at worst -0.5 sd"
    )
    assert reason.startswith("    It is so. It is so.")
    assert reason.endswith("...")


@pytest.mark.parametrize("models", [1, 2])
def test_a_pass_of_random_scores_too_says_so(models: int) -> None:
    """Where no gate of competence passes, it may mean that the model prefers nothing."""
    random = {"random": Control(Verdict.PASS, False, 0.1, 0.05, 0.2)}
    findings = [
        found(-0.6, -0.4, audit="framing_inversion"),
        but(found(0.4, 0.6, audit="erasure"), controls=random),
        but(found(0.4, 0.6, audit="gcg"), controls=random),
        found(0.4, 0.6, audit="frequency"),
        *[found(0.4, 0.6, model="another")] * (models - 1),
    ]

    written = told(findings, width=300)

    said = (
        "toy: " if models > 1 else ""
    ) + "erasure, gcg: pass, but it may mean indifference: random scores pass it too, and "
    assert f"✓ {said}framing_inversion does not pass" in written
    assert any(line.startswith("✓ frequency ") for line in written) is (models == 1)


def test_what_models_yaml_has_to_do_with_it() -> None:
    """A waiver that ends soon or is not needed, a bound that is not the audit's own, `known`."""
    soon = replace(waived("expiring", "accepted until 2030-01-20; 5 days left"), days_left=5)
    unneeded = waived("unneeded", "passes: remove skew from `waivers` (me)")
    findings = [
        but(found(-0.6, -0.4, audit="soon"), waiver=soon, blocks=False),
        but(found(0.4, 0.6, audit="late"), waiver=unneeded, bound_by="models.yaml: bounds: late"),
        but(found(0.4, 0.6, audit="old"), known="It fails.", blocks=True),
    ]

    written = "\n".join(told(findings, width=200))
    several = "\n".join(told([*findings, found(0.4, 0.6, model="other")], width=200))

    assert written.count("days left") == several.count("days left") == 1
    assert f"waiver of soon[toy-best]: {soon.says}" in several
    for said in (
        "    accepted by me until 2030-06-30, at worst -0.5 sd; 5 days left\n    It is small.",
        f"waiver of late[toy-best]: {unneeded.says}",
        "not as declared: models.yaml: bounds: late",
        "✗ old  pass (blocks): 0.50 [0.40, 0.60], must be above 0\n    Old: It is skewed.\n    p",
    ):
        assert said in written


def test_the_table_has_every_finding_and_every_reason() -> None:
    """For `-v`: aligned, without trailing spaces; a reason in full once, then by reference."""
    broken = [gap("\n  it\n\tbroke   here\r\n", Verdict.ERROR, prompt=p) for p in "abc"]
    findings = [found(0.4, 0.6, prompt="worst"), but(found(-0.6, -0.4), blocks=False), *broken]

    assert [each.text for each in table(findings)] == [
        "pass             toy  skew  worst  0.50   [0.40, 0.60]    above 0 sd",
        "fail             toy  skew  best   -0.50  [-0.60, -0.40]  above 0 sd",
        *(f"not run  blocks  toy  skew  {p}                             above 0 sd" for p in "abc"),
        "not run (blocks): skew[toy-a]: it broke here",
        *(f"not run (blocks): skew[toy-{p}]: the same as skew[toy-a]" for p in "bc"),
    ]
