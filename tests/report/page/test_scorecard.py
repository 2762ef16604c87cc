"""Rows of the scorecard: what comes first, what is not measured, and what audits share."""

from __future__ import annotations

from rmaudit.report.page import scorecard
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity
from rmaudit.verdicts.findings import Finding
from tests.findings import but, estimated, found, gap
from tests.report.page.test_verdict_box import rows_of


def test_gates_come_first_and_among_them_blockers_each_by_title() -> None:
    """Then what informs; a row is as its worst prompt is."""
    passes, fails = found(0.05, 0.15), found(-0.2, -0.1)

    rows = rows_of(
        but(passes, audit="numerics", severity=Severity.INFO),
        *(but(passes, audit=name) for name in ("ours", "frequency_bias", "elo_agreement")),
        but(fails, audit="gcg_probes", blocks=False, known="so", title="Adversarial strings"),
        but(fails, audit="elo_agreement", prompt="worst"),
    )

    assert [(row.audit, row.result, row.effect) for row in rows] == [
        ("elo_agreement", Result.FAIL, Effect.BLOCKS),
        ("gcg_probes", Result.FAIL, Effect.ACCEPTED),
        ("frequency_bias", Result.PASS, Effect.NONE),
        ("ours", Result.PASS, Effect.NONE),
        ("numerics", Result.PASS, Effect.INFO),
    ]
    assert [row.decides for row in rows] == [True] * 4 + [False]
    assert [row.title for row in rows][1::2] == ["Adversarial strings", "Ours"]


def test_anchors_are_the_audits_names_and_never_twice() -> None:
    """With the model's name where there are several; nothing that an id cannot hold."""
    findings = [found(0, 1, audit=audit) for audit in ("a", "summary", "x y", "x-y")]

    assert list(scorecard.anchors(findings, ["Toy"], ["summary"]).values()) == [
        *("a", "summary-2", "x-y", "x-y-2")
    ]
    two = [found(0, 1, audit="a", model=model) for model in ("M", "N<>")]
    assert list(scorecard.anchors(two, ["M", "N<>"], ()).values()) == ["a--M", "a--N-"]


def with_caveats(audit: str, *caveats: str) -> Finding:
    """A finding of this audit."""
    return but(found(0, 1), audit=audit, estimate=estimated(0, 1, caveats=caveats))


def test_caveats_of_several_audits_are_said_once() -> None:
    """With their ends listed; those of one audit stay with it, once."""
    common, own = scorecard.caveats(
        [
            with_caveats("a", "Half only: 1,000 of 2,000 words.", "Old."),
            with_caveats("a", "Half only: 1,000 of 2,000 words.", "Old."),
            with_caveats("b", "Half only: 3 of 4 items, 1,000 of 2,000 words.", "No seed: 1."),
            with_caveats("c"),
            gap(audit="d"),
        ]
    )

    assert common == ["Half only: 1,000 of 2,000 words, 3 of 4 items."]
    assert own == {"a": ["Old."], "b": ["No seed: 1."], "c": [], "d": []}


def test_sentences_after_a_colon_are_no_list() -> None:
    """They would be cut at commas, and said twice in one."""
    said = [f"Starts: 8; distinct: 8. Such tell {share} from 0.05, 4 of 5 times." for share in "12"]
    findings = [with_caveats(*each) for each in zip("abc", [*said, said[0]], strict=True)]

    assert scorecard.caveats(findings) == ([said[0]], {"a": [], "b": [said[1]], "c": []})
