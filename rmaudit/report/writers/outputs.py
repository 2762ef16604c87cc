"""Every file that a run's folder has beside results.json, each rendered from it alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rmaudit.report.writers import html, markdown, modelcard, sarif

RENDERERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "index.html": html.render,
    "summary.md": markdown.render,
    "results.sarif": sarif.render,
    "model-index.yaml": modelcard.render,
}


def write(results: Mapping[str, Any], folder: Path) -> None:
    """Write them; the same results give the same bytes."""
    for name, render in RENDERERS.items():
        (folder / name).write_text(render(results), encoding="utf-8", newline="\n")
