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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmaudit.errors import SpecError
from rmaudit.report.results_document import Results
from rmaudit.verdicts.estimates_and_bounds import Result
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import of_run

_PROJECT = "rmaudit"
_MOST = 1000  # metrics that MLflow takes in one request
_SIGNS = {Result.PASS: 1.0, Result.UNSURE: 0.0, Result.NOT_DECIDED: 0.0, Result.FAIL: -1.0}
# Clients report their own use and faults to their makers, which nobody asked for with the option.
_SILENT = {"mlflow": "MLFLOW_DISABLE_TELEMETRY=true", "wandb": "WANDB_ERROR_REPORTING=false"}
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


@dataclass(frozen=True, slots=True)
class TrackedModel:
    """The data of one audited model to log to a tracker: name, tags, numbers and report files.

    Attributes:
        name: the model, and when the run was made.
        model: the model's name, made of letters, digits and `_ . -`.
        tags: model, source, hash of the weights, verdict, its reasons, and rmaudit's version.
        metrics: numbers of the findings by name, see `metrics`.
        folder: the folder of the report's files.
    """

    name: str
    model: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    folder: Path


def client(tracker: str) -> Any:  # noqa: ANN401  (a module of others)
    """Import and return the Python package of a tracker, such as `mlflow`, with its telemetry off.

    Raises:
        SpecError: it is not installed, or cannot be imported.
    """
    if tracker in _SILENT:
        os.environ.setdefault(*_SILENT[tracker].split("="))
    try:
        module = importlib.import_module(tracker)
    except ImportError as error:
        raise SpecError(_missing(tracker, str(error))) from None
    if getattr(module, "__file__", None) is None:  # a folder of that name, such as W&B leaves
        raise SpecError(_missing(tracker, f"there is no package {tracker!r}"))
    return module


def _missing(tracker: str, why: str) -> str:
    return f"the client of {tracker} is missing ({why}); pip install 'rmaudit[{tracker}]'"


def log(tracker: str, results: Results, folder: Path) -> Iterator[str]:
    """Log each model of a run to `tracker`; yield for each a line that says where it was logged.

    Raises whatever the client raises.
    """
    for one in _tracked_models(results, folder):
        yield f"logged: {tracker}, {TRACKERS[tracker](client(tracker), one)}"


def numbers(findings: Sequence[Finding]) -> dict[str, float]:
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


def metrics(findings: Sequence[Finding]) -> dict[str, float]:
    """Return the metrics to log: values, intervals, and results as 1 (pass), 0 (unsure), -1 (fail).

    Results are named `rmaudit/<audit>/result`; 0 is also "not decided".
    """
    signs = {
        f"{name}/result": _SIGNS[each.result]
        for name, each in _metric_names(findings)
        if each.result in _SIGNS
    }
    return {**numbers(findings), **signs}


def _metric_names(findings: Sequence[Finding]) -> Iterator[tuple[str, Finding]]:
    several = {
        each.audit for each in findings if sum(other.audit == each.audit for other in findings) > 1
    }
    for each in findings:
        yield f"rmaudit/{each.audit}" + (f"/{each.prompt}" if each.audit in several else ""), each


def _tracked_models(results: Results, folder: Path) -> Iterator[TrackedModel]:
    for model in results.models:
        own = [finding for finding in results.findings if finding.model == model.name]
        verdict = of_run(own, results.run.gaps)
        tags = {
            "model": model.name,
            "source": model.source,
            "weights": next((each.claim.weights for each in own if each.claim.weights), ""),
            "verdict": str(verdict.outcome),
            "why": verdict.why,
            "rmaudit": results.run.rmaudit,
        }
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", model.name)
        created = results.run.created
        yield TrackedModel(f"{model.name} {created}", name, tags, metrics(own), folder)


def _mlflow(mlflow: Any, run: TrackedModel) -> str:  # noqa: ANN401  (a module of others)
    """Log a model to MLflow as a run beside any that a notebook has open; say which run."""
    project = os.environ.get("MLFLOW_EXPERIMENT_NAME") or _PROJECT
    server = mlflow.MlflowClient()
    there = server.get_experiment_by_name(project)
    place = there.experiment_id if there else server.create_experiment(project)
    tags = {f"rmaudit.{name}": text for name, text in run.tags.items()}
    made = server.create_run(place, tags=tags, run_name=run.name).info.run_id
    now = int(time.time() * 1000)
    found: dict[str, float] = {}
    for name, value in run.metrics.items():
        known = re.sub(r"[^\w./ -]+", "-", name)  # MLflow's names have no comma, as prompts may
        while known in found:
            known += "-"
        found[known] = value
    kept = [mlflow.entities.Metric(name, value, now, 0) for name, value in found.items()]
    try:
        for first in range(0, len(kept), _MOST):
            server.log_batch(made, metrics=kept[first : first + _MOST])
        server.log_artifacts(made, str(run.folder), "report")
    except BaseException:
        server.set_terminated(made, "FAILED")
        raise
    server.set_terminated(made)
    return f"run {made} ({run.name}) of the experiment {project}"


def _wandb(wandb: Any, run: TrackedModel) -> str:  # noqa: ANN401  (a module of others)
    """Log a model to Weights & Biases, offline if nobody is logged in; say which run.

    WANDB_MODE decides, if it is set. A run that a notebook has open stays open.
    """
    chosen = bool(os.environ.get("WANDB_MODE")) or wandb.login(prompt=False)
    opened = wandb.init(
        project=os.environ.get("WANDB_PROJECT") or _PROJECT,
        name=run.name,
        config=dict(run.tags),
        mode=None if chosen else "offline",
        reinit="create_new",
        settings=wandb.Settings(silent=True, **_WANDB_ADDS_NOTHING),
    )
    try:
        opened.log(dict(run.metrics))
        report = wandb.Artifact(f"rmaudit-{run.model}", type="rmaudit-report")
        report.add_dir(str(run.folder))
        opened.log_artifact(report)
    except BaseException:
        opened.finish(exit_code=1)
        raise
    opened.finish()
    if opened.offline:
        return f"offline run {run.name}; to upload it: wandb sync {Path(opened.dir).parent}"
    return f"run {run.name}: {opened.url}"


def _trackio(trackio: Any, run: TrackedModel) -> str:  # noqa: ANN401  (a module of others)
    """Log a model to Trackio as a run beside any that a notebook has open; say which run."""
    project = os.environ.get("TRACKIO_PROJECT") or _PROJECT

    def logged() -> None:
        trackio.init(
            project,
            name=run.name,
            config=dict(run.tags),
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        trackio.log(dict(run.metrics))
        report = trackio.Artifact(f"rmaudit-{run.model}", type="rmaudit-report")
        report.add_dir(str(run.folder))
        trackio.log_artifact(report)
        trackio.finish()

    with contextlib.redirect_stdout(io.StringIO()):  # it prints how to open its dashboard
        contextvars.Context().run(logged)
    return f"run {run.name}; to see it: trackio show --project {project}"


TRACKERS: Mapping[str, Callable[[Any, TrackedModel], str]] = {
    "mlflow": _mlflow,
    "wandb": _wandb,
    "trackio": _trackio,
}
