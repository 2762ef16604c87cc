"""Measures: functions that compute an `Estimate` from scores and lexicons; no torch or files."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module


@cache
def load() -> None:
    """Import all modules of this package, so that stored results find their evidence classes."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
