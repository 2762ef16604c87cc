"""Packages with entry points, installed for a test: a module and its metadata in a folder."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

HOW_TO = Path(__file__).parents[1] / "docs/how-to/sources-and-outputs.md"
# What the page adds: its Python, each block of which is one file's beginning or end.
HOUSE = "\n\n".join(re.findall(r"```python\n(.*?)```", HOW_TO.read_text("utf-8"), flags=re.DOTALL))


def install(  # noqa: PLR0917  (what a package is made of)
    folder: Path,
    patch: pytest.MonkeyPatch,
    group: str,
    points: Mapping[str, str],
    text: str = HOUSE,
    module: str = "house_rm",
) -> None:
    """Put a module with this text and its entry points where Python finds installed packages."""
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
    patch.syspath_prepend(folder)
    patch.delitem(sys.modules, module, raising=False)
