"""The committed band and page are what `scripts/reference_band.py` measures and writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.references.published_model_values import _file
from scripts.recorded_page import SAID, page
from scripts.reference_band import PAGE, PAIRED, measured
from tests.conftest import unavailable

OF_WORDS = {  # audits that published words allow
    *("framing_inversion", "frequency_bias", "positive_skew", "elo_agreement"),
    "token_kinds",
}
BASELINES = ("R-Lla-3B",)


def test_the_page_is_written_from_the_band() -> None:
    """docs/recorded.md says no number that the table has not, and of each audit whom it fails."""
    assert SAID.keys() == _file()["audits"].keys()
    assert PAGE.read_text(encoding="utf-8") == page(_file())


@pytest.mark.nightly
def test_the_band_is_measured_anew(mirror: Path) -> None:
    """Same files, same audits, same verdicts, and the same numbers to one in the last digit.

    Four decimals are kept; another version of scipy or statsmodels may round the fifth otherwise.
    Of the ten baselines one is tried again: it takes a run over nine models.
    """
    if not (mirror / "big2_mfd").is_dir():
        unavailable(f"no word scores at {mirror / 'big2_mfd'}: the authors state no licence")
    committed, again = _file(), measured(mirror, baselines=BASELINES)

    assert again["sources"] == committed["sources"]
    for audit in OF_WORDS:
        assert all(len(entry["models"]) == 10 for entry in again["audits"][audit].values()), audit
    assert list(again["audits"]) == list(committed["audits"])
    for audit, entries in again["audits"].items():
        assert list(entries) == list(committed["audits"][audit])
        for prompt, entry in entries.items():
            there = committed["audits"][audit][prompt]
            assert {**entry, "models": {}} == {**there, "models": {}}
            of = [
                each
                for each in there["models"]
                if audit != PAIRED or each.split(" for ")[1] in BASELINES
            ]
            assert list(entry["models"]) == of
            for model, one in entry["models"].items():
                assert one == pytest.approx(there["models"][model], abs=1.5e-4)
