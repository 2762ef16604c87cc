"""Hash the code that one audit runs: its own file and every file that it imports.

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
    """Return a SHA-256 hash of the code that an audit runs, "" if it is not known.

    It is not known if a source file is missing or was changed while this process ran.
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
    """Add a module and its imports to `seen`; return whether all their code is known."""
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
    """Return the hash of a file and the modules that it imports, also inside functions."""
    content = path.read_bytes()
    every = dict.fromkeys(_imports(ast.parse(content), package))
    names = [name for name in every if name.partition(".")[0] != _OURS.name]
    found = (sys.modules.get(name) or _unloaded(name) for name in names)
    return hashlib.sha256(content).hexdigest(), tuple(module for module in found if module)


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the imported names; a name may be a member of a module instead of a module."""
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
    """Return a module that is not imported yet, without running it; None if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return None if spec is None else importlib.util.module_from_spec(spec)


def _file(module: ModuleType) -> Path:
    """Return the path of a module's file, an empty path if it has none."""
    return Path(_named(module))


def _named(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or "")
