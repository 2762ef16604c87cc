"""Find a run's cache of scores (a folder or a URL), and the planner of a dry run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import StoreError
from rmaudit.plugin.pytest_options import options_of, refuse_unwritable

if TYPE_CHECKING:
    from rmaudit.config.model_registry import ModelSpec
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.runs.audit_case import RunSettings
    from rmaudit.runs.score_requests import Request
    from rmaudit.scores.score_store import Store

STORE = pytest.StashKey["Store"]()
PLANNER = "rmaudit-planner"  # the plugin of a pytest that plans


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
