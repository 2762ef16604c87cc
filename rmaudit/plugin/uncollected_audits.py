"""Find the audits that test files declare, to report those that pytest did not collect.

A skip of a whole module, `python_files` of an ini, `collect_ignore` and `norecursedirs` (by default
also folders called build, dist and venv) leave audits out in silence; a run in which that happened
does not pass. The files are read as text here and never imported. Hidden folders and virtual
environments are not looked into.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.verdicts.audit_declaration import audit, is_audit

_KEYWORDS = set(inspect.signature(audit).parameters)
_TEST_FILES = ("test_*.py", "*_test.py")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
        for function in declared_in(file, ast.parse(file.read_text(encoding="utf-8"))).values()
    }


def declared_in(path: Path, tree: ast.Module, own: Collection[str] = ()) -> dict[Place, str]:
    """Return the names of the audits that a file declares outside functions, by their position.

    `own` has the names of a team's own decorators around `rmaudit.audit`.
    """
    found: dict[Place, str] = {}
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, _FUNCTIONS):
            if any(_declares(each, own) for each in node.decorator_list):
                found[Place(path, node.decorator_list[0].lineno)] = node.name
            continue
        match node:  # test_name = audit(claim=..., ...)(measure)
            case ast.Assign([ast.Name(name)], ast.Call(ast.Call() as made)) if _declares(made, own):
                found[Place(path, node.lineno)] = name
        left += ast.iter_child_nodes(node)
    return dict(sorted(found.items()))


def _declares(decorator: ast.expr, own: Collection[str]) -> bool:
    """Return whether a decorator declares an audit: `audit(claim=...)`, or one of a team's `own`.

    A call of `rmaudit.audit` is known by its arguments, whatever it is called.
    """
    if _name_of(decorator) in own:
        return True
    if not isinstance(decorator, ast.Call) or decorator.args or not decorator.keywords:
        return False
    given = {keyword.arg for keyword in decorator.keywords}
    called = _name_of(decorator).endswith("audit")
    return given <= _KEYWORDS | {None} and ("claim" in given or called)


def _name_of(decorator: ast.expr) -> str:
    """Return a decorator's name without its module: `gate` of `@tools.gate(...)`; or ""."""
    named: Any = decorator.func if isinstance(decorator, ast.Call) else decorator
    return str(getattr(named, "attr", getattr(named, "id", "")))


def _own_decorators(
    trees: Mapping[Path, ast.Module], collected: Collection[tuple[Path, str]]
) -> set[str]:
    """Return the names of a team's own decorators that declare audits.

    These are functions and classes that call `rmaudit.audit`, partial calls of it, and whatever
    else stands above an audit that was `collected` (by its file and name).
    """
    own: set[str] = set()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                inside = (each for line in node.body for each in ast.walk(line))
                if any(isinstance(each, ast.Call) and _declares(each, set()) for each in inside):
                    own.add(node.name)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                if any(_name_of(each) == "audit" for each in node.value.args):
                    own |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, _FUNCTIONS) and (path, node.name) in collected:
                above = node.decorator_list
                if not any(_declares(each, own) for each in above):
                    of_ours = (e for e in above if not ast.unparse(e).startswith("pytest."))
                    own |= set(map(_name_of, of_ours))
    return own - {""}


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
    files = {path: _text(path) for each in named for path in _python_files(each)}
    collected = [i for i in items if isinstance(i, pytest.Function) and is_audit(i.function)]
    names = {(item.path.resolve(), item.originalname) for item in collected}
    beside = {path: _text(path) for each in (here, *named) for path in each.glob("*.py")}
    known = {path for path, _ in names}
    of_audits = {p: text for p, text in (beside | files).items() if "audit" in text or p in known}
    trees = {path: tree for path, text in of_audits.items() if (tree := _parsed(text))}
    own = _own_decorators(trees, names)
    told: list[str] = []
    places: dict[Place, str] = {}
    for path, source in files.items():
        found: dict[Place, str] = {}
        if any(word in source for word in ("audit", "claim", *own)):
            if (tree := trees.get(path) or _parsed(source)) is None:
                if any(fnmatch(path.name, pattern) for pattern in _TEST_FILES):
                    told.append(f"{_relative_path(path, here)} cannot be read as Python")
                continue
            found = declared_in(path, tree, own)
        why = next((skipped[each] for each in (path, *path.parents) if each in skipped), None)
        if why is None:
            places |= found
        elif found or "audit" in source:
            names_found = f" with {', '.join(found.values())}" if found else ""
            told.append(f"{_relative_path(path, here)} was skipped{names_found}: {why}")
    return [*told, *_never_collected(config, places, collected, files)]


