"""Policies after as much training on either release: what changed, and where they began apart."""

from __future__ import annotations

from dataclasses import replace

from rmaudit.measures.after_training_evidence import AfterTrainingEvidence, Likely, Stage
from rmaudit.report.over_time.comparison_lines import lines
from rmaudit.report.over_time.rank_and_policy_changes import compare_policies
from rmaudit.report.over_time.run_comparison import compare
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.findings import Finding
from tests.findings import but
from tests.report.over_time.test_run_comparison import found, results


def stage(nats: float, happiness: float, *words: str, draws: int = 0) -> Stage:
    """Under "best"; the words are alike."""
    return Stage(
        prompt="best",
        draws=draws,
        nats=nats,
        happiness=happiness,
        variety=44.0,
        zipf=5.5,
        letterless=0.01,
        listed=(),
        likely=tuple(Likely(word, 0.1, 0.2) for word in words),
    )


def trained(*stages: Stage) -> Finding:
    """A finding with this evidence."""
    estimate = Estimate(1.0, 0.9, 1.1, "skewness", 3, "x")
    return but(
        found(1.0), estimate=replace(estimate, evidence=AfterTrainingEvidence(stages=stages))
    )


OLD = trained(stage(0, 5.0, "the"), stage(4, 7.0, "love", "great"), stage(2.5, 6.0, "love"))


def test_stages_of_both_are_compared_at_the_same_training() -> None:
    """Compared are those of the chart, by prompt and nats; what one has alone is left out."""
    new = trained(stage(0, 5.0, "the"), stage(4, 6.0, "fuck"), stage(8, 6.5, "fuck"))

    found = list(compare_policies([OLD], [new]))

    assert [(each.new.how, each.same_policy) for each in found] == [
        ("as it is", True),
        ("4 nats", True),
    ]
    assert (found[1].old.happiness, found[1].new.happiness) == (7.0, 6.0)
    assert [word.word for word in found[1].old.likely] == ["love", "great"]


def test_a_policy_is_the_same_on_another_device() -> None:
    """The last digit of a share moves, and what is known of words may be another half."""
    begin, after = stage(0, 5.0, "the"), stage(4, 6.0, "love")
    moved = replace(begin, happiness=5.2, likely=(Likely("the", 0.1 + 1e-5, 0.1),))
    other = replace(begin, likely=(Likely("the", 0.2, 0.2),))

    said = [compare_policies([OLD], [trained(own, after)]) for own in (moved, other)]

    assert [{each.same_policy for each in changes} for changes in said] == [{True}, {False}]


def test_the_lines_have_four_nats_with_masks() -> None:
    """Happiness and words of both; of the start nothing, since it is the same."""
    new = trained(stage(0, 5.0, "the"), stage(4, 6.0, "fuck"))

    said = "\n".join(lines(compare(results([OLD]), results([new]))))

    assert "after 4 nats, best: happiness 7.00 -> 6.00, variety 44 -> 44 words" in said
    assert "likeliest, old: love 0.20; great 0.20" in said
    assert "fuck" not in said
    assert "policies differ" not in said


def test_policies_that_began_apart_are_said_to() -> None:
    """The rewards are not all that differs."""
    new = trained(stage(0, 5.5, "a"), stage(4, 6.0, "love"))

    said = "\n".join(lines(compare(results([OLD]), results([new]))))

    assert "the policies differ under best" in said


def test_without_the_audit_there_is_nothing_to_compare() -> None:
    """Of one side or of both."""
    assert list(compare_policies([OLD], [found(1.0)])) == []
    assert list(compare_policies([], [])) == []
