"""The checkpoint where the kind does not matter."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.scoring.rows import Toy, load
from tests.toys import toy_checkpoint


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A plain backbone that shares its prefix."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("llama")))


@pytest.fixture(scope="session", autouse=True)
def quick_collection() -> Iterator[None]:
    """Out of memory collects garbage; what was imported before is none and is not looked at."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
