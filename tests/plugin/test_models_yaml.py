"""What models.yaml says of verdicts, in a run; and names in it that no audit has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.conftest import HIGH, Run

Write = Callable[..., None]
WAIVER = "{{owner: me, reason: It is small., expires: {expires}, accepted: {accepted}}}"


def waiver(audit: str = "high", expires: str = "2999-12-31", accepted: float = 1.0) -> str:
    """A waiver of one audit, as a line of an entry."""
    return f"waivers: {{{audit}: {WAIVER.format(expires=expires, accepted=accepted)}}}"


@pytest.fixture
def write(tmp_path: Path, toy: Path) -> Write:
    """Write a models.yaml whose one model is the toy; `own` is a further line of its entry."""

    def go(own: str = "", everywhere: str = "") -> None:
        text = f"{everywhere}\nmodels:\n  Toy:\n    source: {toy}\n    default: true\n    {own}\n"
        (tmp_path / "models.yaml").write_text(text, encoding="utf-8")

    return go


@pytest.mark.parametrize(
    ("own", "everywhere", "low", "says"),
    [
        (
            waiver(expires="2000-01-31"),
            "",
            2.0,
            "fail (blocks): high[Toy-worst]: its waiver expired at *",
        ),
        (
            waiver(accepted=1.2),
            "",
            2.0,
            "fail (blocks): high[Toy-worst]: its waiver accepts up to 1.2 points *",
        ),
        (waiver(), "", 0.0, "pass: high[Toy-worst]: passes: remove high from `waivers` (me)"),
        (
            waiver("'high[worst]'"),
            "",
            2.0,
            "fail (accepted): high[Toy-worst]: accepted by me until 2999-12-31, up to 1 points: *",
        ),
        (
            "bounds: {high: {above: 3}}",
            "bounds: {high: {above: 0.5}}",
            0.0,
            "fail (blocks): *above 0 points",
        ),
        ("", "severity: {high: info}", 2.0, "fail (info): high[Toy-worst]: outside its bound; *"),
        ("severity: {high: gate}", "severity: {high: info}", 2.0, "1 findings: 1 fail (blocks)"),
    ],
)
def test_the_policy_decides(  # noqa: PLR0917
    own: str, everywhere: str, low: float, says: str, run: Run, write: Write
) -> None:
    """The test's outcome, the exit code, the finding and its reason agree."""
    write(own, everywhere)
    ended = run(HIGH.format(low=low), "-k", "worst", "-v", model=None)

    ended.says(says)
    green = says.startswith(("pass", "fail (accepted)", "fail (info)"))
    assert ended.ret == (pytest.ExitCode.OK if green else pytest.ExitCode.TESTS_FAILED)
    assert ended.only["blocks"] is not green
    outcome = "xfailed" if says.startswith("fail (accepted)") else "passed" if green else "failed"
    ended.said.assert_outcomes(deselected=1, **{outcome: 1})


def test_runxfail_shows_waived_failures(run: Run, write: Write) -> None:
    """With pytest's --runxfail what is waived fails, as any xfail would."""
    write(waiver())

    run(HIGH.format(low=2.0), "--runxfail", model=None).said.assert_outcomes(failed=2)


def test_a_folder_has_none_of_what_is_said_of_a_model_of_its_name(
    run: Run, write: Write, tmp_path: Path
) -> None:
    """An entry's waivers are of its checkpoint; bounds and severities for all hold for a folder."""
    write(everywhere="severity: {low: info}")
    path = tmp_path / "models.yaml"
    other = "  toy:\n    source: owner/toy\n    " + waiver() + "\n"
    path.write_text(path.read_text(encoding="utf-8") + other, encoding="utf-8")
    low = "@declare(2.0)\ndef test_low(rng): return estimate(1.0)\n"

    ended = run(HIGH.format(low=2.0) + low, "-k", "worst")

    ended.said.assert_outcomes(deselected=2, failed=1, passed=1)
    ended.says("FAILS  1 gate: 1 fail", "1 informational: 1 fail (low)")
    assert "--rm-model=/" in ended.findings[0]["repeat"]  # and not the entry's name
    assert ended.findings[0]["unexcused"].startswith(
        "models.yaml excuses high of toy only as it is loaded from owner/toy, and this one is from "
    )


