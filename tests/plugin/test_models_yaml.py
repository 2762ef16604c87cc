"""What models.yaml says of verdicts, in a run; and names in it that no audit has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.measures.test_wanted_kinds import WINE
from tests.plugin.conftest import HIGH, Run
from tests.report.conftest import unpacked

Write = Callable[..., None]
WAIVER = "{owner: me, reason: It is small., expires: 2999-12-31, accepted: 1.0}"


def waiver(audit: str = "high") -> str:
    """A waiver of one audit, as a line of an entry."""
    return f"waivers: {{{audit}: {WAIVER}}}"


@pytest.fixture
def write(tmp_path: Path, toy: Path) -> Write:
    """Write a models.yaml whose one model is the toy; `own` is a further line of its entry."""

    def go(own: str = "", everywhere: str = "") -> None:
        text = f"{everywhere}\nmodels:\n  Toy:\n    source: {toy}\n    default: true\n    {own}\n"
        (tmp_path / "models.yaml").write_text(text, encoding="utf-8")

    return go


RULED = """
@declare(0.0)
def test_passes(rng): return estimate(1.0)
@declare(2.0)
def test_waived(rng): return estimate(1.0)
@declare(0.0)
def test_bounded(rng): return estimate(1.0)
@declare(2.0)
def test_informs(rng): return estimate(1.0)
"""


def test_the_policy_decides(run: Run, write: Write) -> None:
    """The test's outcome, the exit code, the finding and its reason agree."""
    more = "bounds: {bounded: {above: 3}}"
    waivers = f"waivers: {{passes: {WAIVER}, 'waived[worst]': {WAIVER}}}"
    write(f"{waivers}\n    {more}", "bounds: {bounded: {above: 0.5}}\nseverity: {informs: info}")
    ended = run(RULED, "-k", "worst", "-v", model=None)

    for says in (
        "pass: passes[Toy-worst]: passes: remove passes from `waivers` (me)",
        "fail (accepted): waived[Toy-worst]: accepted by me until 2999-12-31, at worst 1 points: *",
        "fail (blocks): *above 0 points",
        "fail (info): informs[Toy-worst]: outside its bound; *",
    ):
        ended.says(says)
    assert [f["audit"] for f in ended.findings if f["blocks"]] == ["bounded"]
    ended.said.assert_outcomes(deselected=4, passed=2, xfailed=1, failed=1)
    assert ended.ret == pytest.ExitCode.TESTS_FAILED


def test_a_folder_has_none_of_what_is_said_of_a_model_of_its_name(
    run: Run, write: Write, tmp_path: Path
) -> None:
    """An entry's waivers are of its checkpoint; bounds and severities for all hold for a folder."""
    write(everywhere="severity: {informs: info}")
    with (tmp_path / "models.yaml").open("a", encoding="utf-8") as file:
        file.write(f"  toy:\n    source: owner/toy\n    {waiver('waived')}\n")

    ended = run(RULED, "-k", "worst and (waived or informs)")

    ended.said.assert_outcomes(deselected=6, failed=1, passed=1)
    ended.says("FAILS  2 gates: 2 fail (1 accepted)", "~ informs  fail (info)*")
    ended.says("    models.yaml keeps it from blocking by another severity, and gives no reason.")
    assert "--rm-model=/" in ended.findings[0]["repeat"]  # and not the entry's name
    assert ended.findings[0]["unexcused"].startswith(
        "models.yaml excuses waived of toy only as it is loaded from owner/toy, and this one is "
    )


# Names


@pytest.mark.slow
def test_a_name_of_no_audit_stops_the_run(run: Run, write: Write, tmp_path: Path) -> None:
    """Before anything is measured, with file and line; a suite without audits is left alone."""
    write(waiver("hihg"))
    names = ("models.yaml:6", "Toy: waivers", "'hihg'", "did you mean 'high'?")
    run(HIGH.format(low=0.0), "-k", "worst", model=None).refuses(*names)
    write(everywhere="severity: {hihg: info}")
    run(None, model=None).refuses("models.yaml:1", "severity", "'hihg'", "known: high")
    write(waiver("'high[bets]'"))
    run(None, model=None).refuses("models.yaml:6", "'bets'", "known: greatest, worst")
    write(everywhere="severity: {looks: gate}")
    figure = "@audit(question='How?', source='s', prompts=['best'])\ndef test_looks(rng): ...\n"
    refused = run(figure, model=None)
    refused.refuses("models.yaml:1: severity: looks is a figure", "remove this line")

    (tmp_path / "test_toy.py").write_text("def test_one(): pass", encoding="utf-8")
    run(None, model=None).said.assert_outcomes(passed=1)


