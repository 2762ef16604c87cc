"""What is said of findings: caveats that audits share, and why numbers are missing, once."""

from __future__ import annotations

from rmaudit.report.finding_words import caveats_of, missing
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Finding
from tests.findings import but, estimated, found, gap


def with_caveats(audit: str, *caveats: str) -> Finding:
    """A finding of this audit."""
    return but(found(0, 1), audit=audit, estimate=estimated(0, 1, caveats=caveats))


def test_caveats_of_several_audits_are_said_once() -> None:
    """With their ends listed; those of one audit stay with it, once."""
    common, own = caveats_of(
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

    assert caveats_of(findings) == ([said[0]], {"a": [], "b": [said[1]], "c": []})


def test_a_reason_that_differs_by_the_models_name_is_said_once() -> None:
    """With all models that it holds for."""
    lost = [
        gap(f"{model}: no data; get it with: pytest audits --model {model}", model=model, audit="a")
        for model in ("M", "N")
    ]

    (said,) = missing(lost)
    assert (said.why, said.how) == ("no data", "pytest audits --model NAME")
    assert said.models == ["M", "N"]


def test_a_remedy_for_one_model_names_it() -> None:
    """So that it can be copied; what blocks comes first."""
    lost = [
        gap("M: no data; get it with: rmaudit data M", model="M", audit="a"),
        gap("it broke", Verdict.ERROR, model="M", audit="b"),
        gap("no model; name one with --rm-baseline NAME", Verdict.NA, model="M", audit="c"),
    ]

    assert [(each.why, each.how, each.titles, each.asked) for each in missing(lost)] == [
        ("it broke", "", ["B"], True),
        ("no data", "rmaudit data M", ["A"], True),
        ("no model", "name one with --rm-baseline NAME", ["C"], False),
    ]
