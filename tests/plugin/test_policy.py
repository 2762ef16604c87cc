"""The policy of models.yaml, and the options that go with it, in a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import Run

Results = Callable[[], dict[str, Any]]
Write = Callable[..., None]

HIGH = "@declare({low})\ndef test_high(rng): return estimate(1.0)"
WAIVER = "{{owner: me, reason: It is small., expires: {expires}, accepted: {accepted}}}"


@pytest.fixture
def write(run: Run, toy: Path, pytester: pytest.Pytester) -> Write:
    """Write a models.yaml whose one model is the toy; `own` are further keys of its entry."""

    def go(own: str = "", everywhere: str = "") -> None:
        text = f"{everywhere}\nmodels:\n  Toy:\n    source: {toy}\n    default: true\n"
        inner = "".join(f"    {line}\n" for line in own.splitlines())
        pytester.path.joinpath("models.yaml").write_text(text + inner, encoding="utf-8")

    return go


def waiver(audit: str = "high", expires: str = "2999-12-31", accepted: float = 1.0) -> str:
    """A waiver of one audit, as a line of an entry."""
    return f"waivers: {{{audit}: {WAIVER.format(expires=expires, accepted=accepted)}}}"


@pytest.mark.parametrize("audit", ["high", "'high[worst]'"])
def test_a_waived_failure_is_an_xfail(audit: str, run: Run, write: Write, results: Results) -> None:
    """It is green, counted as WAIVED, and results.json says who accepted what and until when."""
    write(waiver(audit))

    result = run(HIGH.format(low=2.0), "-k", "worst", model=None)

    result.assert_outcomes(deselected=1, xfailed=1)
    assert result.ret == pytest.ExitCode.OK
    said = "1 points accepted until 2999-12-31 (me): It is small."
    result.stdout.fnmatch_lines([f"WAIVED: high[[]Toy-worst[]]: {said}", "1 audited: 1 WAIVED"])
    (finding,) = results()["findings"]
    assert (finding["verdict"], finding["blocks"]) == ("FAIL", False)
    assert finding["waiver"]["terms"]["owner"] == "me"
    assert finding["waiver"]["terms"]["accepted"] == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (waiver(expires="2000-01-31"), "its waiver expired at the end of 2000-01-31 (me): *"),
        (waiver(accepted=1.2), "its waiver accepts 1.2 points (me), and the whole interval *"),
    ],
)
def test_a_waiver_that_ended_or_was_outgrown_fails(
    given: str, says: str, run: Run, write: Write
) -> None:
    """The verdict stands again, and the failure says why, in its own text and in the summary."""
    write(given)

    result = run(HIGH.format(low=2.0), "-k", "worst", model=None)

    result.assert_outcomes(deselected=1, failed=1)
    result.stdout.fnmatch_lines([f"  waiver     {says}", f"FAIL: high[[]Toy-worst[]]: {says}"])


def test_a_waiver_of_what_passes_can_go(run: Run, write: Write) -> None:
    """It fails nothing: it is said to be removable."""
    write(waiver())

    result = run(HIGH.format(low=0.0), "-k", "worst", model=None)

    result.assert_outcomes(deselected=1, passed=1)
    result.stdout.fnmatch_lines(
        ["PASS: high[[]Toy-worst[]]: passes: remove high from `waivers` (me)"]
    )


def test_runxfail_shows_waived_failures(run: Run, write: Write) -> None:
    """With pytest's --runxfail what is waived fails, as any xfail would."""
    write(waiver())

    result = run(HIGH.format(low=2.0), "-k", "worst", "--runxfail", model=None)

    result.assert_outcomes(deselected=1, failed=1)


def test_a_bound_of_the_policy_is_shown_as_such(run: Run, write: Write, results: Results) -> None:
    """In the failure, in the summary, and in results.json."""
    write("bounds: {high: {above: 3}}", everywhere="bounds: {high: {above: 0.5}}")

    result = run(HIGH.format(low=0.0), "-k", "worst", model=None)

    result.assert_outcomes(deselected=1, failed=1)
    where = "models.yaml: Toy: bounds: high"
    result.stdout.fnmatch_lines(
        [
            f"  bound      above 3 points ({where}; declared: above 0 points)",
            f"FAIL: high[[]Toy-worst[]]: bound as in {where}; declared: above 0 points",
        ]
    )
    (finding,) = results()["findings"]
    assert (finding["judgement"]["bound"]["low"], finding["claim"]["bound"]["low"]) == (3, 0)


def test_a_folder_has_no_waivers_of_a_model_of_its_name(
    run: Run, write: Write, pytester: pytest.Pytester
) -> None:
    """What is said of an entry is said of its checkpoint, not of another of the same name."""
    write(waiver())
    path = pytester.path / "models.yaml"
    other = "  toy:\n    source: owner/toy\n    " + waiver() + "\n"
    path.write_text(path.read_text(encoding="utf-8") + other, encoding="utf-8")

    result = run(HIGH.format(low=2.0), "-k", "worst")

    result.assert_outcomes(deselected=1, failed=1)


# Names


