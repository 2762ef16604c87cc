"""rmaudit demo: the bundled results are a whole run of today's audits, and become a page."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from rmaudit.config.model_registry import load_registry
from rmaudit.report import results_reader
from rmaudit.report.replay import replay
from rmaudit.runs.audit_importer import audits_in
from tests.cli.running import run

HERE = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_report_is_there_at_once_without_a_model(tmp_path: Path) -> None:
    """The page, its verdict and the next step are shown; torch is not loaded; the page is small."""
    code = "import sys; from rmaudit.cli import app; sys.argv = ['rmaudit', 'demo']\n"
    code += "try: app()\nfinally: assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ACCEPTED (")
    assert "pytest audits" in done.stdout.splitlines()[-1]
    page = tmp_path / "reports" / "demo" / "index.html"
    assert "R-Smol-135M" in page.read_text(encoding="utf-8")
    assert page.stat().st_size < 1_500_000
    assert f"open the report: {page.relative_to(tmp_path)}" in done.stdout


@pytest.mark.slow
def test_what_is_bundled_is_what_the_audits_find_today(tmp_path: Path) -> None:
    """Every audit has a finding under its bound, judged by models.yaml as it is now, or a figure.

    Where this fails, run `pytest audits` and `python -m scripts.bundle_demo REPORT/results.json`.
    """
    told = json.loads(run("demo", "--out", tmp_path / "out", "--json").stdout)
    results = results_reader.read(tmp_path / "out" / "results.json")
    declared = {name: own for name, (_, own) in audits_in(HERE / "audits").items()}
    day = date.fromisoformat(results.run.created[:10])

    figures = {name for name, own in declared.items() if own.figure}
    assert {each.audit for each in results.figures} == figures
    assert {each.audit for each in results.findings} == declared.keys() - figures
    for each in results.findings:
        assert each.bound == declared[each.audit].bound
    again = replay(results, load_registry(HERE / "models.yaml").policy, day)
    assert [each.judgement for each in again.findings] == [
        each.judgement for each in results.findings
    ]
    assert results.run.gaps == ()
    assert Path(told["page"]).is_file()
    assert told["verdict"].startswith("ACCEPTED")
    assert told["command"] == "pytest audits"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Exit code 3, with the path and no traceback."""
    (tmp_path / "file").write_text("mine")

    done = run("demo", "--out", str(tmp_path / "file" / "out"))

    assert done.exit_code == 3
    assert str(tmp_path / "file" / "out") in done.stderr
