"""Import the audits of a folder from their files, without pytest; nothing of a run needs it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from rmaudit.errors import SpecError
from rmaudit.verdicts.audit_declaration import Declaration, declared
from rmaudit.verdicts.estimates_and_bounds import Estimate

Audit = tuple[Callable[..., Estimate], Declaration]


def audits_in(folder: Path) -> dict[str, Audit]:
    """Import test_*.py of a folder; return function and declaration of each audit by its name.

    A file that was imported before is not imported again.

    Raises:
        SpecError: a file cannot be imported.
    """
    found: dict[str, Audit] = {}
    for path in sorted(folder.glob("test_*.py")):
        for member in vars(_imported_module(path)).values():
            if declaration := declared(member):
                found[declaration.name] = member, declaration
    return found


def _imported_module(path: Path) -> ModuleType:
    name = f"rmaudit_audits_{path.parent.resolve().as_posix()}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{path}: cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
