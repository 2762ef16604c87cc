"""Measures: frames and arrays in, an `Estimate` out. No torch, no files, no pytest."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module


@cache
def load() -> None:
    """Import all measures, so that their kinds of evidence are known to whoever reads results."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
