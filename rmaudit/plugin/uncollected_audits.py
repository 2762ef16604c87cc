"""Find the audits that test files declare, to report those that pytest did not collect.

A skip of a whole module, `python_files` of an ini and `collect_ignore` leave audits out in silence;
a run in which that happened does not pass. The files are read as text here and never imported.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.plugin.session import SESSION
from rmaudit.verdicts.audit_declaration import audit, is_audit

_KEYWORDS = set(inspect.signature(audit).parameters)
# pytest's own default; a suite's `norecursedirs` is one of the ways to leave audits out.
_NOT_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
_TEST_FILES = ("test_*.py", "*_test.py")


class Place(NamedTuple):
    """Position of an audit's declaration: its file, and the line of its first decorator."""

    path: Path
    line: int


@cache
def bundled_audits() -> dict[str, Path]:
    """Return the file of each audit that comes with rmaudit, by the audit's name."""
    files = sorted(bundled("audits").glob("test_*.py"))
    return {
        function.removeprefix("test_"): file
        for file in files
        for function in declared_in(file, file.read_text(encoding="utf-8")).values()
    }


def declared_in(path: Path, source: str) -> dict[Place, str]:
    """Return the names of the audits that a file declares outside functions, by their position."""
    found: dict[Place, str] = {}
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(map(_is_call_of_audit, node.decorator_list)):
                found[Place(path, node.decorator_list[0].lineno)] = node.name
        else:
            left += ast.iter_child_nodes(node)
    return dict(sorted(found.items()))


def _is_call_of_audit(decorator: ast.expr) -> bool:
    """Return whether a decorator is a call of `rmaudit.audit`, judged by its arguments."""
    if not isinstance(decorator, ast.Call) or decorator.args or not decorator.keywords:
        return False
    given = {keyword.arg for keyword in decorator.keywords}
    name: Any = decorator.func
    called = getattr(name, "attr", getattr(name, "id", ""))
    return given <= _KEYWORDS | {None} and ("claim" in given or called.endswith("audit"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Record why pytest skipped a whole file or folder."""
    report = yield
    path: Path | None = getattr(collector, "path", None)
    if report.skipped and path is not None:
        said = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = said.removeprefix("Skipped: ")
        collector.config.stash[SESSION].plan.skipped[path.resolve()] = reason
    return report


def uncollected(
    config: pytest.Config, items: Iterable[pytest.Item], skipped: Mapping[Path, str]
) -> list[str]:
    """Return sentences on skipped files, and on declared audits that pytest did not collect.

    A skipped or unreadable file has a sentence of its own, and all other missing audits share one.
    `skipped` says why, by the path of a file or of a folder. Tests that are named one by one
    (`file.py::test`) and those of `--lf` were chosen, so nothing is looked for beside them.
    """
    here: Path = config.invocation_params.dir
    named = [here / arg for arg in config.args if "::" not in arg]
    if config.getoption("lf", None):
        return []
    told: list[str] = []
    places: dict[Place, str] = {}
    cut: set[Path] = set()
    for path in dict.fromkeys(file for each in named for file in _python_files(each)):
        source = path.read_text(encoding="utf-8", errors="replace")
        found: dict[Place, str] = {}
        if "audit" in source or "claim" in source:
            try:
                found = declared_in(path, source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                if any(fnmatch(path.name, pattern) for pattern in _TEST_FILES):
                    told.append(f"{_relative_path(path, here)} cannot be read as Python")
                continue
        why = next((skipped[each] for each in (path, *path.parents) if each in skipped), None)
        if why is not None and (found or "audit" in source):
            names = f" with {', '.join(found.values())}" if found else ""
            told.append(f"{_relative_path(path, here)} was skipped{names}: {why}")
            cut.add(path)
        places |= found
    seen = _places_of_collected(items, places)
    missing = [
        f"{_relative_path(place.path, here)}::{name}"
        for place, name in places.items()
        if place.path not in cut and place not in seen and (place.path, name) not in seen
    ]
    if missing:
        said = "1 audit was" if len(missing) == 1 else f"{len(missing)} audits were"
        told.append(f"{said} never collected: {', '.join(missing)}")
    return told


def _python_files(place: Path) -> Iterator[Path]:
    """Yield the Python files of a folder and its subfolders, or `place` itself if it is a file."""
    if place.is_file() and place.suffix == ".py":
        yield place.resolve()
    for folder, below, files in os.walk(place):
        below[:] = sorted(name for name in below if _is_searched(Path(folder, name)))
        yield from (Path(folder, name).resolve() for name in sorted(files) if name.endswith(".py"))


def _is_searched(folder: Path) -> bool:
    """Return whether audits are looked for in a folder: not in hidden, build or venv folders."""
    hidden = any(fnmatch(folder.name, pattern) for pattern in _NOT_ENTERED)
    return not hidden and not (folder / "pyvenv.cfg").exists()


def _places_of_collected(
    items: Iterable[pytest.Item], places: Mapping[Place, str]
) -> set[tuple[Path, int | str]]:
    """Return where collected audits stand: file and line if `places` has it, else file and name."""
    seen: set[tuple[Path, int | str]] = set()
    for item in items:
        if isinstance(item, pytest.Function) and is_audit(item.function):
            code = inspect.unwrap(item.function).__code__
            place = Place(Path(code.co_filename).resolve(), code.co_firstlineno)
            seen.add(place if place in places else (item.path.resolve(), item.originalname))
    return seen


def _relative_path(path: Path, here: Path) -> str:
    """Return the path relative to the run's folder, unchanged if it is outside."""
    base = here.resolve()
    return (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()
