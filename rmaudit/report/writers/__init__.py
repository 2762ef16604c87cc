"""Write a run's report files from its results: the registry of outputs, by their file names.

Others add theirs by an entry point of the group `rmaudit.outputs`, whose name is the file's and
which is a function from results to text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.report.results_document import Results, write_text

GROUP = "rmaudit.outputs"
PAGE = "index.html"
# The module whose `render` makes each file. By name, so that nothing imports an output.
_MODULES = {
    PAGE: "rmaudit.report.page.html_page",
    "summary.md": "rmaudit.outputs.markdown",
    "eval_results.yaml": "rmaudit.outputs.hub_values",
}
_NAME = r"(?a:\w[\w.-]{0,79})"


def own() -> Mapping[str, Callable[[Results], str]]:
    """Return the functions that make rmaudit's own files, by the files' names; imports them."""
    return {name: import_module(module).render for name, module in _MODULES.items()}


def write(results: Results, folder: Path, *, page: bool = True) -> tuple[list[str], list[str]]:
    """Write all outputs to a folder; return the names of the files, and what failed, in sentences.

    summary.md and eval_results.yaml are quick and come first. Without `page` they are all: outputs
    of other packages may take long, and the page, index.html, which comes last, takes seconds. An
    output of another package that raises is left out. Equal results give equal bytes.

    Raises:
        OSError: a file cannot be written.
    """
    renderers = own()
    names = [name for name in renderers if page or name != PAGE]
    for name in names:
        if name != PAGE:
            write_text(folder / name, renderers[name](results))
    if not page:
        return names, []
    more, failed = _write_of_others(results, folder, {*renderers, "results.json"})
    write_text(folder / PAGE, renderers[PAGE](results))
    return [*names, *more], failed


def _write_of_others(
    results: Results, folder: Path, taken: set[str]
) -> tuple[list[str], list[str]]:
    """Write the outputs of other packages, none of which may have a name that is `taken`."""
    names: list[str] = []
    failed: list[str] = []
    for point in entry_points(group=GROUP):
        if not re.fullmatch(_NAME, point.name):
            why = "its name is to be a plain file name, such as values.csv"
        elif point.name.lower() in {*taken, *map(str.lower, names)}:
            why = "another output has its name; give it one of its own"
        else:
            text, why = _text_of(point, results)
            if not why:
                write_text(folder / point.name, text)
                names.append(point.name)
                continue
        failed.append(f"warning: the output {point.name!r} ({point.value}) is not written: {why}")
    return names, failed


def _text_of(point: EntryPoint, results: Results) -> tuple[str, str]:
    """Return what an output of another package makes of the results, or else why it makes none."""
    try:
        text: Any = point.load()(results)
        if not isinstance(text, str):
            return "", f"it returned a value of type {type(text).__name__}, expected a text"
    except (Exception, SystemExit) as error:  # noqa: BLE001  (of others, whatever it is)
        return "", f"it raised {brief(error)}; correct or update its package"
    return text, ""
