"""Measures: functions that compute an `Estimate` from scores and lexicons; no torch or files."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module


@cache
def load() -> None:
    """Import every module here, which registers its evidence class for reading stored results."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