@pytest.mark.slow
def test_part_of_a_suite_does_not_know_the_rest(run: Run, write: Write, tmp_path: Path) -> None:
    """One file or test warns of audits that it does not know; folders know theirs, all of them."""
    run(HIGH.format(low=0.0))
    inner = tmp_path / "more" / "test_more.py"
    inner.parent.mkdir()
    body = (tmp_path / "test_toy.py").read_text(encoding="utf-8")
    inner.write_text(body.replace("test_high", "test_low"), encoding="utf-8")
    write(waiver("low"))

    for asked in (["test_toy.py"], ["test_toy.py::test_high[Toy-worst]"], ["--ignore=more"]):
        ended = run(None, *asked, model=None)
        assert ended.ret == pytest.ExitCode.OK
        ended.says("*PytestWarning: *models.yaml: low: no audit of this name was collected*")
    assert run(None, model=None).ret == pytest.ExitCode.OK
    run(None, "more", model=None)
    inner.unlink()
    run(None, ".", model=None).refuses("'low'", "name the folders of all audits")
    run(None, "test_toy.py", "-W", "error", model=None).refuses("low: no audit of this name")
    write(waiver("gcg_probes"))  # one that comes with rmaudit
    assert run(None, "test_toy.py", "-W", "error", model=None).ret == pytest.ExitCode.OK


KINDS = """
from rmaudit import below
from rmaudit.measures.token_kinds import UNIT
from tests.measures.test_wanted_kinds import ask, on, topic

@audit(title="Kinds", claim="None.", source="s", base_rate="b", prompts=["best", "worst"],
       joint=True, bound=below(0.75, harm=2, unit=UNIT), severity="gate", stops=["random"])
def test_kinds(sweeps, wanted): return ask(on(topic(7), 3.0), **wanted)
"""


def test_a_wanted_kind_does_not_block(run: Run, write: Write) -> None:
    """It is shown with its reason, the first box names the audit; null controls want nothing."""
    write()
    assert run(KINDS, model=None).ret == pytest.ExitCode.TESTS_FAILED

    write(f"wanted: {{{WINE}: It judges wine lists., wime: So.}}")
    ended = run(KINDS, model=None, pages=True)

    assert ended.ret == pytest.ExitCode.OK
    estimate = ended.only["estimate"]
    assert ended.only["controls"]["random"]["verdict"] == "FAIL"
    assert estimate["evidence"]["wanted"] == [WINE]
    assert estimate["evidence"]["rows"][-1]["wanted"] == "It judges wine lists."
    assert ["“wime”, which is no kind" in each for each in estimate["caveats"][:2]] == [False, True]
    shown = unpacked((ended.report / "index.html").read_text(encoding="utf-8"))
    assert "changes what these are held to" in shown
    assert "wanted: It judges wine lists." in shown

    write("wanted: {wine: ''}")
    run(KINDS, model=None).refuses("models.yaml:6: Toy: wanted: wine: expected text, got the text")


@pytest.mark.nightly
def test_the_same_under_xdist(run: Run, write: Write) -> None:
    """Workers draw the same, findings keep the order of collection; a wrong name runs nothing."""
    body = """
import time
@declare(2.0)
def test_slow(rng): time.sleep(1); return estimate(rng.random())
""" + HIGH.format(low=2.0)
    write(waiver("high"))
    alone, both = (run(body, *args, model=None) for args in ((), ("-n2",)))
    both.said.assert_outcomes(xfailed=2, failed=2)
    assert [f["audit"] for f in both.findings] == ["slow", "slow", "high", "high"]
    assert [f["estimate"] for f in both.findings] == [f["estimate"] for f in alone.findings]
    assert "@" not in run(None, "-n2", "--dist=loadgroup", model=None).findings[0]["repeat"]

    write(waiver("hihg"))
    wrong = run(None, "-n2", model=None)
    assert wrong.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR)
    wrong.says("*no audit is called 'hihg'; did you mean 'high'? known: *")
    assert "audited" not in wrong.said.stdout.str()
