"""What is said of findings: what was measured, who accepts it, caveats, why numbers are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from rmaudit.measures.after_training_evidence import HAPPINESS, Onset
from rmaudit.report.finding_words import (
    cause_in_words,
    caveats_of,
    example_of,
    excuse_in_words,
    measured_in_words,
    onset_in_words,
)
from rmaudit.report.missing_numbers import missing
from rmaudit.verdicts.estimates_and_bounds import Verdict, below
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Control, Finding
from tests.findings import but, estimated, found, gap, waived

FAILS = but(found(-0.3, -0.1), blocks=True)
OPEN = but(found(-0.1, 0.3), blocks=True)
PASSES = found(0.1, 0.3)
HIGH = but(FAILS, estimate=estimated(0.7, 0.8), bound=below(0.67, unit="sd"))
REGRESSED = but(PASSES, blocks=True, regressed="regressed against the blessed release of May")
NULL = Control(Verdict.PASS, True, 0.1, 0.0, 0.2)


@pytest.mark.parametrize(
    ("finding", "says"),
    [
        (FAILS, "-0.20 [-0.30, -0.10] sd, must be above 0: too low by 0.20"),
        (HIGH, "0.75 [0.70, 0.80] sd, must be below 0.67: too high by 0.08"),
        (OPEN, "0.10 [-0.10, 0.30] sd, must be above 0: harm is neither shown nor ruled out"),
        (
            but(HIGH, verdict=Verdict.INCONCLUSIVE, reason="may be chance among 9"),
            (
                "0.75 [0.70, 0.80] sd, must be below 0.67: beyond the bound, "
                "but among so many tests one may get there by chance alone"
            ),
        ),
        (
            but(PASSES, blocks=True, verdict=Verdict.INCONCLUSIVE, controls={"long words": NULL}),
            (
                "0.20 [0.10, 0.30] sd, must be above 0: a trivial scorer passes this too, so a "
                "pass would show nothing"
            ),
        ),
        (REGRESSED, "0.20 sd, must be above 0; regressed against the blessed release of May"),
        (
            but(PASSES, blocks=True, known="It is flat."),
            (
                "0.20 sd, must be above 0: it passes, though models.yaml expects it to fail: "
                "remove it from `known`"
            ),
        ),
    ],
)
def test_what_blocks_is_told_with_how_much(finding: Finding, says: str) -> None:
    """Value, interval, bound and distance, or what else than a failure blocks."""
    assert measured_in_words(finding) == says


@pytest.mark.parametrize(
    ("finding", "says"),
    [
        (
            but(FAILS, waiver=waived("expired", says="its waiver expired (ana): It is small.")),
            "Not accepted: its waiver expired (ana): It is small.",
        ),
        (but(FAILS, waiver=waived("unneeded", says="It is beside the point.")), ""),
        (
            but(
                FAILS,
                blocks=False,
                waiver=waived(owner="Dr. Ana B. Lee", reason="Small. And more."),
                regressed="regressed, which the waiver accepts too",
            ),
            "Accepted by Dr. Ana B. Lee until 2030-06-30, at worst -0.5 sd: Small. And more.",
        ),
        (
            but(FAILS, blocks=False, known="It is so, e.g. here. And more of it."),
            "Known flaw of the bundled model: It is so, e.g. here.",
        ),
    ],
)
def test_who_accepts_a_failure_or_did(finding: Finding, says: str) -> None:
    """A waiver in full, since its end may be a promise; a known flaw by its first sentence."""
    assert excuse_in_words(finding) == says
    assert "regressed" not in measured_in_words(finding)


@dataclass(frozen=True)
class Loved(Evidence):
    """Evidence of what a model loves."""

    kind: Literal["loved in a test"] = "loved in a test"
    word: str = ""

    def example(self) -> str:
        """Return the word, if there is one."""
        return self.word and f"“{self.word}” ranks first"


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["", "war"], "“war” ranks first"), ([""], ""), (["a" * 999], f"“{'a' * 449}…")],
)
def test_evidence_gives_an_example(words: Sequence[str], expected: str) -> None:
    """The first that evidence has, cut where it is long."""
    shown = [
        but(FAILS, estimate=estimated(-0.3, -0.1, evidence=Loved(word=word))) for word in words
    ]

    assert example_of(shown) == expected


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


@pytest.mark.parametrize(
    ("audits", "named"),
    [
        ({"skew": "people", "dialect": "surface", "edits": "surface"}, "dialect"),
        ({"top_tokens": "meaning", "dialect": ""}, None),  # has no contrast; is somebody else's
    ],
)
def test_a_failure_that_is_traced_to_pairs_says_how(
    audits: dict[str, str], named: str | None
) -> None:
    """By the first of rmaudit's own gates that `rmaudit why` takes."""
    said = cause_in_words(but(FAILS, audit=name, family=own) for name, own in audits.items())

    assert said.startswith(f"`rmaudit why toy --pairs FILE --gate {named}` ") if named else not said


def test_a_failing_gate_says_where_its_harm_begins() -> None:
    """That of its own kind, if it begins within what was traced; a pass says nothing."""
    onsets = [
        Onset(HAPPINESS, 2.34, 1.8, None, 16.0),
        Onset("refusals", 1.0, 0.5, 2.0, 16.0),
        Onset("words for Muslims, erased", None, None, None, 16.0),
    ]

    def said(finding: Finding, audit: str) -> str:
        return onset_in_words([but(finding, audit=audit)], onsets)

    sentence = "harm begins so far from the policy: happiness turns back at 2.3 nats [1.8, beyond"
    assert sentence in said(FAILS, "positive_skew")
    assert "refusals" not in said(FAILS, "positive_skew")
    assert said(PASSES, "positive_skew") == said(FAILS, "identity_terms") == ""
    assert said(FAILS, "funnel") == ""
