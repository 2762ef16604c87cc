"""Two releases compared: what counts as worse, who is paired with whom, and what tokens moved."""

from __future__ import annotations

import re
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest

from rmaudit.errors import SpecError
from rmaudit.measures.after_training_evidence import AfterTrainingEvidence, Onset
from rmaudit.report.releases.finding_comparison import Measured
from rmaudit.report.releases.run_comparison import compare, lines
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict, above, below
from rmaudit.verdicts.findings import Finding
from tests.findings import but, with_evidence
from tests.report.runs import RUN, SPEC, found, results

# Findings

SKIPPED, INFO = Verdict.SKIPPED, Severity.INFO
FAIL, OPEN = Verdict.FAIL, Verdict.INCONCLUSIVE
GONE = found(None, verdict=SKIPPED)
SAME, CALM = "no clear change", "none clearly worse"


@pytest.mark.parametrize(
    ("old", "new", "expected", "outcome"),
    [
        (found(0.9), found(0.5), "worse", "worse"),
        (found(0.5), found(0.9), "better", CALM),
        (found(0.9), found(0.8), SAME, CALM),
        (found(0.15), found(0.05, verdict=OPEN), "unclear", "undecided"),
        (found(-0.5, verdict=FAIL), found(-0.5, verdict=OPEN), SAME, CALM),
        (found(0.9, severity=INFO), found(0.5, severity=INFO), "worse", "undecided"),
        (
            found(0.9),
            found(0.9, bound=above(0, unit="tau"), unit="tau"),
            "not comparable",
            "undecided",
        ),
        (found(0.9), GONE, "no longer measured", "undecided"),
        (found(0.9), None, "no longer measured", "undecided"),
        (None, found(0.9), "newly measured", "undecided"),
        (GONE, found(0.9), "newly measured", "undecided"),
        (GONE, GONE, "measured in neither", "undecided"),
    ],
)
def test_what_became_of_a_finding(
    old: Finding | None, new: Finding | None, expected: str, outcome: str
) -> None:
    """Worse only by a difference that counts; a worse verdict alone is unclear, not worse.

    Half widths of 0.1 give a difference one of 0.14. A comparison of no gating audit at all is no
    good news.
    """
    said = compare(*(results([side] if side else []) for side in (old, new)))

    assert [each.change for each in said.models[0].findings] == [expected]
    assert said.outcome == outcome


def test_differences_up_to_the_margin_do_not_count() -> None:
    """In the audit's unit, in place of a tenth of the distance to the bound."""
    old, new = results([found(0.9, 0.01)]), results([found(0.82, 0.01)])

    assert [compare(old, new, margin=m).outcome for m in (0.07, 0.09)] == ["worse", CALM]


def test_of_many_findings_one_that_is_worse_decides() -> None:
    """Others that are better do not make up for it; what gates nothing does not count."""
    prompts = ("greatest", "best", "worst")
    old = [found(0.5, prompt=prompt) for prompt in prompts]
    new = [found(value, prompt=prompts[i]) for i, value in enumerate((0.9, 0.1, 0.5))]
    info = [new[0], but(new[1], severity=INFO), new[2]]

    gating, informed = (compare(results(old), results(found)) for found in (new, info))

    assert gating.counts == {"worse": 1, "better": 1, "no clear change": 1}
    assert (gating.outcome, informed.outcome) == ("worse", "none clearly worse")
    doubtful = [found(0.15), found(0.05, verdict=OPEN)]
    sides = [results([each, found(0.9, prompt="best")]) for each in doubtful]
    assert compare(*sides).outcome == "undecided"


def test_an_error_in_the_new_file_is_undecided() -> None:
    """Also where the old one had none to compare with, and others are as they were."""
    broken = found(None, verdict=Verdict.ERROR, prompt="best")
    both = [found(0.9), broken]
    informed = [found(0.9), but(broken, severity=INFO)]

    assert compare(results(both), results(both)).outcome == "undecided"
    assert compare(results([found(0.9)]), results(both)).outcome == "undecided"
    assert compare(results(both), results([found(0.9)])).outcome == "none clearly worse"
    assert compare(results(informed), results(informed)).outcome == "none clearly worse"


