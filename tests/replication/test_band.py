"""The committed band is what `scripts/reference_band.py` measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.references.band import _file
from scripts.reference_band import measured
from tests.conftest import unavailable


@pytest.mark.slow
def test_the_band_is_measured_anew(mirror: Path) -> None:
    """Same files, and the same numbers to one in the last digit.

    Four decimals are kept; another version of scipy or statsmodels may round the fifth otherwise.
    """
    if not (mirror / "big2_mfd").is_dir():
        unavailable(f"no word scores at {mirror / 'big2_mfd'}: the authors state no licence")
    committed, again = _file(), measured(mirror)

    assert again["sources"] == committed["sources"]
    assert list(again["audits"]) == list(committed["audits"])
    for audit, entries in again["audits"].items():
        assert list(entries) == list(committed["audits"][audit])
        for prompt, entry in entries.items():
            there = committed["audits"][audit][prompt]
            assert entry["on"] == there["on"]
            assert entry["models"] == pytest.approx(there["models"], abs=1.5e-4)
