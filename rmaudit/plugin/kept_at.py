"""Where a run keeps what it makes: a folder, or for its scores a URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from rmaudit.config.cache_folder import default_cache
from rmaudit.errors import StoreError
from rmaudit.plugin.pytest_options import options_of, refuse_unwritable

if TYPE_CHECKING:
    from rmaudit.plugin.planning import Planner
    from rmaudit.scores.store import Store

STORE = pytest.StashKey["Store"]()
PLANNER = "rmaudit-planner"  # the plugin of a pytest that plans


def cache_folder(config: pytest.Config) -> Path:
    """The folder of `--rm-cache`, else the user's, also where the scores are at a URL."""
    given = options_of(config).cache
    return Path(given) if given and "://" not in given else default_cache()


def cache_named(config: pytest.Config) -> str:
    """The same for people: the folder, or the URL."""
    given = options_of(config).cache or ""
    return given if "://" in given else str(cache_folder(config))


def store_of(config: pytest.Config) -> Store:
    """Where the run's scores are: in the folder or at the URL of `--rm-cache`, else the user's.

    Raises:
        pytest.UsageError: there is no such place, or a package for it is missing.
    """
    from rmaudit.scores.store import Store

    if STORE not in config.stash:
        try:
            store = Store(cache_named(config))
        except StoreError as error:
            raise pytest.UsageError(f"--rm-cache: {error}") from None
        planner = planner_of(config)
        device = options_of(config).device
        config.stash[STORE] = planner.watch(store, device) if planner else store
    return config.stash[STORE]


def planner_of(config: pytest.Config) -> Planner | None:
    """What collects the needs of a run that is only planned; None where it is run."""
    return cast("Planner | None", config.pluginmanager.get_plugin(PLANNER))


def refuse_cache(config: pytest.Config) -> None:
    """Refuse a cache that nothing can be written to; one that is only read must be there.

    Raises:
        pytest.UsageError: it is a file, or there is no such place, or nothing can be written to it.
    """
    read = options_of(config).recorded
    refuse_unwritable("--rm-cache", cache_folder(config), read=read)
    if "://" not in (options_of(config).cache or ""):
        return
    files = store_of(config).files
    try:
        files.names() if read else files.prepare("tried")
        files.clear("tried")
    except OSError as error:
        message = f"--rm-cache: {files.where()} cannot be used ({error}); name another place"
        raise pytest.UsageError(message) from None
