"""What a page says first, and what it says once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rmaudit.report.page import views
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Bound, Estimate, Severity, Verdict, above
from tests.findings import but, waived
from tests.report.conftest import typed

Z95 = 1.959963984540054


def estimate(value: float, low: float, high: float, *caveats: str) -> Estimate:
    """An estimate in rho."""
    return Estimate(value, low, high, "rho", 50, "made up", caveats=caveats)


@pytest.fixture
def finding(results: dict[str, Any]) -> Finding:
    """A PASS of 0.625 (0.5 to 0.75), bound above 0.2."""
    return typed(results).findings[0]


# How far


@pytest.mark.parametrize(
    ("low", "high", "numbers", "expected"),
    [
        (0.2, None, (0.1, 0.0, 0.15), 2.0),  # 0.1 beyond; the half that faces the bound is 0.05
        (0.2, None, (0.4, 0.3, 0.9), -2.0),  # 0.2 inside; the half that faces it is 0.1
        (None, 0.2, (0.5, 0.4, 0.9), 3.0),
        (-0.2, 0.2, (0.1, 0.05, 0.15), -2.0),  # the nearer end counts
        (-0.2, 0.2, (-0.3, -0.35, -0.2), 1.0),
    ],
)
def test_beyond_by_hand(
    low: float | None,
    high: float | None,
    numbers: tuple[float, float, float],
    expected: float,
    finding: Finding,
) -> None:
    """The distance to the nearer end over the half of the interval that faces it, times 1.96."""
    held = but(finding, bound=Bound(low, high, "rho"), estimate=estimate(*numbers))

    assert views.beyond(held) == pytest.approx(expected * Z95)


def test_beyond_without_a_width_or_a_bound(finding: Finding) -> None:
    """Certainly beyond, certainly inside, and nothing to be beyond of."""
    point = estimate(0.1, 0.1, 0.1)

    assert views.beyond(but(finding, estimate=point)) == math.inf
    assert views.beyond(but(finding, estimate=point, bound=above(0, unit="rho"))) == -math.inf
    assert views.beyond(but(finding, bound=Bound(None, None, "rho"))) == -math.inf
    assert views.beyond(but(finding, estimate=None)) == 0.0


# What matters


def test_what_matters_is_in_the_order_of_the_rule(finding: Finding) -> None:
    """Failures before what is open, before errors, waivers, known ones, and passes."""

    def made(name: str, verdict: Verdict, value: float = 0.1, **change: Any) -> Finding:
        measured = estimate(value, value - 0.05, value + 0.05)
        return but(finding, audit=name, verdict=verdict, estimate=measured, **change)

    expected = [
        made("far", Verdict.FAIL, -0.5),
        made("near", Verdict.FAIL, 0.1),
        made("open", Verdict.INCONCLUSIVE, 0.2),
        but(made("error", Verdict.ERROR), estimate=None, reason="It broke."),
        made("waived", Verdict.FAIL, waiver=waived()),
        made("known", Verdict.FAIL, known="so"),
        made("informs", Verdict.FAIL, severity=Severity.INFO),
        made("just passes", Verdict.PASS, 0.26),
        made("passes", Verdict.PASS, 0.9),
    ]
    unseen = [
        but(made("skipped", Verdict.SKIPPED), estimate=None),
        made("fine", Verdict.PASS, severity=Severity.INFO),
    ]

    found = views.matters([*unseen, *expected[::-1]], n=99)
    assert [f.audit for f in found] == [f.audit for f in expected]
    assert views.matters([*unseen, *expected[::-1]]) == expected[:3]


def test_one_finding_for_each_audit_of_a_model(finding: Finding) -> None:
    """Three prompts of one audit do not crowd out all else; another model's audit is another."""
    measured = [estimate(v, v - 0.05, v + 0.05) for v in (0.1, 0.0, 0.05)]
    failing = [but(finding, verdict=Verdict.FAIL, estimate=e) for e in measured]
    other = but(failing[0], model="Other")

    assert views.matters([*failing, other, finding]) == [failing[1], other]


MEASURED = "Measured: +0.625 rho (95 % interval +0.5 to +0.75); the bound is above 0.2"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, f"under greatest: “It follows” holds. {MEASURED}, 6.7 standard errors inside."),
        (
            {"verdict": Verdict.FAIL, "bound": above(1.625, unit="rho")},
            (
                f"under greatest: “It follows” does not hold. {MEASURED.replace('0.2', '1.625')}, "
                "16 standard errors away."
            ),
        ),
        (
            {"verdict": Verdict.INCONCLUSIVE, "prompt": "best+worst"},
            (
                f"under best, worst: whether “It follows” holds is open. {MEASURED}; the interval "
                "straddles it."
            ),
        ),
        (
            {"verdict": Verdict.ERROR, "estimate": None, "reason": "It broke."},
            "under greatest: “It follows” could not be measured. It broke.",
        ),
    ],
)
def test_told_in_plain_sentences(change: dict[str, Any], sentence: str, finding: Finding) -> None:
    """Who, what, by how much, and how far from the bound."""
    assert views.told(but(finding, **change)) == f"Toy, {sentence}"


def test_digits_tell_the_ends_apart() -> None:
    """An interval never looks like a point because it was rounded."""
    tight = estimate(0.9999994, 0.9999992, 0.9999996)

    assert views.effect(estimate(0.5, 0.4, 0.6)) == "+0.5"
    assert views.between(tight) == "+1 ± 2e-07"
    assert views.between(estimate(0.45, 0.4498, 0.4502)) == "+0.4498 to +0.4502"
    assert views.effect(estimate(1.0, 1.0, 1.0)) == "+1"


def test_far_is_far() -> None:
    """An interval of numeric noise alone puts a bound thousands of standard errors away."""
    assert views.errors(139_952.0) == "more than 100 standard errors"
    assert views.errors(99.6) == "100 standard errors"
    assert views.errors(9.96) == "10.0 standard errors"


# Once


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


def test_the_grid_has_what_was_tried(finding: Finding) -> None:
    """Audits and prompts that some model was put to; a hole where one was not."""
    skipped = but(finding, verdict=Verdict.SKIPPED, estimate=None)
    findings = [
        finding,
        but(skipped, model="Other"),
        but(skipped, audit="never"),
        but(finding, prompt="worst", model="Other"),
    ]

    rows = views.grid(["Toy", "Other"], findings)
    assert [(row.audit, row.prompt) for row in rows] == [
        ("framing", "greatest"),
        ("framing", "worst"),
    ]
    assert [row.cells for row in rows] == [(findings[0], findings[1]), (None, findings[3])]


def test_what_was_skipped_is_told_by_its_reason(finding: Finding) -> None:
    """One reason is said once; what was tried under another prompt is not among it."""
    skipped = but(finding, verdict=Verdict.SKIPPED, estimate=None, reason="No data.")
    findings = [skipped, but(skipped, prompt="worst"), but(skipped, audit="b", reason="X.")]

    assert views.unmeasured([*findings, finding]) == {
        "No data.": {"framing": findings[:2]},
        "X.": {"b": findings[2:]},
    }
    assert list(views.tried([*findings, finding])) == ["framing"]
