"""A run and its blessed release: what is compared, what blocks, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rmaudit.cli import app
from rmaudit.errors import SpecError
from rmaudit.report.releases import blessed_release
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


def bless(ran: Ran, *more: str, despite: str = "It is a test.") -> Result:
    """Bless this run."""
    why = ["--despite", despite] if despite else []
    said = CliRunner().invoke(app, ["bless", str(ran.report), "--by", "Ana", *why, *more])
    assert "Traceback" not in said.stderr
    return said


def edited(path: Path, gate: dict[str, Any], **more: Any) -> None:
    """Write other values into the file of a blessed release, and leave its first gate alone."""
    said = json.loads(path.read_text())
    path.write_text(json.dumps(said | {"gates": [said["gates"][0] | gate]} | more))


@pytest.mark.slow
def test_a_damaged_file_is_refused_and_replaced_with_a_word(run: Run, tmp_path: Path) -> None:
    """A run says of it to bless again, so that must do; whose it was, nobody knows."""
    ran = run(suite())
    damaged = tmp_path / "blessed" / "toy.json"
    damaged.parent.mkdir()
    damaged.write_text("{")
    run(suite()).refuses("toy.json: no blessed release: not JSON", "rmaudit bless REPORT")
    said = bless(ran)

    assert said.exit_code == 0
    assert f"could not be read: {damaged.relative_to(tmp_path)}: no blessed" in said.stderr
    assert "in place of" not in said.stdout
    assert blessed_release.read(damaged).by == "Ana"


@pytest.mark.slow
def test_a_clear_regression_blocks_inside_the_bound(run: Run, tmp_path: Path, toy: Path) -> None:
    """In exit code, verdict, terminal, results.json, page and summary; a replay agrees.

    The release is that of the family in models.yaml, whatever its models are called.
    """
    entry = f"models: {{mine: {{source: {toy}, default: true, of: ours}}}}"
    first = run(suite(), "--rm-gate", model="mine", registry=entry)
    assert first.ret == OK
    assert "mine of 20" in bless(first).stdout
    assert (tmp_path / "blessed" / "ours.json").stat().st_size < 2000  # without parts
    same = run(suite(high=1.98), "--rm-gate", model="mine")
    assert same.ret == OK
    same.says("*none regressed*")

    worse = run(suite(high=1.4), model="mine", pages=True)
    assert worse.ret == FAILED
    worse.says("FAILS  2 gates: 1 pass, 1 regressed*", "*1 regressed and blocks; if this is meant*")
    found = {each["audit"]: (each["verdict"], each["blocks"]) for each in worse.findings}
    assert found == {"high": ("PASS", True), "other": ("PASS", False)}
    was = "was 2.00, now 1.40 points, difference -0.6 [-0.741, -0.459]"
    assert worse.findings[0]["regressed"].endswith(was)
    results = read(worse.report / "results.json")
    assert results.verdict.outcome is Outcome.FAILS
    assert "high[greatest] regressed against the blessed release of 20" in results.verdict.why
    assert replay(results, Policy(), TODAY).verdict == results.verdict
    page, summary = ((worse.report / name).read_text() for name in ("index.html", "summary.md"))
    assert "2 gates: 1 pass, 1 regressed" in page
    assert all(said in text for said in ("1 regressed", "Ana") for text in (page, summary))

    assert "in place of mine of" in bless(worse).stdout
    assert run(suite(high=1.4), "--rm-gate", model="mine").ret == OK  # what is blessed is accepted
    why = run(suite(high=-1.6), model="mine").results["verdict"]["why"]
    assert why.startswith("1 gate blocks (1 fail); high[greatest] regressed against")


@pytest.mark.slow
def test_where_nothing_can_be_compared_the_run_is_not_whole(run: Run, tmp_path: Path) -> None:
    """What was blessed in another unit is no baseline; its age is shown, from its --days on."""
    bless(run(suite()), "--days", "30")
    path = tmp_path / "blessed" / "toy.json"
    edited(path, {"unit": "feet"}, created="2026-01-02T00:00:00Z")

    none = run(suite(), "--rm-gate")

    assert none.ret == FAILED
    none.says("INCOMPLETE*", "not a whole run: toy: nothing could be compared with the blessed*")
    none.says("warning: the blessed release of toy is * days old (a warning from 30 on)*")
    assert none.said.stdout.str().count("high[greatest]") == 1


@pytest.mark.slow
def test_what_is_blessed_is_a_whole_run_that_passes_or_has_a_reason(
    run: Run, tmp_path: Path
) -> None:
    """Half a baseline would pass what the other half stopped; one run thrice is no chance."""
    part, failed, first = run(suite(), "-k", "high"), run(suite(high=-1.0)), run(suite())
    report = str(first.report)
    for refused, words in (
        (bless(part), "only a whole run can be blessed (1 of 2 audits were selected)"),
        (bless(failed, despite=""), "1 gate blocks (1 fail); if models.yaml accepts this by now"),
        (bless(first, "--alike", report), "1 other trainings say too little"),
        (bless(first, *["--alike", report] * 3), "that are there already"),
    ):
        assert refused.exit_code == 4
        assert words in refused.stderr
    assert not (tmp_path / "blessed").exists()
    assert "once models.yaml says `of: ours` of it" in bless(first, "--of", "ours").stdout
    assert "once models.yaml" not in bless(first).stdout
    assert "Ana (although it FAILS: It is a test.)" in bless(failed).stdout


@pytest.mark.slow
def test_a_wrong_file_is_refused_with_what_to_do(run: Run, tmp_path: Path) -> None:
    """Parts, too: a baseline that cannot be paired any more would be compared more weakly."""
    bless(run(suite()))
    path = tmp_path / "blessed" / "toy.json"
    whole = path.read_text()
    for gate, rest, words in (
        ({}, {"schema": "rmaudit.blessed/9"}, r"schema is .*rmaudit\.blessed/2.*bless a release"),
        ({}, {"more": 1}, 'has "more".*rmaudit bless REPORT'),
        ({"parts": "0.1 0.2"}, {}, r"no blessed release: gates\[0\]: "),
        ({"parts": "nan " * 64}, {}, r"no blessed release: gates\[0\]: "),
        ({"parts": "some words"}, {}, r"no blessed release: gates\[0\]: "),
        ({"low": 9.0}, {}, r"gates\[0\]: an estimate must lie inside its interval"),
    ):
        path.write_text(whole, encoding="utf-8")
        edited(path, gate, **rest)
        with pytest.raises(SpecError, match=words):
            blessed_release.read(path)
