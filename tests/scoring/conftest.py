"""The checkpoint where the kind does not matter."""

from __future__ import annotations

import pytest

from tests.scoring.rows import Toy, load
from tests.toys import toy_checkpoint


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A plain backbone that shares its prefix."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("llama")))
