"""What of a run, or of the benchmark, goes to which repository of the Hub: planned, then pushed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rmaudit.checkpoints.hub import failures
from rmaudit.config.registry import is_hub_id
from rmaudit.errors import ResultsError, SpecError
from rmaudit.report import benchmark as tasks
from rmaudit.report.document import Results
from rmaudit.report.writers import eval_results, every_eval_ever


@dataclass(frozen=True, slots=True)
class Push:
    """Files for one repository of the Hub."""

    kind: Literal["model", "dataset"]
    repository: str
    files: Mapping[str, str]
    """Texts by their paths in it."""
    pull_request: bool
    """Whether they are proposed rather than committed."""
    create: bool = False
    """Whether the repository is made where there is none."""

    def __str__(self) -> str:
        """For example `to the model owner/name, as a pull request`."""
        how = ", as a pull request" if self.pull_request else ""
        return f"to the {self.kind} {self.repository}{how}"


def of_benchmark(repository: str, *, pull_request: bool) -> Push:
    """The benchmark itself.

    Raises:
        SpecError: the repository is no hub id.
    """
    _checked(repository, "--benchmark")
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
    """What a run says of one model; and the names of measured findings that are of no task.

    `to` is the model's hub id; `model` its name in the results, where they have several. With
    `store`, also the record for Every Eval Ever, which is `by` somebody: the owner, if not said.

    Raises:
        SpecError: a repository is no hub id, or the model is not in the results.
        ResultsError: the run scored a sample only, or has nothing to say of the model.
    """
    _checked(to, "--to")
    _checked(benchmark, "--benchmark")
    named = [each.name for each in results.models]
    if model is None and len(named) == 1:
        (model,) = named
    if model not in named:
        wrong = "no model is named" if model is None else f"{model!r} is not in the results"
        raise SpecError(f"--model: {wrong}, allowed: {', '.join(named)}")
    if results.run.sample:
        message = f"the run scored a sample of {results.run.sample:,} token ids; what is published "
        raise ResultsError(f"{message}is of the whole vocabulary: audit without --rm-sample")
    own = [(each, each.estimate) for each in results.findings if each.model == model]
    found = [(tasks.task_of(each), each, estimate) for each, estimate in own if estimate]
    measured = [(task, each, estimate) for task, each, estimate in found if task]
    foreign = [each.name for task, each, _ in found if task is None]
    if not measured:
        message = f"{model}: no audit of the benchmark was measured, so there is nothing to publish"
        raise ResultsError(message)
    text = eval_results.render(results, measured, benchmark=benchmark, source=source)
    pushes = [Push("model", to, {eval_results.PATH: text}, pull_request)]
    if store:
        owner = by or to.partition("/")[0]
        path, record = every_eval_ever.render(
            results, measured, model=to, benchmark=benchmark, by=owner
        )
        pushes.append(Push("dataset", every_eval_ever.STORE, {path: record}, pull_request=True))
    return pushes, foreign


def push(what: Push) -> str:
    """Push it with the token that `hf auth login` left; the commit's or pull request's address.

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


def _checked(repository: str, option: str) -> None:
    if not is_hub_id(repository):
        raise SpecError(f"{option}: {repository!r} is no hub id, allowed: owner/name")
