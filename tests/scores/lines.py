"""Files of JSON lines, and refusals of files that are not right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rmaudit.errors import SpecError


def written(path: Path, *lines: dict[str, Any]) -> Path:
    """A file of these lines, blank ones between."""
    path.write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def assert_refused(read: Callable[[Path], Any], path: Path, names: Iterable[str]) -> None:
    """One line that has the path and all of `names`, however long what was found is."""
    with pytest.raises(SpecError) as caught:
        read(path)

    said = str(caught.value)
    assert [name for name in [str(path), *names] if name not in said] == [], said
    assert "\n" not in said
    assert len(said) < 500 + len(str(path))