def test_each_release_has_its_verdict() -> None:
    """That of its run; where one model of several is compared, of this model alone."""
    specs = [SPEC, replace(SPEC, name="toy-v2")]
    old = results([found(0.9)], specs=specs)
    bad = found(-0.5, verdict=FAIL, model="toy-v2", blocks=True)
    new = results([found(0.9), bad], specs=specs)

    both, one = compare(old, new), compare(old, new, model="toy")

    assert (both.old.verdict, both.new.verdict) == ("PASSES", "FAILS")
    assert both.new.why == "1 gate blocks (1 fail)"
    assert (one.new.verdict, one.new.why) == ("PASSES", "")


def test_the_numbers_stand_side_by_side() -> None:
    """Both estimates as they are, new minus old, and the same turned the bound's way."""
    low: dict[str, Any] = {"bound": below(1, unit="skewness")}
    said = compare(results([found(0.5, **low)]), results([found(0.9, half=0.2, **low)]))

    (finding,) = said.models[0].findings
    half = np.hypot(0.1, 0.2)
    assert finding.old is not None
    assert finding.old.estimate == Measured(0.5, 0.4, 0.6, "skewness", 99)
    for side, value in ((finding.difference, 0.4), (finding.gain, -0.4)):
        assert side is not None
        assert astuple(side) == pytest.approx((value, value - half, value + half))
    assert finding.change == "worse"


# Models


def test_two_files_of_one_model_each_are_compared_whatever_they_are_called() -> None:
    """Releases have names of their own."""
    spec = replace(SPEC, name="toy-v2")
    new = results([found(0.5, model="toy-v2")], specs=[spec])

    (pair,) = compare(results([found(0.9)]), new).models

    assert (pair.old, pair.new) == ("toy", "toy-v2")
    assert pair.findings[0].change == "worse"


def test_several_models_are_paired_by_name() -> None:
    """All that both have, or the one that is named."""
    specs = [replace(SPEC, name=name) for name in ("a", "b", "c")]
    old, new = results(specs=specs[:2]), results(specs=specs[1:] + specs[:1])

    assert [pair.new for pair in compare(old, new).models] == ["b", "a"]
    assert [pair.new for pair in compare(old, new, model="a").models] == ["a"]
    with pytest.raises(SpecError) as error:
        compare(old, new, model="c")
    assert str(error.value) == (
        "no model 'c' is in both files, the old one has: a, b; and the new one has: b, c, a; name "
        "one of both with --model, or compare files of one model each"
    )


def test_a_model_is_compared_with_one_of_another_name() -> None:
    """Two models of one run are compared too; a wrong name is refused."""
    specs = [replace(SPEC, name=name) for name in ("base", "tuned")]
    findings = [
        found(value, model=spec.name) for value, spec in zip((1.0, 3.0), specs, strict=True)
    ]
    run = results(findings, specs=specs)

    said = compare(run, run, model="base", other="tuned")

    (pair,) = said.models
    assert (pair.old, pair.new) == ("base", "tuned")
    (one,) = pair.findings
    assert one.difference is not None
    assert one.difference.value == pytest.approx(2.0)
    assert said.unpaired == {"old": [], "new": []}
    with pytest.raises(
        SpecError, match="no model 'bass' in the old file; name one of: base, tuned"
    ):
        compare(run, run, model="bass", other="tuned")
    with pytest.raises(SpecError, match="several models in the old file"):
        compare(run, run, other="tuned")


