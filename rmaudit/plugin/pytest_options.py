"""Add the options of a run to pytest, and refuse wrong ones before anything is collected."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.model_registry import FILE, default_path, is_bundled
from rmaudit.errors import SpecError, nearest
from rmaudit.plugin.run_plan import RM_MODEL, RunPlan
from rmaudit.runs.option_parsing import Option
from rmaudit.runs.run_options import OPTIONS

MODEL = "--model"
OTHERS_MODEL = pytest.StashKey[bool]()  # whether another plugin owns `--model`
_AUDITS = "audits"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run, which begin with `--rm-`, to pytest."""
    group = parser.getgroup("rmaudit", "audits of reward models")
    for option in OPTIONS.values():
        group.addoption(option.pytest, **_argparse_settings(option))


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]
) -> Generator[None]:
    """Add `--model` last, unless another plugin or a conftest.py already has that option.

    Where pytest refuses an option that is spelt nearly as one of ours, it says which.
    """
    ours = [MODEL, *(option.pytest for option in OPTIONS.values())]
    given = [word.partition("=")[0] for word in args if word.startswith("--")]
    near = [nearest(name, ours, least=0.8) for name in given if name not in ours]
    if said := "".join(near).strip():
        parser.extra_info["rmaudit"] = said
    yield
    try:
        same = {"dest": RM_MODEL.removeprefix("--").replace("-", "_")}
        parser.getgroup("rmaudit").addoption(MODEL, **_argparse_settings(OPTIONS["models"]), **same)
    except (ValueError, argparse.ArgumentError):
        early_config.stash[OTHERS_MODEL] = True  # `--rm-model` does the same


def _argparse_settings(option: Option) -> dict[str, Any]:
    """Return an option's argparse settings; values stay text, which xdist sends to workers."""
    settings = {"help": option.explained, "default": None}
    if not option.metavar:
        return {**settings, "action": "store_true"}
    action = "append" if option.repeated else "store"
    return {**settings, "action": action, "metavar": option.metavar}


def refuse_wrong_options(plan: RunPlan) -> None:
    """Raise for an option whose value cannot be used, and for one that would do nothing.

    Raises:
        pytest.UsageError: it names the option, and says what to do.
    """
    asked, config = plan.options, plan.config
    _refuse_missing_audits(config)
    if asked.gate and not asked.models and not asked.registry and is_bundled(default_path()):
        raise pytest.UsageError(
            f"--rm-gate: no model was named, and there is no {FILE} in {Path.cwd()}: the verdict "
            f"would be of the small bundled model; go to the folder of your {FILE}, or name a "
            "model with --model"
        )
    _refuse_contradictions(plan)
    _ = plan.own_words  # which raises if it is wrong
    if asked.report:
        refuse_unwritable("--rm-report", plan.report)
    if asked.cache:
        refuse_cache(plan)
    if (asked.models or asked.registry) and plan.error:
        raise pytest.UsageError(plan.error)
    _ = plan.baseline
    if asked.pairs:
        refuse_no_pairs(asked.pairs, "--rm-pairs: ")
    if asked.samples:
        from rmaudit.scores import answer_files

        _refuse_wrong(partial(answer_files.read_samples, asked.samples), "--rm-samples: ")
    if asked.log:
        from rmaudit.report import experiment_trackers

        _refuse_wrong(partial(experiment_trackers.client, asked.log), "--rm-log: ")


def _refuse_missing_audits(config: pytest.Config) -> None:
    """Raise for a folder or file of audits that is not there; pytest only says that it is not.

    What is no folder called nearly `audits`, and nothing in that, is none of ours.
    """
    here: Path = config.invocation_params.dir
    for given in (Path(argument.partition("::")[0]) for argument in config.args):
        folder = next(iter(given.parts), "")
        if (here / given).exists() or not nearest(folder, [_AUDITS], least=0.8):
            continue
        wanted = here / _AUDITS
        if not wanted.is_dir():
            raise pytest.UsageError(
                f"there is no folder `{folder}` in {here}; go to the one that has it, or write "
                "rmaudit's audits here with `rmaudit init`"
            )
        if folder != _AUDITS:
            hint = nearest(folder, [_AUDITS], least=0.8)
            raise pytest.UsageError(f"there is no folder `{folder}` in {here};{hint}")
        near = nearest(given.name, [each.name for each in (here / given).parent.glob("*.py")])
        if near:
            raise pytest.UsageError(f"there is no file `{given.as_posix()}` in {here};{near}")


def _refuse_contradictions(plan: RunPlan) -> None:
    """Raise if an option does nothing because of another option that was given."""
    if plan.options.recorded:
        for name in ("sample", "device", "dtype", "on"):
            if getattr(plan.options, name) != OPTIONS[name].default:
                message = f"--rm-{name} does nothing with --rm-recorded: nothing is scored"
                raise pytest.UsageError(f"{message}; leave out one of them")
    if plan.options.gate and plan.config.option.collectonly:
        message = "--rm-gate does nothing with --collect-only: no audit is run"
        raise pytest.UsageError(f"{message}; leave out one of them")


def refuse_no_pairs(path: Path, prefix: str = "") -> None:
    """Raise if a file has no pairs of answers, a malformed line or an unknown kind of conduct.

    Raises:
        pytest.UsageError: the file is wrong; the message begins with `prefix`.
    """
    from rmaudit.scores.pair_files import conduct_pairs, read

    _refuse_wrong(lambda: conduct_pairs(read(path)), prefix)


def _refuse_wrong(read: Callable[[], object], prefix: str) -> None:
    """Call `read`; turn its `SpecError` into a usage error that begins with `prefix`."""
    try:
        read()
    except SpecError as error:
        raise pytest.UsageError(f"{prefix}{error}") from None


def refuse_unwritable(option: str, folder: Path, *, read: bool = False) -> None:
    """Raise if no file can be created in the `folder` of an option, or in its nearest parent.

    With `read`, only check that this is a folder. The error names the option.

    Raises:
        pytest.UsageError: it is a file, or below one, or no file can be made there.
    """
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise pytest.UsageError(f"{option}: {there} is not a folder; name a folder, or a new one")
    if read:
        return
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        message = f"{option}: nothing can be written to {there} ({error.strerror}); name another"
        raise pytest.UsageError(f"{message} folder") from None


def refuse_cache(plan: RunPlan) -> None:
    """Raise if the cache is no place to keep scores.

    A folder that has scores and cannot be written is read: what is missing there is an error of the
    audit that needs it.

    Raises:
        pytest.UsageError: it is a file, or there is no such place, or nothing can be written to it.
    """
    recorded = plan.options.recorded
    read = recorded or (plan.cache / "scores").is_dir()
    refuse_unwritable("--rm-cache", plan.cache, read=read)
    if not plan.cache_url:
        return
    files = plan.store.files
    try:
        files.names() if recorded else files.prepare("tried")
        files.clear("tried")
    except OSError as error:
        message = f"--rm-cache: {files.where()} cannot be used ({error}); name another place"
        raise pytest.UsageError(message) from None
