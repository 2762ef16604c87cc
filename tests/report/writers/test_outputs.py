"""The files beside results.json: all from it, the same bytes each time."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from rmaudit.report.writers import outputs


@pytest.mark.parametrize("name", outputs.RENDERERS)
def test_an_output_is_a_function_of_the_file(results: dict[str, Any], name: str) -> None:
    """Twice the same, from what was collected as from what is read back; nothing is changed."""
    render, before = outputs.RENDERERS[name], copy.deepcopy(results)

    written = render(results)

    assert written == render(results) == render(json.loads(json.dumps(results)))
    assert results == before


def test_all_are_written(results: dict[str, Any], tmp_path: Path) -> None:
    """Each under its name, as UTF-8 with line feeds."""
    outputs.write(results, tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {
        "index.html",
        "summary.md",
        "results.sarif",
        "model-index.yaml",
    }
    for name, render in outputs.RENDERERS.items():
        assert (tmp_path / name).read_bytes() == render(results).encode()
