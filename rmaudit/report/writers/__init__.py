"""Write a run's report files from its results: the page, the summary, and values for the Hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rmaudit.report.page import html_page
from rmaudit.report.results_document import Results, write_text
from rmaudit.report.writers import eval_results, markdown

PAGE = "index.html"
RENDERERS: Mapping[str, Callable[[Results], str]] = {
    PAGE: html_page.render,
    "summary.md": markdown.render,
    "eval_results.yaml": eval_results.render,
}


def write(results: Results, folder: Path, *, page: bool = True) -> None:
    """Write summary.md and eval_results.yaml to a folder, and the page last.

    The page, index.html, takes seconds; the others are quick. Equal results give equal bytes.
    """
    for name in sorted(RENDERERS, key=lambda name: name == PAGE):
        if page or name != PAGE:
            write_text(folder / name, RENDERERS[name](results))
