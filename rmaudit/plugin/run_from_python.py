"""Run audits from a notebook or a script (`rmaudit.run`), by calling pytest in this process.

No settings of the folder around it apply, but its models.yaml. What the run finds is what every run
writes into its results.json.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.conversation import messages
from rmaudit.errors import RmauditError, SpecError, nearest
from rmaudit.interrupts import TERMINATED, Terminated
from rmaudit.plugin.audit_run import AuditRun
from rmaudit.plugin.run_plan import CALLER, Caller
from rmaudit.plugin.run_state import OUTCOME, RunOutcome
from rmaudit.plugin.uncollected_audits import bundled_audits
from rmaudit.prompts import Prompt
from rmaudit.prompts import declared as declared_prompts
from rmaudit.runs.run_options import RunOptions
from rmaudit.verdicts.audit_declaration import is_audit

if TYPE_CHECKING:
    from rmaudit.config.model_spec import Dtype

_HANDED: dict[str, Mapping[str, Callable[..., Any]]] = {}  # audits by the file that asks for them
_FILE = "from rmaudit.plugin.run_from_python import handed\n\nglobals().update(handed(__file__))\n"


def run(  # noqa: PLR0913  (keyword-only after the subjects)
    *models: str | Path,
    audits: Sequence[str | Path | Callable[..., Any]] = (),
    registry: Path | str | None = None,
    report: Path | str | None = None,
    cache: Path | str | None = None,
    everything: bool = False,
    seed: int = 0,
    sample: int | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
    recorded: bool = False,
    baseline: str | None = None,
    policy: str | None = None,
    prompts: str | Path | Sequence[str | Prompt] | None = None,
    search: int = 2000,
    pairs: Path | str | None = None,
    samples: Path | str | None = None,
    log: Literal["mlflow", "wandb", "trackio"] | None = None,
    on: str | None = None,
) -> AuditRun:
    """Run audits of models as pytest would; return the findings and the verdict.

    `models` are names of the registry, folders or hub ids, as for `--model`; the registry's default
    where none is given. `audits` are names of rmaudit's own ("positive_skew"), functions declared
    with `rmaudit.audit`, or paths of files and folders; all of rmaudit's own where none is given.
    `prompts` are asked in place of the audits' own: a file as for `--rm-prompts`, or names and
    `Prompt`s. docs/options.md explains the other arguments, the options of a run; None stands for
    the default. Pages are written only where `report` is given.

    Raises:
        SpecError: a model or an audit is not known, or an option is wrong.
        RmauditError: nothing could be run, such as a file that cannot be imported.
        KeyboardInterrupt: Ctrl-C before an audit began, or SIGTERM; what was scored is cached.
            After a later Ctrl-C the run is returned, with an error for each audit not measured.
    """
    given = dict(locals())  # the options, and the two arguments that are none
    if wrong := [model for model in models if not isinstance(model, str | Path)]:
        message = f"models are names, folders or hub ids, got {wrong[0]!r}"
        source = getattr(getattr(wrong[0], "spec", None), "source", "")
        raise SpecError(f"{message}; write {source!r}" if source else message)
    with (
        tempfile.TemporaryDirectory(prefix="rmaudit-run-") as scratch,
        _test_files_of(given.pop("audits"), Path(scratch)) as paths,
    ):
        given["prompts"] = value_of_rm_prompts(given["prompts"], Path(scratch))
        options = RunOptions.of(given)
        folder = options.report and options.report.absolute()
        options = replace(options, report=folder or Path(scratch) / "reports")
        ini = Path(scratch) / "pytest.ini"
        ini.write_text("[pytest]\n", encoding="utf-8")
        return _run_pytest(
            [
                *(str(path) for path in paths),
                *("-c", str(ini), "--rootdir", str(scratch), "-p", "no:cacheprovider"),
                *("--import-mode", "importlib"),
                *options.words(lambda option: option.pytest),
            ],
            folder,
            pages=folder is not None or options.log is not None,
        )


def value_of_rm_prompts(
    prompts: str | Path | Sequence[str | Prompt] | None, scratch: Path
) -> str | None:
    """Return `prompts` as a value of `--rm-prompts`: a file, names, or a new file of prompts."""
    if prompts is None or isinstance(prompts, str | Path):
        return None if prompts is None else str(prompts)
    if not prompts:
        raise SpecError("prompts has none; give a file, or at least one name or Prompt")
    if all(isinstance(prompt, str) for prompt in prompts):
        return ",".join(map(str, prompts))
    file = scratch / "prompts.json"
    own = {prompt.name: _prompt_as_mapping(prompt) for prompt in declared_prompts(prompts)}
    file.write_text(json.dumps({"prompts": own}), encoding="utf-8")
    return str(file)


def _prompt_as_mapping(prompt: Prompt) -> dict[str, Any]:
    if prompt.turns:
        return {"frame": prompt.frame, "conversation": messages(prompt.asked)}
    return {"frame": prompt.frame, "text": prompt.text}


def _run_pytest(arguments: Sequence[str], report: Path | None, *, pages: bool) -> AuditRun:
    """Run pytest in this process without output, and return the results; raise if no audit ran."""
    functions = {
        Path(file): [name.removeprefix("test_") for name in own] for file, own in _HANDED.items()
    }
    ended = _Ended(Caller(sys.stderr, pages, functions))
    code, said = run_quietly(arguments, ended)
    outcome = ended.outcome
    if outcome.stopped == TERMINATED:  # whoever sent it wants more to end than the audits
        raise Terminated
    if outcome.stopped and outcome.results is None:
        raise KeyboardInterrupt
    if outcome.results is None:
        if code == pytest.ExitCode.USAGE_ERROR and said:
            raise SpecError(said[-1].removeprefix("ERROR: "))
        raise RmauditError("\n".join(["the audits did not run; pytest says:", *said]))
    for why in outcome.unlogged:
        warnings.warn(why.removeprefix("warning: "), stacklevel=3)
    results, folder = outcome.results
    page = folder / "index.html" if report is not None else None
    return AuditRun(results, report, page if page and page.is_file() else None)


def run_quietly(arguments: Sequence[str], plugin: object) -> tuple[int, list[str]]:
    """Run pytest in this process; return its exit code and the lines that it would have printed.

    The test modules that it imports are unloaded, so that the next run reads the files. No compiled
    files are written either: Python takes one for current if the source's size and second of change
    are the same, and a script may rewrite a file within a second. Nor does pytest search the whole
    memory twice for exceptions that were ignored: it would print them, and nobody would see them.
    """
    known, writes, told = set(sys.modules), sys.dont_write_bytecode, io.StringIO()
    sys.dont_write_bytecode = True
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = pytest.main(["-p", "no:unraisableexception", *arguments], plugins=[plugin])
    finally:
        sys.dont_write_bytecode = writes
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if Path(file).name.startswith(("test_", "conftest")):
                del sys.modules[name]
    return int(code), [line for line in told.getvalue().splitlines() if line.strip()]


class _Ended:
    """Pytest plugin that tells the run who called it, and takes what came of it."""

    def __init__(self, caller: Caller) -> None:
        self.caller, self.outcome = caller, RunOutcome()

    @pytest.hookimpl(trylast=True)  # the outcome is made by then
    def pytest_configure(self, config: pytest.Config) -> None:
        """Show progress on the stderr of the caller, although pytest's output is not shown."""
        config.stash[CALLER], self.outcome = self.caller, config.stash[OUTCOME]


