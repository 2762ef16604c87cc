"""One community at a time: who is harmed is found, who is not is not, and small ones stay open."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.harm_onset import Trace
from rmaudit.measures.identity_communities import (
    MOST,
    MOST_ODDS,
    worst_community,
)
from rmaudit.measures.identity_communities_evidence import ODDS
from rmaudit.measures.identity_gaps import UNIT, TermScores
from rmaudit.measures.rank_gaps import Compared
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures import test_identity_gaps as gaps
from tests.measures.test_identity_gaps import PROMPTS, RNG, of, random, real, small

BOUND = below(MOST, unit=UNIT)
Scores = dict[str, NDArray[np.float64]]
ask = partial(gaps.ask, measure=worst_community)


def harmed(community: str, good: float, bad: float, *, seed: int = 0) -> Scores:
    """Scores that know nothing, less so many sd on a community's words by what is asked for."""
    asked = real()
    scores, hit = random(asked, seed), (asked.terms["community"] == community).to_numpy()
    for name, frame in PROMPTS.items():
        scores[name][: len(hit)][hit] -= (good if frame > 0 else bad) * 1.1
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("community", ["Muslims", "Jews", "trans and non-binary people"])
@pytest.mark.parametrize(
    ("good", "bad", "pattern"),
    [(6.0, -6.0, "demonised"), (6.0, 6.0, "erased"), (6.0, 0.0, "")],  # half of both patterns
)
def test_one_community_of_many_is_found(
    community: str, good: float, bad: float, pattern: str
) -> None:
    """By name, and in which pattern, though the mean over all communities hardly moves."""
    found = ask(real(), harmed(community, good, bad))

    assert BOUND.judge(found) is Verdict.FAIL
    first = found.evidence.rows[0]
    assert (first.community, pattern or first.pattern) == (community, first.pattern)
    assert f"shown for: {community}" in found.caveats[0]


@pytest.mark.nightly
def test_nobody_is_called_harmed_where_nobody_is() -> None:
    """A scorer that knows nothing never FAILs; it never passes either: some have few words."""
    verdicts = [BOUND.judge(ask(real(), random(real(), seed))) for seed in range(12)]

    assert set(verdicts) == {Verdict.INCONCLUSIVE}


@pytest.mark.nightly
def test_the_lower_ends_hold_at_once() -> None:
    """No lower end is above the true gap, 0, in 95 % of scorers (97.5 % expected); none FAILs."""
    held = []
    for seed in range(200):
        found = ask(real(2), random(real(2), 1000 + seed))
        assert BOUND.judge(found) is not Verdict.FAIL
        held.append(all(row.low < 0 for row in found.evidence.rows))

    assert np.mean(held) >= 0.95


def communities(per_group: int = 2) -> Compared:
    """Twenty communities, and for each of their words a control of its own."""
    terms, controls = small(per_group=per_group)
    return of((terms.assign(community=terms["group"]), controls))


def test_the_gap_of_a_community_by_hand() -> None:
    """All its words below their controls by the same number of places."""
    asked = communities()
    n = len(asked.terms)
    pairs = np.concatenate([2 * np.arange(n), 2 * np.arange(n) + 1]).astype(float)

    found = ask(asked, {"greatest": pairs, "worst": pairs})

    gaps = {row.pattern: row.gap for row in found.evidence.rows}
    assert gaps == pytest.approx({"erased": 1 / (2 * n), "demonised": 0.0})
    for row in ask(asked, {"greatest": pairs, "worst": -pairs}).evidence.rows:
        assert (row.positive, row.negative) == pytest.approx((1 / (2 * n), -1 / (2 * n)))
    axes = asked.terms["axis"].nunique()  # none is demonised, so only the other half may decide
    assert (found.n, found.together) == (n, asked.terms["group"].nunique() + axes)
    alone = communities(per_group=1)  # the variance within communities is not known then
    with pytest.raises(MeasureError, match="20 words of 20 communities"):
        ask(alone, random(alone))


def in_odds(scale: float, *strengths: float, traced: Trace | None = None) -> Estimate:
    """The estimate in odds where every control gets `scale` more reward than its term."""
    asked = communities()
    rewards = np.repeat([0.0, 1.0], [len(asked.terms), len(asked.controls)])
    rewards = scale * (rewards + 1e-6 * np.arange(len(rewards)))
    answers = {name: TermScores(rewards, PROMPTS[name], 0.0) for name in ("greatest", "worst")}
    by_prompt = dict(zip(answers, strengths, strict=True))
    return worst_community(asked, answers, rng=RNG(0), strengths=by_prompt, traced=traced)


def test_gaps_in_odds_by_hand() -> None:
    """With strengths a gap is their mean times the difference of the rewards, in nats."""
    found = in_odds(1.0, 3.0, 1.0)

    gaps = {row.pattern: row.gap for row in found.evidence.rows}
    assert gaps == pytest.approx({"erased": 2.0, "demonised": 1.0}, abs=1e-3)
    assert found.unit == ODDS
    assert "0.14 times as likely as others" in found.caveats[0]


def test_the_nats_at_which_a_community_is_half_as_likely() -> None:
    """Where the strengths, one a unit of nats, times the difference of rewards are log 2."""
    nats = np.linspace(0, 8, 81)
    traced = Trace(nats, np.stack([nats, nats]))

    (near,), (far,) = (
        in_odds(scale, 4.0, 4.0, traced=traced).evidence.onsets for scale in (1.0, 0.01)
    )

    assert near.nats == pytest.approx(MOST_ODDS, rel=1e-3)
    assert near.harm.endswith(", erased")
    assert far.nats is None


@pytest.mark.parametrize("factor", [1.0, 50.0])
def test_a_community_that_training_makes_rarer_is_found(factor: float) -> None:
    """Whatever the scale of the rewards, which the strengths undo."""
    scores = harmed("Muslims", 6.0, -6.0)
    answers = {name: TermScores(factor * each, PROMPTS[name], 0.0) for name, each in scores.items()}

    found = worst_community(
        real(), answers, rng=RNG(0), strengths=dict.fromkeys(scores, 1 / factor)
    )

    assert below(MOST_ODDS, unit=ODDS).judge(found) is Verdict.FAIL
    assert f"a gap of {math.log(2):.2g} or more is shown for: Muslims" in found.caveats[0]


CONTRACT = contract.Contract(
    "identity_communities",
    partial(gaps.on_toys, measure=worst_community),
    turned=0,
    gaps=False,
    by_place=True,
    in_unit=True,
    fewest=20,
    texts_each=2,
)


def odds(asked: Compared, answers: dict[str, TermScores], *, rng: np.random.Generator) -> Estimate:
    """The same in log-odds, where a unit of reward is worth less the more the rewards differ."""
    strengths = {name: 1 / (np.std(each.scores) or 1.0) for name, each in answers.items()}
    return worst_community(asked, answers, rng=rng, strengths=strengths)


ODDS_CONTRACT = contract.Contract(
    "community_odds",
    partial(gaps.on_toys, measure=odds),
    turned=0,
    gaps=False,
    by_place=True,
    in_unit=True,
    fewest=20,
    texts_each=2,
)
