"""rmaudit replay and compare: files, exit codes, and what is told."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rmaudit.cli.run_demo import BUNDLED
from rmaudit.report import results_document, results_reader, writers
from rmaudit.report.results_of_run import collect, record
from rmaudit.scores.score_store import Store
from rmaudit.verdicts.decision import decide
from rmaudit.verdicts.estimates_and_bounds import Estimate, Severity, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy
from tests.cli.running import run
from tests.findings import TODAY, but
from tests.report.runs import FINDING, RUN, SPEC

ESTIMATE = Estimate(0.2, 0.1, 0.3, "skewness", 99, "made up")
PASSING = but(FINDING, estimate=ESTIMATE)
POLICY = "models: {{toy: {{source: owner/name, default: true, bounds: {{positive_skew: {{{}}}}}}}}}"


def written(path: Path, *findings: Finding) -> Path:
    """The results.json of a run that ended with these findings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results_document.write(collect(RUN, [SPEC], [], decide(findings, Policy(), TODAY)), path)
    return path


def files(folder: Path) -> dict[str, bytes]:
    """What is in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a run left."""
    store, base = Store(tmp_path / "cache"), tmp_path / "reports"
    results, made = record([PASSING], [SPEC], store, RUN, base=base)
    writers.write(results, made)
    return made


# rmaudit replay


@pytest.mark.slow
def test_without_a_policy_all_is_written_again(folder: Path, tmp_path: Path) -> None:
    """The same bytes, elsewhere and in place."""
    before = files(folder)

    run("replay", folder / "results.json", "--out", tmp_path / "new" / "out")
    for name in before.keys() - {"results.json"}:
        (folder / name).unlink()
    told = json.loads(run("replay", folder / "results.json", "--json").stdout)

    assert files(tmp_path / "new" / "out") == files(folder) == before
    assert len(before) > 3
    assert set(told["written"]) == {str(folder / name) for name in before.keys() - {"results.json"}}


@pytest.mark.parametrize("command", ["replay", "compare"])
def test_a_damaged_file_ends_with_3(folder: Path, command: str) -> None:
    """In a line that says where; nothing is written or decided."""
    path = folder / "results.json"
    path.write_text(path.read_text().replace('"PASS"', '"FINE"'))
    before = files(folder)

    result = run(command, path, *([path] if command == "compare" else []))

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"{path}: findings[0].judgement.verdict is ")
    assert len(result.stderr.splitlines()) == 1
    assert files(folder) == before


def test_where_nothing_can_be_written(folder: Path, tmp_path: Path) -> None:
    """Exit 3 and one line."""
    (tmp_path / "file").write_text("")

    result = run("replay", folder / "results.json", "--out", tmp_path / "file" / "below")

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"{tmp_path}/file/below: cannot be written: Not a directory\n"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, 0),
        ({"estimate": Estimate(-0.2, -0.3, -0.1, "skewness", 99, "made up")}, 1),
        ({"estimate": Estimate(0.1, -0.1, 0.3, "skewness", 99, "made up")}, 2),
        ({"verdict": Verdict.SKIPPED, "estimate": None}, 2),
        ({"verdict": Verdict.ERROR, "estimate": None, "blocks": True}, 3),
    ],
)
def test_the_exit_code_of_a_stored_run(
    tmp_path: Path, change: Mapping[str, Any], code: int
) -> None:
    """Without a policy the verdicts are read as they were stored."""
    path = written(tmp_path / "results.json", but(PASSING, **change))

    result, as_json = run("replay", path), run("replay", path, "--json")

    assert result.exit_code == as_json.exit_code == code
    told = json.loads(as_json.stdout)
    assert (told["policy"], told["flips"]) == (None, [])
    *_, verdict = result.stdout.splitlines()
    stored = json.loads(path.read_text(encoding="utf-8"))["verdict"]
    assert verdict == f"verdict: {told['verdict']}".strip()
    assert told["verdict"].startswith(stored["outcome"])
    assert stored["why"].strip() in verdict


def test_the_folder_of_a_run_stands_for_its_results(tmp_path: Path) -> None:
    """As people write it; a folder of something else has no results.json, which is said."""
    written(tmp_path / "results.json", PASSING)
    other = tmp_path / "other"
    other.mkdir()

    assert run("replay", tmp_path).stdout == run("replay", tmp_path / "results.json").stdout
    refused = run("replay", other)
    assert refused.exit_code == 3
    assert str(other / "results.json") in refused.stderr


