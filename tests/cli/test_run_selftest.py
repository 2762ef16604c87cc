"""`rmaudit organism`: checkpoints with known flaws."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rmaudit.organisms.selftest import Bench, BenchOutcome
from rmaudit.references import References
from rmaudit.report.charts import selftest_results
from tests.cli.running import run


def test_organism_prints_its_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: a path for `pytest audits --rm-models`; --cache is where it is built."""
    asked: list[tuple[str, Path]] = []

    def build(name: str, cache: Path) -> Path:
        asked.append((name, cache))
        return tmp_path / "built"

    monkeypatch.setattr("rmaudit.organisms.trained_organisms.build", build)

    result = run("organism", "balanced", "--cache", str(tmp_path))

    assert (result.stdout, result.exit_code) == (f"{tmp_path}/built/models.yaml\n", 0)
    assert asked == [("balanced", tmp_path)]
    as_json = run("organism", "balanced", "--cache", str(tmp_path), "--json")
    assert json.loads(as_json.stdout) == {
        "name": "balanced",
        "registry": f"{tmp_path}/built/models.yaml",
    }


def test_selftest_says_what_became_of_each_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line each; files where they are asked for; exit 1 where one is not as stated."""
    outcomes = [
        BenchOutcome("clean", "no flaw", None, "", 7, 1 / 7, 0.0, None, (("elo", 1 / 7),)),
        BenchOutcome("elo", "no ratings", 0.0, "stated", 7, 1.0, 1.0, 0.01, ()),
    ]
    monkeypatch.setattr("rmaudit.cli.run_selftest._bench", lambda *_: None)
    monkeypatch.setattr("rmaudit.cli.run_selftest._outcomes", lambda *_: outcomes)

    result = run("selftest", "--seeds", "7", "--out", str(tmp_path / "out"))

    clean, flawed, files = result.stdout.splitlines()
    assert clean.startswith("clean")
    assert clean.endswith("blocked  14.3 %  FAIL   0.0 %  (elo 14.3 %)")
    assert flawed.endswith("7 runs  blocked 100.0 %  FAIL 100.0 %  value +0.010")
    assert result.stderr.startswith(
        "1 of 2 kinds are not judged as stated (clean): 95% of the runs"
    )
    assert result.exit_code == 1
    assert all(Path(name).is_file() for name in files.split(", "))
    page = (tmp_path / "out" / "selftest.md").read_text()
    assert "| no flaw | 7 | 14.3% | 0.0% | elo 14.3% |" in page
    as_json = run("selftest", "--seeds", "7", "--json")
    told = json.loads(as_json.stdout)
    assert [(one["kind"], one["at"], one["as_stated"]) for one in told] == [
        ("clean", "", False),
        ("elo", "stated", True),
    ]
    assert as_json.exit_code == 1


def test_an_audit_alone_replaces_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder keeps the rows of all other audits."""
    one, other, again = (
        BenchOutcome(kind, "a flaw", 1.0, "stated", 7, 1.0, failed, 0.5, (("elo", 1.0),))
        for kind, failed in (("elo", 0.9), ("skew", 1.0), ("elo", 1.0))
    )
    monkeypatch.setattr("rmaudit.cli.run_selftest._bench", lambda *_: None)
    for outcomes, options in (([one, other], []), ([again], ["--audit", "elo"])):
        monkeypatch.setattr("rmaudit.cli.run_selftest._outcomes", lambda *_, of=outcomes: of)
        done = run("selftest", "--out", str(tmp_path), *options)
        assert done.exit_code == 0

    assert selftest_results.read(tmp_path) == [other, again]


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("options", [[], ["--audit", "numerics"], ["--audit", "nothing"]])
def test_selftest_of_a_folder_without_audits(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 4 and one line."""
    bench = Bench(tmp_path, pd.DataFrame(), References())
    monkeypatch.setattr("rmaudit.cli.run_selftest._bench", lambda *_: bench)

    result = run("selftest", str(tmp_path), *options)

    said = "is called" if options else "of this folder declares flaws"
    assert result.stderr.startswith(f"{tmp_path}: no audit {said}")
    assert (result.exit_code, len(result.stderr.splitlines())) == (4, 1)
