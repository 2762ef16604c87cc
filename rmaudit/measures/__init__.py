"""Measures: functions from scores and lexicons to an `Estimate`. No torch, no files, no pytest."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module


@cache
def load() -> None:
    """Import all measures, which registers their kinds of evidence for readers of results."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
