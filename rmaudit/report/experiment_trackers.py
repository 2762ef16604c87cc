"""Log a run to MLflow, Weights & Biases or Trackio: measured values, tags and report files.

Each audited model is one run in the tracker. The tracker's client decides where it is kept: on this
machine, unless the user has configured a server for it.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rmaudit.errors import SpecError
from rmaudit.report.results_document import Results
from rmaudit.report.summary import summarize
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.findings import AnyFinding, Finding

_Found = TypeVar("_Found", bound=AnyFinding)
_PROJECT = "rmaudit"
_SIGNS = {Result.PASS: 1.0, Result.OPEN: 0.0, Result.FAIL: -1.0}
# Clients report their own use and faults to their makers, which nobody asked for with the option.
_SILENT = {
    "mlflow": ("MLFLOW_DISABLE_TELEMETRY", "true"),
    "wandb": ("WANDB_ERROR_REPORTING", "false"),
}
# What W&B would add of its own: command line, host, folders, Python's path, packages, the machine.
_WANDB_ADDS_NOTHING = {
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_disable_stats": True,
    "x_save_requirements": False,
    "x_executable": "python",
    "program": "rmaudit",
    "host": "",
    "console": "off",
    "disable_code": True,
    "disable_git": True,
    "save_code": False,
}


class _Logged(NamedTuple):
    """A run of one audited model, as trackers log it."""

    name: str
    tags: dict[str, str]
    metrics: dict[str, float]
    folder: Path


def client(tracker: str) -> Any:  # noqa: ANN401  (a module of others)
    """Import and return the Python package of a tracker, such as `mlflow`, with its telemetry off.

    Raises:
        SpecError: it is not installed, or cannot be imported.
    """
    if tracker in _SILENT:
        os.environ.setdefault(*_SILENT[tracker])
    module: Any = None
    why = f"there is no package {tracker!r}"
    try:
        module = importlib.import_module(tracker)
    except ImportError as error:
        why = str(error)
    if getattr(module, "__file__", None) is None:  # or a folder of that name, such as W&B leaves
        message = f"the client of {tracker} is missing ({why})"
        raise SpecError(f"{message}; pip install 'rmaudit[{tracker}]'")
    return module


def log(tracker: str, results: Results, folder: Path) -> Iterator[str]:
    """Log each model of a run to `tracker`; yield for each a line that says where it was logged.

    Raises whatever the client raises.
    """
    write = {"mlflow": _mlflow, "wandb": _wandb, "trackio": _trackio}[tracker]
    run = summarize(results)
    for model in results.models:
        own = run.of(model.name)
        tags = {
            "model": model.name,
            "source": model.source,
            "weights": next((f.claim.weights for f in own.findings if f.claim.weights), ""),
            "verdict": str(own.verdict.outcome),
            "why": own.verdict.why,
            "rmaudit": results.run.rmaudit,
        }
        metrics = {**_metrics(own.findings), **numbers(own.figures)}
        logged = _Logged(f"{model.name} {results.run.created}", tags, metrics, folder)
        yield f"logged: {tracker}, {write(client(tracker), logged)}"


def numbers(findings: Sequence[AnyFinding]) -> dict[str, float]:
    """Return each measured finding's value and interval ends, by metric name.

    The names are `rmaudit/<audit>`, with `/low` and `/high`; the prompt follows the audit where an
    audit has several findings.
    """
    found: dict[str, float] = {}
    for name, each in _metric_names(findings):
        if each.estimate is not None:
            found[name] = each.estimate.value
            found[f"{name}/low"], found[f"{name}/high"] = each.estimate.low, each.estimate.high
    return found


def _metrics(findings: Sequence[Finding]) -> dict[str, float]:
    """Return `numbers`, and results (`/result`) as 1 (pass), 0 (open), -1 (fail)."""
    named = _metric_names(findings)
    signs = {f"{name}/result": _SIGNS[each.result] for name, each in named if each.result in _SIGNS}
    return {**numbers(findings), **signs}


def _metric_names(findings: Sequence[_Found]) -> Iterator[tuple[str, _Found]]:
    several = Counter(each.audit for each in findings)
    for each in findings:
        yield f"rmaudit/{each.audit}" + f"/{each.prompt}" * (several[each.audit] > 1), each


def _mlflow(mlflow: Any, run: _Logged) -> str:  # noqa: ANN401  (a module of others)
    """Log a model to MLflow as a run beside any that a notebook has open; say which run."""
    project = os.environ.get("MLFLOW_EXPERIMENT_NAME") or _PROJECT
    server = mlflow.MlflowClient()
    there = server.get_experiment_by_name(project)
    place = there.experiment_id if there else server.create_experiment(project)
    own = {f"rmaudit.{key}": text for key, text in run.tags.items()}
    made = server.create_run(place, tags=own, run_name=run.name).info.run_id
    status = "FAILED"
    try:
        # MLflow's names have no plus, which joins the names of prompts.
        mlflow.log_metrics(
            {key.replace("+", "-"): x for key, x in run.metrics.items()}, run_id=made
        )
        server.log_artifacts(made, str(run.folder), "report")
        status = "FINISHED"
    finally:
        server.set_terminated(made, status)
    return f"run {made} ({run.name}) of the experiment {project}"


def _wandb(wandb: Any, run: _Logged) -> str:  # noqa: ANN401  (a module of others)
    """Log a model to Weights & Biases, offline if nobody is logged in; say which run.

    WANDB_MODE decides, if it is set. A run that a notebook has open stays open.
    """
    chosen = bool(os.environ.get("WANDB_MODE")) or wandb.login(prompt=False)
    opened = wandb.init(
        project=os.environ.get("WANDB_PROJECT") or _PROJECT,
        name=run.name,
        config=run.tags,
        mode=None if chosen else "offline",
        reinit="create_new",
        settings=wandb.Settings(silent=True, **_WANDB_ADDS_NOTHING),
    )
    code = 1
    try:
        opened.log(run.metrics)
        opened.log_artifact(str(run.folder), **_artifact_of(run.tags["model"]))
        code = 0
    finally:
        opened.finish(exit_code=code)
    if opened.offline:
        return f"offline run {run.name}; to upload it: wandb sync {Path(opened.dir).parent}"
    return f"run {run.name}: {opened.url}"


def _trackio(trackio: Any, run: _Logged) -> str:  # noqa: ANN401  (a module of others)
    """Log a model to Trackio as a run beside any that a notebook has open; say which run."""
    project = os.environ.get("TRACKIO_PROJECT") or _PROJECT

    def logged() -> None:
        told = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        trackio.init(project, name=run.name, config=run.tags, **told)
        trackio.log(run.metrics)
        trackio.log_artifact(str(run.folder), **_artifact_of(run.tags["model"]))
        trackio.finish()

    with contextlib.redirect_stdout(io.StringIO()):  # it prints how to open its dashboard
        contextvars.Context().run(logged)
    return f"run {run.name}; to see it: trackio show --project {project}"


def _artifact_of(model: str) -> dict[str, str]:
    """Return name and type of the report's files, in letters that W&B and Trackio take."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", model)
    return {"name": f"rmaudit-{plain}", "type": "rmaudit-report"}