@pytest.mark.parametrize(
    ("own", "everywhere", "said"),
    [
        (
            waiver("hihg"),
            "",
            "6: Toy: waivers: no audit is called 'hihg'; did you mean 'high'? known: high",
        ),
        ("bounds: {hihg: {above: 1}}", "", "6: Toy: bounds: no audit is called 'hihg'; *"),
        ("", "severity: {hihg: info}", "1: severity: no audit is called 'hihg'; *"),
        (waiver("'high[bets]'"), "", "6: Toy: waivers: high is not asked under 'bets'; *"),
        (waiver("'high[best]'"), "", "*is not asked under 'best'; known: greatest, worst"),
    ],
)
def test_a_name_of_no_audit_stops_the_run(
    own: str, everywhere: str, said: str, run: Run, write: Write
) -> None:
    """Before anything is measured, with file and line."""
    write(own, everywhere)

    result = run(HIGH.format(low=0.0), "-k", "worst", model=None)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: models.yaml:{said}"])


def test_part_of_a_suite_knows_the_rest(run: Run, write: Write, pytester: pytest.Pytester) -> None:
    """One file, one test, or what -k leaves: the other audits are still known by their names."""
    inner = pytester.mkdir("more")
    inner.joinpath("test_more.py").write_text("def test_low(rng): ...", encoding="utf-8")
    write(waiver("low"), everywhere="severity: {high: gate, 'high[greatest]': info}")
    node = "test_toy.py::test_high[Toy-worst]"

    for asked in (["test_toy.py"], [node], ["test_toy.py", "-k", "worst"]):
        result = run(HIGH.format(low=0.0), *asked, model=None)
        assert result.ret == pytest.ExitCode.OK

    inner.joinpath("test_more.py").unlink()
    assert run(HIGH.format(low=0.0), node, model=None).ret == pytest.ExitCode.USAGE_ERROR


def test_suites_without_audits_are_left_alone(write: Write, pytester: pytest.Pytester) -> None:
    """A policy is checked where audits are collected."""
    write(waiver("hihg"))
    pytester.makepyfile(test_plain="def test_one(): pass")

    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


# Options


@pytest.mark.parametrize(
    ("given", "outcome"), [([], "failed"), (["--rm-inconclusive", "pass"], "passed")]
)
def test_inconclusive_does_not_pass_unless_told_to(
    given: list[str], outcome: str, run: Run
) -> None:
    """Either way it is counted as what it is."""
    result = run(HIGH.format(low=1.05), "-k", "worst", *given)

    result.assert_outcomes(deselected=1, **{outcome: 1})
    result.stdout.fnmatch_lines(["1 audited: 1 INCONCLUSIVE"])


def test_inconclusive_pass_lets_no_failure_through(run: Run) -> None:
    """It is for intervals that straddle their bound."""
    result = run(HIGH.format(low=2.0), "-k", "worst", "--rm-inconclusive", "pass")

    result.assert_outcomes(deselected=1, failed=1)


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


def test_a_gap_is_not_green_where_nothing_may_be_missing(run: Run, results: Results) -> None:
    """Skipped from inside or by a mark: it counts as SKIPPED, and the run fails with the reason."""
    assert run(SKIPS, "--rm-report", "free").ret == pytest.ExitCode.OK

    result = run(SKIPS, "-k", "worst", "--rm-missing", "fail")

    result.assert_outcomes(deselected=3, passed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "--rm-missing fail: inside gates, and was not measured: not today",
            "3 audited: 1 PASS, 2 SKIPPED",
        ],
    )
    assert [f["blocks"] for f in results()["findings"]] == [False, True, True]


def test_what_gates_nothing_may_be_missing(run: Run, write: Write) -> None:
    """An audit that is only shown is skipped in peace."""
    write(everywhere="severity: {inside: info, marked: info}")

    result = run(SKIPS, "--rm-missing", "fail", model=None)

    result.assert_outcomes(passed=2, skipped=4)
    assert result.ret == pytest.ExitCode.OK


def test_same_under_xdist(run: Run, write: Write) -> None:
    """Two processes: waived there, waived here, and not run at all where a name is wrong."""
    write(waiver())
    result = run(HIGH.format(low=2.0), "-n2", model=None)
    result.assert_outcomes(xfailed=2)
    result.stdout.fnmatch_lines(["2 audited: 2 WAIVED"])

    write(waiver("hihg"))
    wrong = run(HIGH.format(low=2.0), "-n2", model=None)
    assert wrong.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR)
    wrong.stdout.fnmatch_lines(["*no audit is called 'hihg'; did you mean 'high'? known: *"])
    wrong.stdout.no_fnmatch_line("*INTERNALERROR*")
    wrong.stdout.no_fnmatch_line("*audited*")


def test_workers_change_no_order(run: Run, results: Results) -> None:
    """Findings are in the order of collection, whichever process ends first."""
    body = """
import time
@declare(0.0)
def test_slow(rng): time.sleep(1); return estimate(1.0)
@declare(0.0)
def test_quick(rng): return estimate(1.0)
"""
    run(body, "-n2")

    assert [finding["audit"] for finding in results()["findings"]] == [
        *("slow", "slow", "quick", "quick")
    ]


def test_what_a_model_was_trained_on_is_said(run: Run, write: Write, results: Results) -> None:
    """A finding that rests on references says which half of them the model is judged by."""
    write("trained_on: salt")
    body = "@declare(0.0)\ndef test_half(references):\n    references.lexicon('afinn')\n"

    run(body + "    return estimate(1.0)", "-k", "worst", model=None)

    (finding,) = results()["findings"]
    (caveat,) = finding["estimate"]["caveats"]
    assert caveat.startswith("This model was trained on half of the reference words")
