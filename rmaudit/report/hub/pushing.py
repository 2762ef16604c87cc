"""Plan which files go to which repository of the Hub, and push them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from rmaudit.checkpoints.hub_client import failures
from rmaudit.config.model_registry import is_hub_id
from rmaudit.errors import ResultsError, SpecError
from rmaudit.report.hub import benchmark_dataset as tasks
from rmaudit.report.hub import eval_result_formats
from rmaudit.report.hub.benchmark_dataset import BenchmarkTask
from rmaudit.report.results_document import OWN_LISTS, WHOLE, AuditedModel, Results
from rmaudit.scores.pair_files import MEASURED_ON, OURS, measured_on
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import of_run as verdict_of


@dataclass(frozen=True, slots=True)
class Push:
    """Planned push: the files for one repository of the Hub."""

    kind: Literal["model", "dataset"]
    repository: str
    files: Mapping[str, str]
    """The text of each file, by its path in the repository."""
    pull_request: bool
    """Whether the files are proposed as a pull request rather than committed."""
    create: bool = False
    """Whether the repository is created if it does not exist."""

    def __str__(self) -> str:
        """Describe the target, such as `to the model owner/name, as a pull request`."""
        how = ", as a pull request" if self.pull_request else ""
        return f"to the {self.kind} {self.repository}{how}"


def of_benchmark(repository: str, *, pull_request: bool) -> Push:
    """Plan the push of the benchmark to its dataset repository.

    Raises:
        SpecError: the repository is no hub id.
    """
    _check_hub_id(repository, "--benchmark")
    return Push("dataset", repository, tasks.files(), pull_request, create=not pull_request)


def of_run(  # noqa: PLR0913  (keyword-only after the subject)
    results: Results,
    *,
    to: str,
    benchmark: str,
    model: str | None = None,
    source: str = "",
    by: str | None = None,
    store: bool = False,
    pull_request: bool = False,
) -> tuple[list[Push], list[str]]:
    """Plan the pushes of one model's results to `to`; also name findings outside the benchmark.

    `to` is the model's hub id; `model` is its name in the results, needed if these have several
    models. With `store`, a record for Every Eval Ever is pushed too; `by` names who ran the audits
    (default: the owner).

    Raises:
        SpecError: a repository is no hub id, or the model is not in the results.
        ResultsError: the run did not score the whole vocabulary, used other prompts or words than
            rmaudit's, scored another model of the Hub, or measured no task of the model.
    """
    _check_hub_id(to, "--to")
    _check_hub_id(benchmark, "--benchmark")
    named = [each.name for each in results.models]
    if model is None and len(named) == 1:
        (model,) = named
    if model not in named:
        wrong = "no model is named" if model is None else f"{model!r} is not in the results"
        raise SpecError(f"--model: {wrong}, allowed: {', '.join(named)}")
    (audited,) = (each for each in results.models if each.name == model)
    _refuse_others(results, audited, to)
    own = tuple(each for each in results.findings if each.model == model)
    results = replace(results, findings=own, verdict=verdict_of(own, results.run.gaps))
    found = [(_task_of(each, of), each, of) for each in own if (of := each.estimate)]
    measured = [(task, each, estimate) for task, each, estimate in found if task]
    foreign = [each.name for task, each, _ in found if task is None]
    if not measured:
        message = f"{model}: no audit of the benchmark was measured, so there is nothing to publish"
        raise ResultsError(message)
    text = eval_result_formats.eval_results(results, measured, benchmark=benchmark, source=source)
    pushes = [Push("model", to, {eval_result_formats.PATH: text}, pull_request)]
    if store:
        owner = by or to.partition("/")[0]
        path, record = eval_result_formats.every_eval_ever(
            results, measured, model=to, benchmark=benchmark, by=owner
        )
        pushes.append(Push("dataset", eval_result_formats.STORE, {path: record}, pull_request=True))
    return pushes, foreign


def _refuse_others(results: Results, audited: AuditedModel, to: str) -> None:
    """Raise `ResultsError` for a run whose values are not comparable with the benchmark."""
    if is_hub_id(audited.source) and audited.source.casefold() != to.casefold():
        message = f"--to: {audited.name} is {audited.source} on the Hub, and not {to}; audit what "
        raise ResultsError(f"{message}is there: pytest audits --model {to}")
    if results.run.sample:
        message = f"the run scored a sample of {results.run.sample:,} token ids; what is published "
        raise ResultsError(f"{message}is of {WHOLE}: audit without --rm-sample")
    if part := sorted({sweep.scored for sweep in audited.sweeps} - {WHOLE}):
        message = f"{audited.name}: the run scored {part[0]}; what is published is of {WHOLE}"
        raise ResultsError(message)
    if told := results.run.environment.get(OWN_LISTS):
        message = f"the run had prompts or words of its own ({told}); what is published is of "
        raise ResultsError(f"{message}rmaudit's: audit without them")


def _task_of(finding: Finding, estimate: Estimate) -> BenchmarkTask | None:
    """Return a finding's benchmark task; None if it has none or used a user's pairs of answers."""
    told = [each for each in estimate.caveats if each.startswith(MEASURED_ON)]
    return None if told and told != [measured_on(OURS)] else tasks.task_of(finding)


def push(what: Push) -> str:
    """Push to the Hub as the `hf auth login` user; return the URL of the commit or pull request.

    Raises:
        ResultsError: the hub refuses, or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi()
    added = [
        CommitOperationAdd(path_in_repo=path, path_or_fileobj=text.encode())
        for path, text in what.files.items()
    ]
    try:
        if what.create:
            api.create_repo(what.repository, repo_type=what.kind, exist_ok=True)
        done = api.create_commit(
            what.repository,
            added,
            commit_message="Audits of rmaudit" if what.kind == "model" else "Written by rmaudit",
            repo_type=what.kind,
            create_pr=what.pull_request,
        )
    except failures() as error:
        why = " ".join(str(error).split()) or type(error).__name__
        message = f"not pushed {what}: {why}; `hf auth login` gives this machine a token"
        raise ResultsError(message) from error
    return str(done.pr_url or done.commit_url)


def _check_hub_id(repository: str, option: str) -> None:
    if not is_hub_id(repository):
        raise SpecError(f"{option}: {repository!r} is no hub id, allowed: owner/name")
