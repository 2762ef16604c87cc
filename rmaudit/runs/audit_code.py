"""A digest of the code of one audit: its file, and the files that these import.

rmaudit's own files are in `json_cache.code`. Of installed packages the name and the version count,
of everything else the bytes: helpers beside the audit, and every conftest.py of the run.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from rmaudit import json_cache

_OURS = Path(__file__).parents[1]
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_CONFTEST = "conftest.py"


def code_of(function: Callable[..., Any]) -> str:
    """The digest of what runs when an audit is called, or "" where that is not known.

    It is not where a source cannot be had, or was written while this process ran.
    """
    module = sys.modules.get(function.__module__)
    loaded = list(sys.modules.values())
    conftests = (each for each in loaded if _named(each).endswith(_CONFTEST))
    seen: dict[str, str] = {}
    for each in (module, *conftests):
        if each is None or not _add(each, seen):
            return ""
    return hashlib.sha256(
        "\n".join(sorted(f"{k} {v}" for k, v in seen.items())).encode()
    ).hexdigest()


def _add(module: ModuleType, seen: dict[str, str]) -> bool:
    """Add a module and all that it imports; whether its code is known."""
    name, path = module.__name__, _file(module)
    if name in seen or path.is_relative_to(_OURS):
        return True
    if name in sys.builtin_module_names or str(path).startswith(_INSTALLED):
        top = sys.modules.get(name.partition(".")[0])
        seen[name] = str(getattr(top, "__version__", ""))
        return True
    if path.suffix != ".py" or not path.is_file() or json_cache.written_since(path):
        return False
    seen[name], imported = _read(path, module.__package__ or "")
    return all(_add(each, seen) for each in imported if _file(each) != Path())


def _read(path: Path, package: str) -> tuple[str, tuple[ModuleType, ...]]:
    """The digest of a file, and the modules that it imports anywhere in it."""
    content = path.read_bytes()
    every = dict.fromkeys(_imports(ast.parse(content), package))
    names = [name for name in every if name.partition(".")[0] != _OURS.name]
    found = (sys.modules.get(name) or _unloaded(name) for name in names)
    return hashlib.sha256(content).hexdigest(), tuple(module for module in found if module)


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """The names of modules, some of which may be names in a module instead."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package or base)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _unloaded(name: str) -> ModuleType | None:
    """A module that is imported later, as found and not run; None where there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return None if spec is None else importlib.util.module_from_spec(spec)


def _file(module: ModuleType) -> Path:
    """The file of a module, an empty path where it has none."""
    return Path(_named(module))


def _named(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or "")
