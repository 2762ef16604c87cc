"""Add the options of `rmaudit.runs.run_options` to pytest, and read their values."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rmaudit import removed
from rmaudit.errors import SpecError
from rmaudit.runs.option_parsing import Option
from rmaudit.runs.run_options import OPTIONS, RunOptions

MODEL, RM_MODEL = "--model", OPTIONS["models"].pytest
OTHERS_MODEL = pytest.StashKey[bool]()  # whether another plugin owns `--model`
_OPTIONS = pytest.StashKey[RunOptions]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run, which begin with `--rm-`, to pytest."""
    group = parser.getgroup("rmaudit", "audits of reward models")
    for option in OPTIONS.values():
        group.addoption(option.pytest, **_argparse_settings(option))
    for name in removed.OPTIONS:
        group.addoption(name, action=_Removed, nargs="?", help=argparse.SUPPRESS)


class _Removed(argparse.Action):
    """Refuses an option that 0.2 removed, and says what to use instead."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.error(removed.sentence(self.option_strings[0], removed.OPTIONS))


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser
) -> Generator[None]:
    """Add `--model` last, unless another plugin or a conftest.py already has that option."""
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
