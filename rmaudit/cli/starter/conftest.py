"""Keep the audits apart from other tests: `pytest audits` runs them, a bare `pytest` does not."""

from pathlib import Path

import pytest

AUDITS = Path(__file__).parent / "audits"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the folder of audits unless it is named (audits load a model, and take minutes)."""
    if collection_path != AUDITS:
        return None
    here = config.invocation_params.dir
    named = [(here / argument.partition("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(AUDITS) for path in named) else True
