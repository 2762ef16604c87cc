"""--rm-log: a run in MLflow, Weights & Biases or Trackio, read back from their own stores."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rmaudit
from rmaudit.errors import SpecError
from rmaudit.report import experiment_trackers
from tests.conftest import unavailable
from tests.plugin.conftest import AUDITS, HIGH, Ran, Run

LOW = "@declare(2.0)\ndef test_low(rng): return estimate(1.0)\n"
SUITE = HIGH.format(low=0.0) + LOW
NAMES = [f"rmaudit/{audit}/{frame}" for audit in ("high", "low") for frame in ("greatest", "worst")]
EXPECTED = {
    name + end: v for name in NAMES for end, v in (("", 1.0), ("/low", 0.9), ("/high", 1.1))
}
EXPECTED |= {f"{name}/result": 1.0 if "high" in name else -1.0 for name in NAMES}


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a client keeps of its user lies below `tmp_path`, and nobody is logged in."""
    for name in [name for name in os.environ if name.startswith(("WANDB", "MLFLOW", "TRACKIO"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


def needs(package: str) -> Any:
    """The client, or the test is not run."""
    try:
        return experiment_trackers.client(package)
    except SpecError as error:
        unavailable(str(error))


def logged(ran: Ran) -> str:
    """The line on where a run was logged; the run is what it is without the option."""
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    (line,) = [line for line in ran.said.outlines if line.startswith("logged: ")]
    return line


@pytest.mark.nightly
def test_mlflow_has_metrics_tags_and_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its local database: each value, interval and result, the verdict, the whole report."""
    mlflow = needs("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")

    ran = run(SUITE, "--rm-log", "mlflow", pages=True)

    server = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    experiment = server.get_experiment_by_name("rmaudit").experiment_id
    (made,) = server.search_runs([experiment])
    assert made.info.run_id in logged(ran)
    assert made.info.status == "FINISHED"
    assert made.data.metrics == EXPECTED
    assert {name for name in made.data.tags if not name.startswith("rmaudit.")} == {
        "mlflow.runName"  # and neither user nor source
    }
    tags = {name.removeprefix("rmaudit."): text for name, text in made.data.tags.items()}
    assert (tags["model"], tags["verdict"]) == ("toy", "FAILS")
    assert tags["weights"] == ran.findings[0]["weights"] != ""
    files = {Path(file.path).name for file in server.list_artifacts(made.info.run_id, "report")}
    assert {"results.json", "index.html", "summary.md"} <= files


@pytest.mark.nightly
def test_wandb_is_offline_unless_somebody_logged_in(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run lies in W&B's own folder, to be uploaded by its own command."""
    needs("wandb")
    host = "the-name-of-this-machine"  # a real one may be two letters, which are found in any file
    monkeypatch.setattr(socket, "gethostname", lambda: host)

    said = logged(run(SUITE, "--rm-log", "wandb"))

    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    assert said.endswith(f"to upload it: wandb sync {folder}")
    (record,) = folder.glob("*.wandb")
    stored = record.read_bytes()
    assert [name for name in EXPECTED if name.encode() not in stored] == []
    assert b"FAILS" in stored
    assert b"results.json" in stored
    every = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    unsaid = (sys.executable, host, "--rm-log")
    assert [each for each in unsaid if each.encode() in every] == []


@pytest.mark.nightly
def test_trackio_has_the_curves(tmp_path: Path, toy: Path, scored: Path) -> None:
    """As its own command reads them, in a project that its variable names."""
    needs("trackio")
    (tmp_path / "test_toy.py").write_text(AUDITS + SUITE, encoding="utf-8")
    own = {"TRACKIO_DIR": str(tmp_path / "trackio"), "TRACKIO_PROJECT": "gates"}

    def python(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            env=os.environ | own,
            capture_output=True,
            text=True,
            check=False,
        )

    model = ["--rm-model", str(toy), "--rm-cache", str(scored)]
    ran = python("pytest", "-p", "no:cacheprovider", *model, "--rm-log", "trackio")
    assert "to see it: trackio show --project gates" in ran.stdout, ran.stdout + ran.stderr
    results = json.loads(next(tmp_path.glob("reports/*/results.json")).read_text())
    created = results["run"]["created"]
    for name in ("rmaudit/high/worst", "rmaudit/low/greatest/result"):
        asked = ["--project", "gates", "--run", f"toy {created}", "--metric", name, "--json"]
        told = python("trackio.cli", "get", "metric", *asked)
        values = [each["value"] for each in json.loads(told.stdout)["values"]]
        assert values == [EXPECTED[name]]


def test_a_missing_client_ends_the_run_before_it_begins(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that installs it is named, and nothing was measured."""
    monkeypatch.setitem(sys.modules, "wandb", None)

    ran = run(SUITE, "--rm-log", "wandb")

    ran.refuses("--rm-log: ", "the client of wandb is missing", "pip install 'rmaudit[wandb]'")
    assert not (tmp_path / "reports").exists()
    with pytest.raises(SpecError, match=r"pip install 'rmaudit\[wandb\]'"):
        rmaudit.run(audits=[tmp_path / "test_toy.py"], log="wandb")


def test_a_folder_is_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W&B leaves a folder `wandb` where it ran, which Python would import."""
    (tmp_path / "wandb_of_old").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(SpecError, match="no package 'wandb_of_old'"):
        experiment_trackers.client("wandb_of_old")


@pytest.mark.slow
def test_a_tracker_that_fails_decides_nothing(
    run: Run, toy: Path, scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is that of the audits, and a warning says why nothing was logged."""
    needs("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")

    ran = run(HIGH.format(low=0.0), "--rm-log", "mlflow")

    assert ran.ret == pytest.ExitCode.OK
    ran.says("warning: the run was not logged to mlflow: *127.0.0.1*")
    with pytest.warns(UserWarning, match="not logged to mlflow"):
        rmaudit.run(str(toy), audits=[tmp_path / "test_toy.py"], cache=scored, log="mlflow")
