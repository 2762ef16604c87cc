"""What a page says once."""

from __future__ import annotations

from typing import Any

import pytest

from rmaudit.report.page import views
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Estimate
from tests.findings import but
from tests.report.conftest import typed


def estimate(value: float, low: float, high: float, *caveats: str) -> Estimate:
    """An estimate in rho."""
    return Estimate(value, low, high, "rho", 50, "made up", caveats=caveats)


@pytest.fixture
def finding(results: dict[str, Any]) -> Finding:
    """A PASS of 0.625 (0.5 to 0.75), bound above 0.2."""
    return typed(results).findings[0]


def test_caveats_of_several_audits_are_said_once(finding: Finding) -> None:
    """With their ends listed; those of one audit stay with it, once."""

    def of(audit: str, *caveats: str) -> Finding:
        return but(finding, audit=audit, estimate=estimate(0.5, 0.4, 0.6, *caveats))

    findings = [
        of("a", "Half only: 1,000 of 2,000 words.", "Old."),
        of("a", "Half only: 1,000 of 2,000 words.", "Old."),
        of("b", "Half only: 3 of 4 items, 1,000 of 2,000 words.", "No seed: 1."),
        of("c"),
        but(finding, audit="d", estimate=None),
    ]

    common, own = views.caveats(findings)
    assert common == ["Half only: 1,000 of 2,000 words, 3 of 4 items."]
    assert own == {"a": ["Old."], "b": ["No seed: 1."], "c": [], "d": []}


def test_sentences_after_a_colon_are_no_list(finding: Finding) -> None:
    """They would be cut at commas, and said twice in one."""
    said = [f"Starts: 8; distinct: 8. Such tell {share} from 0.05, 4 of 5 times." for share in "12"]
    findings = [
        but(finding, audit=audit, estimate=estimate(0.5, 0.4, 0.6, caveat))
        for audit, caveat in zip("abc", [*said, said[0]], strict=True)
    ]

    assert views.caveats(findings) == ([said[0]], {"a": [], "b": [said[1]], "c": []})
