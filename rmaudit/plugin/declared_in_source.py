"""Find the audits that a Python file declares, by reading it as text: nothing is imported."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rmaudit.config.local_files import bundled
from rmaudit.verdicts.declare import audit

_KEYWORDS = set(inspect.signature(audit).parameters)


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
    """Return the names of a file's audits by their position, without any inside functions."""
    found: dict[Place, str] = {}
    left: list[ast.AST] = [ast.parse(source)]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(map(_declares, node.decorator_list)):
                found[Place(path, node.decorator_list[0].lineno)] = node.name
        else:
            left += ast.iter_child_nodes(node)
    return dict(sorted(found.items()))


def _declares(decorator: ast.expr) -> bool:
    """Return whether a decorator is a call of `rmaudit.audit`, judged by its arguments."""
    if not isinstance(decorator, ast.Call) or decorator.args or not decorator.keywords:
        return False
    given = {keyword.arg for keyword in decorator.keywords}
    name: Any = decorator.func
    called = getattr(name, "attr", getattr(name, "id", ""))
    return given <= _KEYWORDS | {None} and ("claim" in given or called.endswith("audit"))
