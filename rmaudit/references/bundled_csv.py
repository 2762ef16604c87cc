"""Read the CSV files that rmaudit bundles, checked column by column; errors name the line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from rmaudit.errors import SpecError

Rule = tuple[str, Callable[[str], bool]]  # what a text is expected to be, and whether it is


def read_checked(path: Path, rules: Mapping[str, Rule | None]) -> pd.DataFrame:
    """Read a CSV file as a table of texts, checking each column by its rule in `rules`.

    The columns must be those of `rules`, in this order.

    Raises:
        SpecError: the columns are others, or a text breaks its column's rule. FILE:LINE.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    if tuple(table.columns) != tuple(rules):
        message = f"{path}:1: expected the columns {','.join(rules)}, found"
        raise SpecError(f"{message} {','.join(table.columns)}")
    for name, rule in rules.items():
        if rule is None:
            continue
        expected, allowed = rule
        for line, text in enumerate(table[name], start=2):
            if not allowed(text):
                raise SpecError(f"{path}:{line}: {name}: expected {expected}, found {text!r}")
    return table