def test_a_waiver_holds_for_the_weights_that_it_was_signed_for(run: Run, write: Write) -> None:
    """The hash that a run wrote down may stand beside it; of other weights it is no excuse."""
    write(waiver())
    (weights,) = {found["weights"] for found in run(HIGH.format(low=2.0), model=None).findings}

    write(f'{waiver()}\n    weights: "{weights}"')
    signed = run(HIGH.format(low=2.0), model=None)
    write(f'{waiver()}\n    weights: "{"0" * 64}"')
    retrained = run(HIGH.format(low=2.0), "-v", model=None)

    signed.said.assert_outcomes(xfailed=2)
    retrained.said.assert_outcomes(failed=2)
    retrained.says(
        "*models.yaml excuses high of Toy only for the weights with the hash 000000000000, and "
        f"these have {weights[:12]}*"
    )


def test_inconclusive_does_not_pass(run: Run) -> None:
    """It is counted as what it is."""
    low = "@declare(2.0)\ndef test_low(rng): return estimate(1.0)\n"
    ended = run(HIGH.format(low=1.05) + low, "-k", "worst")

    ended.said.assert_outcomes(deselected=2, failed=2)
    ended.says("FAILS  2 gates: 1 fail, 1 unsure")


SKIPS = """
import pytest
@declare(0.0)
def test_high(rng): return estimate(1.0)
@declare(0.0)
def test_inside(rng): pytest.skip("not today")
@pytest.mark.skip(reason="nor tomorrow")
@declare(0.0)
def test_marked(rng): ...
"""


def test_a_gap_is_green_and_never_passes(run: Run, write: Write) -> None:
    """Skipped from inside or by a mark: red with --rm-gate alone, unless it gates nothing."""
    assert run(SKIPS).ret == pytest.ExitCode.OK

    ended = run(SKIPS, "--rm-gate")
    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    ended.says("NOT ESTABLISHED  3 gates: 1 pass, 2 not run")
    assert not any(f["blocks"] for f in ended.findings)

    write(everywhere="severity: {inside: info, marked: info}")
    shown = run(SKIPS, "--rm-gate", model=None)
    shown.said.assert_outcomes(passed=2, skipped=4)
    assert shown.ret == pytest.ExitCode.OK


# Names


@pytest.mark.parametrize(
    ("own", "everywhere", "names"),
    [
        (waiver("hihg"), "", ["models.yaml:6", "Toy: waivers", "'hihg'", "did you mean 'high'?"]),
        ("bounds: {hihg: {above: 1}}", "", ["models.yaml:6", "Toy: bounds", "'hihg'"]),
        ("", "severity: {hihg: info}", ["models.yaml:1", "severity", "'hihg'", "known: high"]),
        (waiver("'high[bets]'"), "", ["models.yaml:6", "'bets'", "known: greatest, worst"]),
    ],
)
def test_a_name_of_no_audit_stops_the_run(
    own: str, everywhere: str, names: list[str], run: Run, write: Write
) -> None:
    """Before anything is measured, with file and line; -k makes no difference."""
    write(own, everywhere)

    run(HIGH.format(low=0.0), "-k", "worst", model=None).refuses(*names)


@pytest.mark.slow
def test_part_of_a_suite_does_not_know_the_rest(run: Run, write: Write, tmp_path: Path) -> None:
    """One file or test warns of audits that it does not know; folders know theirs, all of them."""
    inner = tmp_path / "more"
    inner.mkdir()
    body = run(HIGH.format(low=0.0)).folder.joinpath("test_toy.py").read_text(encoding="utf-8")
    (inner / "test_more.py").write_text(body.replace("test_high", "test_low"), encoding="utf-8")
    write(waiver("low"))

    for asked in (["test_toy.py"], ["test_toy.py::test_high[Toy-worst]"], ["--ignore=more"]):
        ended = run(None, *asked, model=None)
        assert ended.ret == pytest.ExitCode.OK
        ended.says("*PytestWarning: *models.yaml: low: no audit of this name was collected*")
    assert run(None, model=None).ret == pytest.ExitCode.OK
    run(None, "more", model=None)
    (inner / "test_more.py").unlink()
    run(None, ".", model=None).refuses("'low'", "name the folders of all audits")
    run(None, "test_toy.py", "-W", "error", model=None).refuses("low: no audit of this name")
    write(waiver("gcg_probes"))  # one that comes with rmaudit
    assert run(None, "test_toy.py", "-W", "error", model=None).ret == pytest.ExitCode.OK


def test_suites_without_audits_are_left_alone(run: Run, write: Write, tmp_path: Path) -> None:
    """A policy is checked where audits are collected."""
    write(waiver("hihg"))
    (tmp_path / "test_plain.py").write_text("def test_one(): pass", encoding="utf-8")

    run(None, model=None).said.assert_outcomes(passed=1)


@pytest.mark.slow
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