def test_replay_under_a_policy(tmp_path: Path) -> None:
    """The bound of models.yaml decides; the run so decided is a results.json with its outputs."""
    path, policy = written(tmp_path / "results.json", PASSING), tmp_path / "models.yaml"
    policy.write_text(POLICY.format("above: 0.15"))
    named = ["replay", path, "--policy", policy]

    result = run(*named, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert result.stdout.splitlines()[0].startswith(
        "pass -> open (blocks): positive_skew[toy-worst]: +0.20 [+0.10, +0.30], bound above 0.15 "
        "skewness: harm is neither shown nor ruled out; a "
    )
    assert "bound as in models.yaml: toy: bounds: " in result.stdout.splitlines()[0]
    decided = results_reader.read(tmp_path / "out" / "results.json")
    assert decided.findings[0].bound.low == 0.15
    assert {"index.html", "summary.md"} <= files(tmp_path / "out").keys()
    again = run("replay", tmp_path / "out" / "results.json")
    assert again.exit_code == 2
    assert again.stdout.startswith("blocks: open: positive_skew[toy-worst]: ")


@pytest.mark.slow
def test_a_bundled_models_rules_hold_beside_a_file_of_other_models(tmp_path: Path) -> None:
    """Replay accepts what rmaudit itself accepts of R-Smol-135M, as a run does."""
    path, policy = tmp_path / "results.json", tmp_path / "models.yaml"
    path.write_bytes(gzip.decompress(BUNDLED.read_bytes()))
    policy.write_text("models: {mine: {source: owner/name, default: true}}")

    result = run("replay", path, "--policy", policy, "--json")

    told = json.loads(result.stdout)
    assert (result.exit_code, told["outcome"], told["flips"]) == (0, "pass", [])
    assert not result.stderr


def test_replay_says_which_rules_decide_nothing(tmp_path: Path) -> None:
    """Those of a checkpoint that only bears the same name, and names that no finding has."""
    path, policy = written(tmp_path / "results.json", PASSING), tmp_path / "models.yaml"
    entry = POLICY.format("above: 0.15").replace("owner/name", "owner/another")
    policy.write_text(f"bounds:\n  positve_skew: {{above: 9}}\n{entry}")

    result = run("replay", path, "--policy", policy, "--json")

    told = json.loads(result.stdout)
    assert (result.exit_code, told["flips"]) == (0, [])
    (foreign,), (unmatched,) = told["foreign"], told["unmatched"]
    assert set(result.stderr.splitlines()) == {foreign, unmatched}
    assert all(word in foreign for word in ("toy", "owner/name", "owner/another"))
    assert unmatched == (
        "models.yaml:2: bounds: positve_skew: there is no finding of it here: it decides nothing"
    )


def test_replay_on_another_day(tmp_path: Path) -> None:
    """A waiver is held against the day that is given."""
    failing = Estimate(-0.2, -0.3, -0.1, "skewness", 99, "made up")
    path = written(tmp_path / "results.json", but(PASSING, estimate=failing))
    policy = tmp_path / "models.yaml"
    policy.write_text(
        "models:\n  toy:\n    source: owner/name\n    default: true\n    waivers:\n"
        "      positive_skew:\n"
        "        {owner: me, reason: because, expires: 2026-11-30, accepted: -0.2}\n"
    )
    codes = [
        run("replay", path, "--policy", policy, "--on", day).exit_code
        for day in ("2026-11-30", "2026-12-01")
    ]

    assert codes == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "2026-11-30"], "--policy"),
        (["--policy", "WRONG"], "models.yaml:1: models: expected a mapping"),
        (
            ["--policy", "RULES", "--out", "HERE"],
            "results.json is the run that is replayed; name another folder",
        ),
        (["--policy", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_replay_refuses(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Exit 4, nothing on stdout, the run as it was."""
    path, policy = written(tmp_path / "results.json", PASSING), tmp_path / "models.yaml"
    policy.write_text("models: []")
    rules = tmp_path / "rules.yaml"
    rules.write_text("models: {toy: {source: ./x, default: true}}")
    places = {"WRONG": str(policy), "RULES": str(rules), "HERE": str(tmp_path)}
    before = files(tmp_path)

    result = run("replay", path, *(places.get(a, a) for a in arguments))

    assert (result.exit_code, result.stdout) == (4, "")
    assert said in result.stderr
    assert files(tmp_path) == before


# rmaudit compare


@pytest.mark.parametrize(
    ("value", "severity", "arguments", "code"),
    [
        (0.2, Severity.GATE, [], 0),
        (0.9, Severity.GATE, [], 0),
        (-0.9, Severity.GATE, [], 1),
        (-0.9, Severity.GATE, ["--margin", "1.5"], 2),  # its verdict is worse all the same
        (-0.9, Severity.INFO, [], 2),  # and nothing that gates was compared
    ],
)
def test_the_exit_code_of_a_comparison(
    tmp_path: Path, value: float, severity: Severity, arguments: list[str], code: int
) -> None:
    """0 nothing worse, 1 a gating audit is, 2 one may be or none was compared."""
    estimate = Estimate(value, value - 0.1, value + 0.1, "skewness", 99, "made up")
    verdict = Verdict.PASS if value > 0 else Verdict.FAIL
    after = but(PASSING, estimate=estimate, verdict=verdict, severity=severity)
    old, new = written(tmp_path / "old.json", PASSING), written(tmp_path / "new.json", after)

    result = run("compare", old, new, *arguments)
    told = json.loads(run("compare", old, new, *arguments, "--json").stdout)

    assert (result.exit_code, result.stderr) == (code, "")
    *_, counted, _, verdicts = result.stdout.splitlines()
    assert counted.endswith(f"gating audits: {told['outcome']}")
    assert verdicts.startswith(f"verdicts: old PASSES, new {told['new']['verdict']}")
    assert (told["new"]["verdict"] == "PASSES") is (value > 0 or severity is Severity.INFO)
    assert told["models"][0]["findings"][0]["new"]["estimate"]["value"] == value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "other"], "no model 'other' is in both files, the old one has: toy; "),
        (["--margin", "inf"], "--margin: inf"),
        (["--margin", "-1"], "--margin"),
        (["--with", "tuned"], "no model 'tuned' in the new file; name one of: toy"),
    ],
)
def test_compare_refuses(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Exit 4, nothing on stdout."""
    path = written(tmp_path / "results.json", PASSING)

    result = run("compare", path, path, *arguments)

    assert (result.exit_code, result.stdout) == (4, "")
    assert said in result.stderr
