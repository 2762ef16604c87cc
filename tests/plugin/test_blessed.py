"""A run and its blessed release: what is compared, what blocks, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rmaudit.cli import app
from rmaudit.report.replay import replay
from rmaudit.report.results_reader import read
from rmaudit.verdicts.run_verdict import Outcome
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY
from tests.plugin.conftest import Ran, Run

SUITE = """
@declare(0.0, prompts=["greatest"])
def test_high(rng): return estimate({high})

@declare(0.0, prompts=["greatest"])
def test_other(rng): return estimate({other})
"""
OK, FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and commands begin in one folder."""
    monkeypatch.chdir(tmp_path)


def suite(high: float = 2.0, other: float = 2.0) -> str:
    """Two gates with these values, each ±0.1, that must be above 0."""
    return SUITE.format(high=high, other=other)


def bless(ran: Ran, *more: str) -> Result:
    """Bless the newest run of a folder."""
    report = max(ran.folder.glob("reports/*"), key=lambda path: path.stat().st_mtime_ns)
    said = CliRunner().invoke(app, ["bless", str(report), "--by", "Ana", *more])
    assert "Traceback" not in said.stderr
    return said


def edited(path: Path, **changed: Any) -> None:
    """Write other values into the file of a blessed release."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changed), encoding="utf-8")


def test_a_damaged_file_is_replaced_with_a_word(run: Run, tmp_path: Path) -> None:
    """A run says of it to bless again, so that must do; whose it was, nobody knows."""
    ran = run(suite())
    damaged = tmp_path / "blessed" / "toy.json"
    damaged.parent.mkdir()
    damaged.write_text("{")
    run(suite()).refuses("toy.json: no blessed release", "rmaudit bless REPORT")
    said = bless(ran)

    assert said.exit_code == 0
    assert f"could not be read: {damaged.relative_to(tmp_path)}: no blessed" in said.stderr
    assert "in place of" not in said.stdout
    assert run(suite()).ret == pytest.ExitCode.OK


def test_a_clear_regression_blocks_inside_the_bound(run: Run, tmp_path: Path) -> None:
    """In exit code, verdict, terminal, results.json, page and summary; a replay agrees."""
    first = run(suite(), "--rm-gate")
    assert first.ret == OK
    assert "toy: toy of 20" in bless(first).stdout
    assert (tmp_path / "blessed" / "toy.json").stat().st_size < 2000  # without parts
    same = run(suite(high=1.98), "--rm-gate")
    assert same.ret == OK
    same.says("*none regressed*")

    worse = run(suite(high=1.4), pages=True)
    assert worse.ret == FAILED
    worse.says("FAILS  2 gates: 1 pass, 1 regressed*", "*1 regressed and blocks; if this is meant*")
    by_name = {finding["audit"]: finding for finding in worse.findings}
    assert by_name["high"]["verdict"] == by_name["other"]["verdict"] == "PASS"
    assert by_name["high"]["blocks"]
    assert not by_name["other"]["blocks"]
    assert by_name["high"]["regressed"].endswith(
        "was 2, now 1.4 points, difference -0.6 [-0.741, -0.459]"
    )
    path = max(tmp_path.glob("reports/*/index.html")).parent
    results = read(path / "results.json")
    assert results.verdict.outcome is Outcome.FAILS
    assert "high[greatest] regressed against the blessed release of 20" in results.verdict.why
    assert replay(results, Policy(), TODAY).verdict == results.verdict
    page, summary = ((path / name).read_text() for name in ("index.html", "summary.md"))
    assert "2 gates: 1 pass, 1 regressed" in page
    for text in (page, summary):
        assert "1 regressed" in text
        assert "Ana" in text

    assert "in place of toy of" in bless(worse).stdout
    assert run(suite(high=1.4), "--rm-gate").ret == OK  # a blessed regression is accepted


def test_a_waiver_accepts_a_regression(run: Run, tmp_path: Path, toy: Path) -> None:
    """Its owner signed for the value; without one, a failure that got worse is said to have."""
    entry = f"models: {{mine: {{source: {toy}, default: true, of: ours%s}}}}"
    waiver = ", waivers: {high: {owner: a, reason: b, expires: 2999-01-01, accepted: -3}}"
    (tmp_path / "models.yaml").write_text(entry % waiver, encoding="utf-8")
    bless(run(suite(high=-1.0), model="mine"))
    assert (tmp_path / "blessed" / "ours.json").is_file()
    accepted = run(suite(high=-1.6), "--rm-gate", model="mine")
    assert accepted.ret == OK
    assert "regressed against" in accepted.findings[0]["regressed"]
    (tmp_path / "models.yaml").write_text(entry % "", encoding="utf-8")
    why = run(suite(high=-1.6), model="mine").results["verdict"]["why"]
    assert why.startswith("1 fail blocks; high[greatest] regressed against")


def test_what_cannot_be_compared_is_said(run: Run, tmp_path: Path) -> None:
    """Gate by gate; where nothing is left to compare, the run is no whole one."""
    bless(run(suite()))
    gates = json.loads((tmp_path / "blessed" / "toy.json").read_text())["gates"]
    edited(tmp_path / "blessed" / "toy.json", gates=[gates[0] | {"asked": "other"}, gates[1]])
    some = run(suite(high=1.0), "--rm-gate")
    assert some.ret == OK
    assert some.results["blessed"][0]["apart"] == [
        "other prompts or other words than then: high[greatest]"
    ]
    edited(tmp_path / "blessed" / "toy.json", gates=[gates[0] | {"unit": "feet"}])
    none = run(suite(), "--rm-gate")
    assert none.ret == FAILED
    none.says("INCOMPLETE*", "not a whole run: toy: nothing could be compared with the blessed*")


def test_a_family_that_no_model_has_is_said(run: Run) -> None:
    """Its file would not be used, and the run would say nothing."""
    first = run(suite())
    assert "once models.yaml says `of: ours` of it" in bless(first, "--of", "ours").stdout
    assert "once models.yaml" not in bless(first).stdout


def test_its_age_is_told(run: Run, tmp_path: Path) -> None:
    """From its --days on, as a warning."""
    bless(run(suite()), "--days", "30")
    edited(tmp_path / "blessed" / "toy.json", created="2026-01-02T00:00:00Z")
    old = run(suite())
    assert old.ret == OK
    old.says("warning: the blessed release of toy is * days old (a warning from 30 on)*")
    bless(old)
    assert "days old" not in run(suite()).said.stdout.str()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no JSON", ["toy.json: no blessed release: not JSON", "rmaudit bless REPORT"]),
        ({"schema": "rmaudit.blessed/9"}, ["schema is", "rmaudit.blessed/1", "bless a release"]),
        ({"family": "theirs"}, ["is the blessed release of theirs", "write `of: theirs`"]),
        ({"more": 1}, ['has "more"', "rmaudit bless REPORT"]),
    ],
)
def test_a_wrong_file_is_refused(
    run: Run, tmp_path: Path, text: str | dict[str, Any], words: list[str]
) -> None:
    """Before anything is measured, with what to do."""
    bless(run(suite()))
    path = tmp_path / "blessed" / "toy.json"
    if isinstance(text, str):
        path.write_text(text, encoding="utf-8")
    else:
        edited(path, **text)
    run(suite()).refuses(*words)


def test_parts_that_are_wrong_are_refused(run: Run, tmp_path: Path) -> None:
    """A baseline that cannot be paired any more would be compared more weakly, unsaid."""
    bless(run(suite()))
    path = tmp_path / "blessed" / "toy.json"
    gates = json.loads(path.read_text())["gates"]
    for parts in ("0.1 0.2", "nan " * 64, "some words"):
        edited(path, gates=[gates[0] | {"parts": parts}])
        run(suite()).refuses("toy.json: no blessed release: gates[0]: ")
    edited(path, gates=[gates[0] | {"low": 9.0}])
    run(suite()).refuses("gates[0]: an estimate must lie inside its interval")


def test_only_a_whole_run_is_blessed(run: Run, tmp_path: Path) -> None:
    """Half a baseline would pass what the other half would have stopped."""
    part = bless(run(suite(), "-k", "high"))
    assert part.exit_code == 4
    assert "only a whole run can be blessed (1 of 2 audits were selected)" in part.stderr
    assert not (tmp_path / "blessed").exists()


def test_other_trainings_are_runs_of_other_weights(run: Run, tmp_path: Path) -> None:
    """The same run three times shows nothing of chance; nothing is written."""
    first = run(suite())
    report = str(next(first.folder.glob("reports/*")))
    for others, words in ((1, "1 other trainings say too little"), (3, "that are there already")):
        refused = bless(first, *["--alike", report] * others)
        assert refused.exit_code == 4
        assert words in refused.stderr
    assert not (tmp_path / "blessed").exists()
