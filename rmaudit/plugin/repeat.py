"""Where an audit stands, and the command that runs it again, from the folder that it ran in."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rmaudit.organisms.for_model import SEARCHED
from rmaudit.plugin.collection import Audited
from rmaudit.plugin.options import (
    RM_BASELINE,
    RM_CACHE,
    RM_DEVICE,
    RM_DTYPE,
    RM_INCONCLUSIVE,
    RM_LEDGER,
    RM_MISSING,
    RM_MODEL,
    RM_MODELS,
    RM_RECORDED,
    RM_SAMPLE,
    RM_SEARCH,
    RM_SEED,
)
from rmaudit.plugin.session import SESSION, registered

_WITH_VALUE = {  # by option, the value that need not be said
    RM_MODELS: None,
    RM_CACHE: None,
    RM_BASELINE: None,
    RM_LEDGER: None,
    RM_SAMPLE: None,
    RM_SEARCH: SEARCHED,
    RM_DEVICE: "auto",
    RM_DTYPE: None,
    RM_MISSING: "skip",
    RM_INCONCLUSIVE: "fail",
}


def place(item: pytest.Item) -> str:
    """The test as a command names it from the folder of the run; absolute if it lies elsewhere.

    pytest's own node id starts at its rootdir, which may be any folder above, and xdist adds to it.
    """
    here: Path = item.config.invocation_params.dir
    path = item.path.relative_to(here) if item.path.is_relative_to(here) else item.path
    inside = [
        node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item))
    ]
    return "::".join([path.as_posix(), *inside])


def repeat(item: pytest.Item, audit: Audited) -> str:
    """The command that runs one audit again, with all that decides its numbers and its verdict."""
    config, spec = item.config, audit.spec
    # A folder of an entry's name is not the entry: its source is its whole path, or a hub id.
    model = spec.name if registered(spec, config.stash[SESSION].registry) else spec.source
    command = ["pytest", place(item), RM_MODEL, model, RM_SEED, str(config.getoption(RM_SEED))]
    for option, default in _WITH_VALUE.items():
        if (given := config.getoption(option)) not in (None, default):
            command += [option, str(given)]
    if config.getoption(RM_RECORDED):
        command.append(RM_RECORDED)
    return shlex.join(command)