@contextlib.contextmanager
def _test_files_of(
    audits: Sequence[str | Path | Callable[..., Any]], scratch: Path
) -> Iterator[list[Path]]:
    """Yield test files of `audits` (if none, all bundled ones); functions get a temporary one."""
    functions, paths = checked(audits)
    file = scratch / "test_handed.py"
    if functions:
        file.write_text(_FILE, encoding="utf-8")
        _HANDED[str(file)] = functions
        paths.append(file)
    try:
        yield paths or [bundled("audits")]
    finally:
        _HANDED.pop(str(file), None)


def checked(
    audits: Sequence[str | Path | Callable[..., Any]],
) -> tuple[dict[str, Callable[..., Any]], list[Path]]:
    """Split `audits` into functions, by test name, and the paths of all other entries.

    Raises:
        SpecError: an entry is no audit and no path, or is unknown.
    """
    if isinstance(audits, str) or callable(audits):
        raise SpecError(f"audits is a list, got audits={audits!r}; write audits=[{audits!r}]")
    functions = {_collected_name(audit): audit for audit in audits if callable(audit)}
    return functions, [_path_of_audit(audit) for audit in audits if not callable(audit)]


def handed(file: str) -> Mapping[str, Callable[..., Any]]:
    """Return the audit functions that `rmaudit.run` put into the temporary test file `file`."""
    return _HANDED[file]


def _collected_name(audit: Callable[..., Any]) -> str:
    """Return the name under which pytest collects an audit function; raise if it is no audit."""
    if not is_audit(audit):
        message = f"{audit!r} is no audit: declare it with @rmaudit.audit(claim=..., bound=...)"
        raise SpecError(message)
    name = str(audit.__name__)
    return name if name.startswith("test_") else f"test_{name}"


def _path_of_audit(audit: str | Path) -> Path:
    """Return what pytest runs for a bundled audit's name, a bundled file's name, or a path."""
    known = bundled_audits()
    files = {file.stem.removeprefix("test_"): file for file in known.values()}
    if not isinstance(audit, str | Path):
        message = f"audits has {audit!r}, allowed: names, functions declared with @rmaudit.audit, "
        raise SpecError(f"{message}and paths")
    if audit in known:
        return Path(f"{known[str(audit)]}::test_{audit}")
    if audit in files:  # `sentences`: all audits of the file
        return files[str(audit)]
    if Path(audit).exists():
        return Path(audit).absolute()
    message = f"unknown audit {audit!r}, and no such file;{nearest(str(audit), known)} known: "
    raise SpecError(message + ", ".join(sorted(known)))
