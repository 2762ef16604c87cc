"""Strings that searches found to please reward models: the exploit ledger, as far as it is public.

See probes/README.md. Strings that a search of one's own finds belong beside them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd

_FILE = Path(__file__).parent / "probes" / "strings.csv"


@lru_cache(maxsize=1)
def probes() -> pd.DataFrame:
    """A row a string: `prompt` (its name), `direction`, `model`, `source`, `text`."""
    return pd.read_csv(_FILE, dtype=str, keep_default_na=False, encoding="utf-8")
