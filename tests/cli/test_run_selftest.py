"""`rmaudit organism`: checkpoints with known flaws."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.organisms.selftest import Bench, Flaw, Outcome
from rmaudit.references import References

runner = CliRunner()


def test_organism_prints_its_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: a path for `pytest audits --rm-models`; --cache is where it is built."""
    asked: list[tuple[str, Path]] = []

    def build(name: str, cache: Path) -> Path:
        asked.append((name, cache))
        return tmp_path / "built"

    monkeypatch.setattr("rmaudit.organisms.trained.build", build)

    result = runner.invoke(app, ["organism", "balanced", "--cache", str(tmp_path)])

    assert (result.stdout, result.exit_code) == (f"{tmp_path}/built/models.yaml\n", 0)
    assert asked == [("balanced", tmp_path)]
    as_json = runner.invoke(app, ["organism", "balanced", "--cache", str(tmp_path), "--json"])
    assert json.loads(as_json.stdout) == {
        "name": "balanced",
        "registry": f"{tmp_path}/built/models.yaml",
    }


def test_organism_refuses_an_unknown_name(tmp_path: Path) -> None:
    """Exit 4, before anything is built."""
    result = runner.invoke(app, ["organism", "Balanced", "--cache", str(tmp_path)])

    assert result.stderr == (
        "unknown organism 'Balanced'; known: balanced, identity-penalty, shuffled\n"
    )
    assert (result.stdout, result.exit_code) == ("", 4)
    assert list(tmp_path.iterdir()) == []


def test_selftest_says_what_each_audit_makes_of_each_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line a size; files where they are asked for; exit 1 where an audit is not as stated."""
    flaw = Flaw("skew", "skew", (0.2, -0.1), -0.1, "lower tail longer")

    def trial(_: object, flaw: Flaw, size: float, *, seeds: int) -> Outcome:
        shares = {"PASS": 0.5, "INCONCLUSIVE": 0.0, "FAIL": 0.5}
        return Outcome(flaw, size, seeds, shares, (0.0, 0.1, 0.2))

    monkeypatch.setattr("rmaudit.cli.run_selftest._bench", lambda *_: None)
    monkeypatch.setattr("rmaudit.organisms.selftest.FLAWS", (flaw,))
    monkeypatch.setattr("rmaudit.organisms.selftest.trial", trial)

    result = runner.invoke(app, ["selftest", "--seeds", "7", "--out", str(tmp_path / "out")])

    half = "PASS  50.0 %  INCONCLUSIVE   0.0 %  FAIL  50.0 %  +0.100 (+0.000 to +0.200)"
    assert result.stdout.splitlines() == [
        f"skew                  skew 0.2        {half}  no flaw",
        f"skew                  skew -0.1       {half}  the flaw as stated",
        f"{tmp_path}/out/selftest.json, {tmp_path}/out/selftest.svg",
    ]
    assert result.stderr == "2 of 2 sizes are not judged as stated\n"
    assert result.exit_code == 1
    assert (tmp_path / "out" / "selftest.svg").is_file()
    as_json = runner.invoke(app, ["selftest", "--seeds", "7", "--json"])
    told = json.loads(as_json.stdout)
    assert [(one["audit"], one["size"], one["seeds"]) for one in told] == [
        ("skew", 0.2, 7),
        ("skew", -0.1, 7),
    ]
    assert [one["as_stated"] for one in told] == [False, False]
    assert as_json.exit_code == 1


def test_selftest_of_a_folder_without_audits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 4 and one line."""
    bench = Bench(tmp_path, pd.DataFrame(), References())
    monkeypatch.setattr("rmaudit.cli.run_selftest._bench", lambda *_: bench)

    result = runner.invoke(app, ["selftest", str(tmp_path)])

    assert result.stderr.startswith(f"{tmp_path}: no audit is called 'positive_skew'; give the")
    assert (result.exit_code, len(result.stderr.splitlines())) == (4, 1)
