"""Add the options of a run to pytest; read their values, and find the cache that they name."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

import pytest

from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import SpecError, StoreError, nearest
from rmaudit.runs.option_parsing import Option
from rmaudit.runs.run_options import OPTIONS, RunOptions

if TYPE_CHECKING:
    from rmaudit.config.model_registry import ModelSpec
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.runs.audit_case import RunSettings
    from rmaudit.runs.run_scores import Request
    from rmaudit.scores.score_store import Store

MODEL, RM_MODEL = "--model", OPTIONS["models"].pytest
OTHERS_MODEL = pytest.StashKey[bool]()  # whether another plugin owns `--model`
_OPTIONS = pytest.StashKey[RunOptions]()
STORE = pytest.StashKey["Store"]()
PLANNER = "rmaudit-planner"  # the plugin of a pytest that plans


@dataclass(frozen=True, slots=True)
class Caller:
    """A program that runs pytest in its own process, by `rmaudit.run`."""

    progress: TextIO  # where progress goes, as pytest's terminal is not shown
    pages: bool  # whether the report's pages are written


CALLER = pytest.StashKey[Caller]()


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
        parser.getgroup("rmaudit").addoption(MODEL, **_argparse_settings(OPTIONS["models"]))
    except (ValueError, argparse.ArgumentError):
        early_config.stash[OTHERS_MODEL] = True  # `--rm-model` does the same


def _argparse_settings(option: Option) -> dict[str, Any]:
    """Return an option's argparse settings; values stay text, which xdist sends to workers."""
    settings = {"dest": _name_in_config(option), "help": option.explained, "default": None}
    if not option.metavar:
        return {**settings, "action": "store_true"}
    action = "append" if option.repeated else "store"
    return {**settings, "action": action, "metavar": option.metavar}


def _name_in_config(option: Option) -> str:
    return option.pytest.removeprefix("--").replace("-", "_")


def options_of(config: pytest.Config) -> RunOptions:
    """Return the options of this run, read once.

    Raises:
        pytest.UsageError: a value is not allowed.
    """
    if _OPTIONS not in config.stash:
        given = {name: config.getoption(_name_in_config(one)) for name, one in OPTIONS.items()}
        for name, value in given.items():
            if value == [] or (isinstance(value, list) and [] in value):  # argparse drops the value
                raise pytest.UsageError(f"{OPTIONS[name].pytest}: '--' is no value; write './--'")
        try:
            config.stash[_OPTIONS] = RunOptions.of(given, lambda name: OPTIONS[name].pytest)
        except SpecError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[_OPTIONS]


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


class RunPlanner(Protocol):
    """Interface of a dry run: it notes requests for scores and answers them with random numbers."""

    def opened(self, spec: ModelSpec, options: RunSettings) -> Scored:
        """Open a model without its weights."""

    def on_request(self, model: Scored, request: Request) -> None:
        """Note which scores an audit requests, before the request is answered."""

    def watch(self, store: Store, device: str) -> Store:
        """Return a store that wraps `store` and notes which scores are missing there.

        `device` is where a base model runs.
        """

    def note(self, item: pytest.Function) -> None:
        """Run an audit to note the scores that it requests itself, besides those of fixtures."""


def cache_folder(config: pytest.Config) -> Path:
    """Return the folder of `--rm-cache`; the default cache if that is not given or is a URL."""
    given = options_of(config).cache
    return Path(given) if given and "://" not in given else default_cache()


def cache_named(config: pytest.Config) -> str:
    """Return the folder or the URL of the run's cache, as text."""
    given = options_of(config).cache or ""
    return given if "://" in given else str(cache_folder(config))


def store_of(config: pytest.Config) -> Store:
    """Return the store of the run's scores: at `--rm-cache`, or else in the user's cache folder.

    Raises:
        pytest.UsageError: the URL cannot be used, or a package for it is missing.
    """
    from rmaudit.scores.score_store import Store

    if STORE not in config.stash:
        try:
            store = Store(cache_named(config))
        except StoreError as error:
            raise pytest.UsageError(f"--rm-cache: {error}") from None
        planner = planner_of(config)
        device = options_of(config).device
        config.stash[STORE] = planner.watch(store, device) if planner else store
    return config.stash[STORE]


def planner_of(config: pytest.Config) -> RunPlanner | None:
    """Return the plugin that plans a dry run (`rmaudit plan`); None in a run that measures."""
    return cast("RunPlanner | None", config.pluginmanager.get_plugin(PLANNER))


def refuse_cache(config: pytest.Config) -> None:
    """Raise if the cache is no place to keep scores.

    A folder that has scores and cannot be written is read: what is missing there is an error of the
    audit that needs it.

    Raises:
        pytest.UsageError: it is a file, or there is no such place, or nothing can be written to it.
    """
    read = options_of(config).recorded or (cache_folder(config) / "scores").is_dir()
    refuse_unwritable("--rm-cache", cache_folder(config), read=read)
    if "://" not in (options_of(config).cache or ""):
        return
    files = store_of(config).files
    try:
        files.names() if options_of(config).recorded else files.prepare("tried")
        files.clear("tried")
    except OSError as error:
        message = f"--rm-cache: {files.where()} cannot be used ({error}); name another place"
        raise pytest.UsageError(message) from None
