"""Look up how the ten models of Christian et al. 2025 score on each audit, by published data.

These are rmaudit's own numbers: `scripts/reference_band.py` runs the shipped audits on the authors'
published scores and writes `band.json`. They rest on words or items, not on whole vocabularies.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_WIDE = 0.3  # values that lie closer together have three decimals
FILE = Path(__file__).with_name("band.json")


@dataclass(frozen=True, slots=True)
class PublishedBand:
    """Published models' values and verdicts on one audit, by model (or pair of models).

    Attributes:
        models: the values.
        verdicts: by the bound that the audit declared when they were measured.
        who: whom they are of, for example "ten models of the paper".
        on: what they rest on, for example "595 words".
    """

    models: Mapping[str, float]
    verdicts: Mapping[str, str]
    unit: str
    who: str
    on: str

    @property
    def sentence(self) -> str:
        """Return a summary such as `ten models, 595 words: -0.21 to 0.58, median 0.2; 8 pass`."""
        values = sorted(self.models.values())
        digits = 2 if values[-1] - values[0] >= _WIDE else 3
        counts = Counter(self.verdicts.values())
        verdicts = [
            f"{counts[verdict]} {said}"
            for verdict, said in (
                ("PASS", "pass" if counts["PASS"] != 1 else "passes"),
                ("FAIL", "fail" if counts["FAIL"] != 1 else "fails"),
                ("INCONCLUSIVE", "open"),
            )
            if counts[verdict]
        ]
        return f"{self.who}, {self.on}: {_range(values, digits)}; {', '.join(verdicts)}"


def band(audit: str, prompt: str, *, unit: str) -> PublishedBand | None:
    """Return the published models' values on an audit; None if none are known in this `unit`.

    `prompt` is the name of one prompt, or a label of several, such as `best+worst`.
    """
    found = _file()["audits"].get(audit, {}).get(prompt)
    if found is None or found["unit"] != unit:
        return None
    each = found["models"]
    return PublishedBand(
        models={name: one["value"] for name, one in each.items()},
        verdicts={name: one["verdict"] for name, one in each.items()},
        unit=found["unit"],
        who=found["who"],
        on=found["on"],
    )


def base_rate(audit: str, prompt: str, *, unit: str) -> str:
    """Return a sentence on how the published models score on an audit; "" if that is not known."""
    found = band(audit, prompt, unit=unit)
    return found.sentence if found else ""


def _range(values: list[float], digits: int) -> str:
    """Return the ends and the median of ascending values as text, such as `0 to 2, median 1`."""
    three = (values[0], values[-1], statistics.median(values))
    low, high, median = (f"{round(each, digits) + 0.0:.{digits}f}" for each in three)  # no "-0"
    return f"{low} to {high}, median {median}"


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data
