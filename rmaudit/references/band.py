"""Where the ten models of Christian et al. 2025 stand on each audit that published data allow.

Our own numbers, measured on the authors' published scores by `scripts/reference_band.py`, which
writes `band.json`. Most rest on fewer words than a whole vocabulary, which `on` says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("band.json")


@dataclass(frozen=True, slots=True)
class Band:
    """The value of each model by its name in models.yaml, in what unit, and measured on what."""

    models: Mapping[str, float]
    unit: str
    on: str


def band(audit: str, prompt: str, *, unit: str) -> Band | None:
    """The band of an audit under a prompt (or the label of several), in the audit's unit.

    None where there is none, and where it is in another unit: some audits were measured on words
    where a run measures a whole sweep, and their pages in docs/audits have those numbers.
    """
    found = _file()["audits"].get(audit, {}).get(prompt)
    if found is None or found["unit"] != unit:
        return None
    return Band(found["models"], found["unit"], found["on"])


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data
