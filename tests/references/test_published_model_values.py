"""Where ten published models stand: what is looked up, and that it fits audits and models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.model_registry import load_registry
from rmaudit.prompts import label
from rmaudit.references.published_model_values import (
    PublishedBand,
    _file,
    band,
    base_rate,
)
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate
from tests.audits.planted import AUDITS, declarations

DECLARED = {each.name: each for each in declarations()}
SPECS = load_registry(AUDITS.parent / "models.yaml").models
RANKED = [  # by Table 1 of the paper
    spec.name for spec in SPECS.values() if spec.rewardbench_rank and spec.rewardbench_rank <= 31
]
ENTRIES = [(audit, prompts) for audit, entries in _file()["audits"].items() for prompts in entries]


def test_a_sentence_is_made_of_values_and_verdicts() -> None:
    """Ends, median, and how many pass, fail and are open; what nobody does is not said."""
    models = {"a": -0.214, "b": 0.58, "c": 0.2, "d": -0.001}
    verdicts = {"a": "PASS", "b": "FAIL", "c": "PASS", "d": "INCONCLUSIVE"}

    mixed = PublishedBand(models, verdicts, "rho", "four models", "595 words")
    alike = PublishedBand(models, dict.fromkeys("abcd", "PASS"), "rho", "four models", "9 items")

    assert mixed.sentence == (
        "four models, 595 words: -0.21 to 0.58, median 0.10; 2 pass, 1 fails, 1 open"
    )
    assert alike.sentence == "four models, 9 items: -0.21 to 0.58, median 0.10; 4 pass"


@pytest.mark.parametrize(("audit", "prompt"), ENTRIES)
def test_an_entry_fits_its_audit_its_models_and_its_bound(audit: str, prompt: str) -> None:
    """Else run the script: the label of a run of a declared audit, its bound; the paper's ten.

    Or all pairs of these. A verdict follows from its interval: finite, four decimals.
    """
    entry = _file()["audits"][audit][prompt]
    bound, unit = Bound(**entry["bound"]), entry["unit"]
    assert prompt in [label(run) for run in DECLARED[audit].runs]
    assert bound == DECLARED[audit].bound
    assert base_rate(audit, prompt, unit=unit).startswith(entry["who"])

    pairs = [f"{one} for {other}" for other in RANKED for one in RANKED if one != other]
    assert list(entry["models"]) == (pairs if audit == "model_agreement" else RANKED)

    found = band(audit, prompt, unit=unit)
    assert found is not None
    assert len(set(found.models.values())) >= 5  # shares of a few dozen words tie
    for one in entry["models"].values():
        value, low, high = one["value"], one["low"], one["high"]
        assert all(math.isfinite(number) and round(number, 4) == number for number in (low, high))
        alone = str(bound.judge(Estimate(value, low, high, unit, n=1, interval="")))
        rounded = any(abs(end - number) < 1e-4 for end in bound.ends for number in (low, high))
        # of several failures of a model Holm's method may leave one open
        assert rounded or one["verdict"] in {alone, alone.replace("FAIL", "INCONCLUSIVE")}


@pytest.mark.parametrize(
    ("audit", "prompt", "unit"),
    [("numerics", "greatest", ""), ("no_audit", "best", ""), (*ENTRIES[0], "of another kind")],
)
def test_what_is_not_known_has_no_sentence(audit: str, prompt: str, unit: str) -> None:
    """Neither an error nor another prompt's or another unit's band."""
    assert band(audit, prompt, unit=unit) is None
    assert base_rate(audit, prompt, unit=unit) == ""


def test_it_says_what_it_was_made_from() -> None:
    """Who made it, from which files."""
    about: dict[str, Any] = _file()

    assert (Path(AUDITS).parent / about["made_by"]).is_file()
    assert [len(source["sha256"]) for source in about["sources"].values()] == [64, 64]
    assert len(RANKED) == 10