def _never_collected(
    config: pytest.Config,
    places: Mapping[Place, str],
    collected: Iterable[pytest.Function],
    files: Mapping[Path, str],
) -> Iterator[str]:
    """Yield a sentence on the audits of `places` that were not `collected`, if there are any.

    A copy of a file whose audits were collected is left out, as a build leaves one, where pytest
    does not enter its folder.
    """
    here: Path = config.invocation_params.dir
    seen = _places_of_collected(collected, places)
    known = {files.get(path) for path, _ in seen}
    missing: list[str] = []
    closed: dict[str, None] = {}  # folders that pytest does not enter
    for place, name in places.items():
        folder = _not_entered(config, place.path)
        copied = folder and files[place.path] in known
        if not (copied or place in seen or (place.path, name) in seen):
            missing.append(f"{_relative_path(place.path, here)}::{name}")
            closed |= {folder: None} if folder else {}
    if missing:
        said = "1 audit was" if len(missing) == 1 else f"{len(missing)} audits were"
        why = f"; pytest enters no folder called {', '.join(closed)} (norecursedirs)"
        yield f"{said} never collected: {', '.join(missing)}{why if closed else ''}"


def _text(path: Path) -> str:
    """Return a file's text; "" of a link to nothing, which pytest leaves out too."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _parsed(source: str) -> ast.Module | None:
    """Return a file's syntax tree; None where it cannot be read as Python."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.parse(source)
    return None


def _python_files(place: Path) -> Iterator[Path]:
    """Yield the Python files of a folder and its subfolders, or `place` itself if it is a file.

    Links are followed, as pytest follows them, and no folder is visited twice.
    """
    if place.is_file() and place.suffix == ".py":
        yield place.resolve()
    visited: set[str] = set()
    for folder, below, files in os.walk(place, followlinks=True):
        below[:] = sorted(name for name in below if _is_searched(Path(folder, name), visited))
        yield from (Path(folder, name).resolve() for name in sorted(files) if name.endswith(".py"))


def _is_searched(folder: Path, visited: set[str]) -> bool:
    """Return whether audits are looked for in a folder: not in hidden ones and environments.

    It is added to `visited`, the true paths of the folders that were asked for.
    """
    real = os.path.realpath(folder)
    new = real not in visited
    visited.add(real)
    environment = any((folder / name).exists() for name in ("pyvenv.cfg", "conda-meta"))
    return new and not folder.name.startswith(".") and not environment


def _not_entered(config: pytest.Config, path: Path) -> str:
    """Return the name of the folder above a file that `norecursedirs` closes to pytest; or ""."""
    here: Path = config.invocation_params.dir
    roots = [(here / arg).resolve() for arg in config.args]
    root = next((root for root in roots if path.is_relative_to(root)), path.parent)
    patterns = config.getini("norecursedirs")
    folders = path.relative_to(root).parts[:-1]
    return next((each for each in folders if any(fnmatch(each, p) for p in patterns)), "")


def _places_of_collected(
    collected: Iterable[pytest.Function], places: Mapping[Place, str]
) -> set[tuple[Path, int | str]]:
    """Return where collected audits stand: file and line if `places` has it, else file and name."""
    seen: set[tuple[Path, int | str]] = set()
    for item in collected:
        code = inspect.unwrap(item.function).__code__
        place = Place(Path(code.co_filename).resolve(), code.co_firstlineno)
        seen.add(place if place in places else (item.path.resolve(), item.originalname))
    return seen


def _relative_path(path: Path, here: Path) -> str:
    """Return the path relative to the run's folder, unchanged if it is outside."""
    base = here.resolve()
    return (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()
