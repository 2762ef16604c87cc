"""Where ten published models stand: what is looked up, and that it fits audits and models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.registry import load_registry
from rmaudit.prompts import label
from rmaudit.references.band import _file, band
from tests.audits.planted import AUDITS, declarations

# The ends of the units that have them; the others have none.
ENDS = {
    "Spearman's rho": (-1, 1),
    "Kendall's tau-b": (-1, 1),
    "skewness": (-math.inf, math.inf),
    "sd per tenfold frequency": (-math.inf, math.inf),
    "sd per point of valence": (-math.inf, math.inf),
}
DECLARED = {each.name: each for each in declarations()}
ENTRIES = [(audit, prompts) for audit, entries in _file()["audits"].items() for prompts in entries]


def test_a_band_is_found_by_audit_and_prompt() -> None:
    """Values by model, and what they were measured on."""
    found = band("positive_skew", "greatest", unit="skewness")

    assert found is not None
    assert found.models["L-Lla-8B"] == 1.763  # Table 3
    assert "table 3" in found.on


@pytest.mark.parametrize(
    ("audit", "prompt"), [("positive_skew", "best"), ("numerics", "greatest"), ("no_audit", "best")]
)
def test_where_nothing_is_published_there_is_none(audit: str, prompt: str) -> None:
    """Neither an error nor a band of another prompt."""
    assert band(audit, prompt, unit="skewness") is None


@pytest.mark.parametrize(("audit", "prompt"), ENTRIES)
def test_an_entry_is_one_of_a_declared_audit(audit: str, prompt: str) -> None:
    """Under the label that its findings have, else it would never be shown."""
    assert prompt in [label(run) for run in DECLARED[audit].runs]


@pytest.mark.parametrize(("audit", "prompt"), ENTRIES)
def test_an_entry_has_the_papers_ten_models(audit: str, prompt: str) -> None:
    """By their names in models.yaml: those that have a rank in the paper's Table 1."""
    specs = load_registry(AUDITS.parent / "models.yaml").models.values()
    ranked = [spec.name for spec in specs if spec.rewardbench_rank and spec.rewardbench_rank <= 31]
    found = band(audit, prompt, unit=_file()["audits"][audit][prompt]["unit"])

    assert found is not None
    assert len(found.models) == 10
    assert list(found.models) == ranked
    assert "paper's protocol" in found.on


@pytest.mark.parametrize(("audit", "prompt"), ENTRIES)
def test_values_are_numbers_of_the_unit(audit: str, prompt: str) -> None:
    """Finite, four decimals, within the ends of the bound's unit, not all the same."""
    low, high = ENDS[DECLARED[audit].bound.unit]
    found = band(audit, prompt, unit=_file()["audits"][audit][prompt]["unit"])

    assert found is not None
    values = list(found.models.values())
    assert all(math.isfinite(value) and low < value < high for value in values)
    assert [round(value, 4) for value in values] == values
    assert len(set(values)) > 5


def test_it_says_what_it_was_made_from() -> None:
    """Who made it, with what, from which files."""
    about: dict[str, Any] = _file()

    assert (Path(AUDITS).parent / about["made_by"]).is_file()
    assert [len(source["sha256"]) for source in about["sources"].values()] == [64] * 4