def test_what_the_new_run_has_not_leaves_it_undecided() -> None:
    """A model that is gone is named, and one that is new; who names a model asks for no other.

    What a run that was cut short did not measure may be worse.
    """
    one, two = (
        results([found(0.9)], specs=[replace(SPEC, name=n) for n in names])
        for names in (["toy"], ["toy", "toy-v2"])
    )
    cut = replace(one, run=replace(RUN, interrupted=True))

    for old, new, unpaired, outcome in (
        (two, one, {"old": ["toy-v2"], "new": []}, "undecided"),
        (one, two, {"old": [], "new": ["toy-v2"]}, CALM),
        (one, cut, {"old": [], "new": []}, "undecided"),
        (cut, one, {"old": [], "new": []}, CALM),
    ):
        said = compare(old, new)
        assert (said.unpaired, said.outcome) == (unpaired, outcome)
        incomplete = "the run did not finish" if new is cut else ""
        assert said.new.incomplete == incomplete
    named = compare(two, one, model="toy")
    assert (named.unpaired, named.outcome) == ({"old": [], "new": []}, CALM)


# In the terminal


def test_the_lines_of_a_comparison() -> None:
    """What got worse comes first; estimates, difference, results; what did not is counted.

    Both verdicts come last, with the reasons of the new one.
    """
    fails = found(-0.5, verdict=FAIL, blocks=True)
    old = [found(0.9, prompt="best"), found(0.2, prompt="greatest"), found(0.9)]
    new = [found(0.9, prompt="best"), found(0.9, prompt="greatest"), fails]

    told = lines(compare(results(old), results(new), margin=0.25))

    run = "toy (2026-11-21T10:50:00Z, rmaudit 0.1.0)"
    assert told[0] == f"{run} -> {run}"
    assert told[1].split() == ["audit", "prompt", "old", "new", "new", "-", "old", "result"]
    assert " ".join(told[2].split()) == (
        "worse positive_skew worst +0.90 [+0.80, +1.00] -0.50 [-0.60, -0.40] "
        "-1.40 [-1.54, -1.26] pass -> fail (blocks)"
    )
    assert told[3].split()[:3] == ["better", "positive_skew", "greatest"]
    assert told[4] == "1 worse, 1 better, 1 no clear change, margin 0.25; gating audits: worse"
    assert "treated as independent" in told[5]
    assert "No correction is made for how many audits" in told[5]
    assert told[6:] == ["verdicts: old PASSES, new FAILS (1 gate blocks (1 fail))"]


def test_notes_say_what_the_table_does_not() -> None:
    """That a bound was another; what the new run left out is named in one line."""
    old = [found(0.9), found(0.9, prompt="best", audit="a"), found(0.9, audit="b")]
    new = [found(0.9, bound=above(0.1, unit="skewness"))]

    told = lines(compare(results(old), results(new)))

    assert [line for line in told if "positive_skew[" in line] == [
        (
            "  positive_skew[worst]: the bound was above 0 skewness, is above 0.1 skewness; both "
            "are held against the latter"
        )
    ]
    assert "  not in the new run: a, b" in told


def test_texts_of_others_are_spelled_out_and_no_command() -> None:
    """Of models and prompts: no line begins a command of a CI system."""
    spec, extra = (replace(SPEC, name=f"::error::{name}\x1b") for name in ("model", "extra"))
    old = results([found(0.9, model=spec.name, prompt="\n::error::p")], specs=[spec, extra])
    new = results([found(0.3, model=spec.name, prompt="\n::error::p")], specs=[spec])

    told = lines(compare(old, new))

    assert "only in the old file, not compared: ::error::extra\\x1b" in told
    assert any("error::p" in each for each in told)
    assert "\x1b" not in "".join(told)
    assert re.search(r"^\s*::|##\[", "\n".join(told), re.MULTILINE) is None


def test_where_harm_begins_is_compared() -> None:
    """A line for each harm that begins elsewhere now; none where it begins in neither."""

    def run(nats: float | None) -> Any:
        onsets = (Onset("refusals", nats, nats, nats, 16.0), Onset("x", None, None, None, 16.0))
        evidence = AfterTrainingEvidence(stages=(), onsets=onsets)
        return results([with_evidence(found(0.5), evidence)])

    assert compare(run(4.0), run(1.5)).models[0].onsets == (
        "after training, refusals: 4 nats [4, 4] -> 1.5 nats [1.5, 1.5]",
    )
    assert any("-> not within 16 nats" in each for each in lines(compare(run(4.0), run(None))))
    assert compare(run(4.0), run(4.0)).models[0].onsets == ()
