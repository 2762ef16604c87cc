"""Write a run's report files from its results: summary, SARIF, model card and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rmaudit.report.page import html_page
from rmaudit.report.results_document import Results, write_text
from rmaudit.report.writers import markdown, modelcard, sarif

RENDERERS: Mapping[str, Callable[[Results], str]] = {
    "index.html": html_page.render,
    "summary.md": markdown.render,
    "results.sarif": sarif.render,
    "model-index.yaml": modelcard.render,
}


def write(results: Results, folder: Path) -> None:
    """Write index.html, summary.md, results.sarif and model-index.yaml to a folder.

    Equal results give equal bytes.
    """
    for name, render in RENDERERS.items():
        write_text(folder / name, render(results))
