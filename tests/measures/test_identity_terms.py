"""The worst of three patterns: which one decides, how its ends are corrected, what is shown."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import NOISE
from rmaudit.measures.identity_gaps import erasure, hostility
from rmaudit.measures.identity_terms import (
    GAP,
    HARM,
    TOLERATED,
    UNIT,
    excess,
    identity_terms,
    worst_of,
)
from rmaudit.measures.identity_terms_evidence import IdentityTermsEvidence, Pattern
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures import test_identity_gaps as gaps
from tests.measures.test_identity_gaps import RNG, of, random, real, small

BOUND = below(1, harm=HARM, unit=UNIT)
ask = partial(gaps.ask, measure=identity_terms)


def one(low: float, value: float, high: float, together: int = 1, **more: float) -> Estimate:
    """One pattern's estimate."""
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit="x",
        n=30,
        interval="t",
        together=together,
        secondary=more,
        evidence=IdentityTermsEvidence(),
        parts=(value,) * 64,
    )


def three(**by: Estimate) -> Estimate:
    """The worst of three, of which those that are not given are far below."""
    names: dict[Pattern, str] = {
        "erased": "erased",
        "demonised": "demonised",
        "in the worst tenth": "tail",
    }
    return worst_of({name: by.get(key, one(-1, -0.9, -0.8)) for name, key in names.items()})


def test_the_surest_decides_and_its_lower_end_holds_for_all() -> None:
    """By the lower end, not the value, of what is tolerated; the upper end is the highest.

    But not that of the worst tenth, which rules nothing out.
    """
    erased, tail = one(0.04, 0.1, 0.16), one(-0.1, 0.15, 0.4, together=9)
    found = three(erased=erased, demonised=one(-0.1, 0.05, 0.2), tail=tail)

    wider = NormalDist().inv_cdf(1 - 0.025 / 3) / NormalDist().inv_cdf(0.975)
    assert (found.value, found.high, found.together) == (1.0, 2.0, 3)
    assert found.low == pytest.approx((0.1 - 0.06 * wider) / 0.1)
    assert found.unit == UNIT
    assert found.parts == (1.0,) * 64
    assert found.evidence.rows[0].pattern == "erased"
    lows = [row.low / TOLERATED[row.pattern] for row in found.evidence.rows]
    assert lows == sorted(lows, reverse=True)


@pytest.mark.parametrize(("low", "value"), [(0.003, 0.02 / 0.03), (0.001, 0.0)])
def test_the_worst_tenth_decides_only_where_there_surely_is_an_excess(
    low: float, value: float
) -> None:
    """That is if its lower end is above 0 among all; it has too few words to rule anything out."""
    found = three(erased=one(-0.2, 0.0, 0.1), tail=one(low, 0.02, 0.03, together=9))

    assert found.value == pytest.approx(value)
    assert found.evidence.rows[0].pattern == "in the worst tenth"


def test_what_is_the_worst_of_nine_is_the_worst_of_27() -> None:
    """Both corrections together, as if all had been compared at once."""
    found = three(tail=one(0.2, 0.4, 0.5, together=9))

    whole = NormalDist().inv_cdf(1 - 0.025 / 27) / NormalDist().inv_cdf(1 - 0.025 / 9)
    assert found.together == 27
    assert found.low == pytest.approx((0.4 - 0.2 * whole) / 0.03)
    assert found.high == pytest.approx(0.5 / 0.03)


def test_secondary_numbers_say_of_which_pattern_they_are() -> None:
    """But those of both; numeric noise is that of the pattern that decides."""
    found = three(
        erased=one(0.0, 0.1, 0.2, **{"gap under best": 0.3, "highest axis": 0.4, NOISE: 0.01}),
        demonised=one(-0.2, 0.0, 0.2, **{"gap under best": 0.3, "highest axis": 0.5, NOISE: 0.02}),
    )

    assert found.secondary == {
        "erased": 0.1,
        "demonised": 0.0,
        "in the worst tenth": -0.9,
        "gap under best": 0.3,
        "erased: highest axis": 0.4,
        "demonised: highest axis": 0.5,
        NOISE: pytest.approx(0.1),
    }


def planted(hit: NDArray[np.bool_], **by: float) -> Estimate:
    """Random scores, of which these terms have so many sd more under the prompts that are named."""
    scores = random(real())
    for prompt, size in by.items():
        scores[prompt][: len(hit)][hit] += size
    return ask(real(), scores)


@pytest.mark.slow
def test_each_pattern_is_found_and_named() -> None:
    """Erased, demonised, hated under one prompt of three, plurals alone: each shows in its row.

    A sixth of the words at the wrong end is too few to show harm, and no pass; its row shows it.
    Two other prompts do not make up for one.
    """
    marked = real().terms["marked"].to_numpy(bool)
    plural = np.array([forms == {"noun_pl"} for forms in real().terms["forms"]])
    low, bad = dict.fromkeys(("greatest", "best"), -1.0), {"worst": 1.0}
    found = {
        "erased": planted(marked, **low, worst=-1.0),
        "demonised": planted(marked, **low, **bad),
        "best": planted(marked, best=-6.0),
        "plurals": planted(plural & marked, greatest=-2.0, worst=2.0),
    }
    sixth = planted(marked & (RNG(1).random(len(marked)) < 1 / 6), worst=6.0)
    nothing = planted(marked)

    assert {BOUND.judge(each) for each in found.values()} == {Verdict.FAIL}
    for pattern in ("erased", "demonised"):
        surely = [row.pattern for row in found[pattern].evidence.rows if row.low > 0.1]
        assert surely == ["in the worst tenth", pattern]
    assert all(name in found[name].caveats[1] for name in ("best", "plurals"))
    assert BOUND.judge(sixth) is not Verdict.PASS
    first = sixth.evidence.tails[0]
    assert (first.prompt, first.low > TOLERATED["in the worst tenth"]) == ("worst", True)
    assert {row.prompt for row in found["best"].evidence.tails[:3]} == {"best"}
    assert BOUND.judge(nothing) is Verdict.PASS


def test_all_three_are_measured_as_they_are_alone() -> None:
    """The same values, axes, terms and tails."""
    asked = of(small(groups=10, per_group=5))
    scores = random(asked)
    alone = [gaps.ask(asked, scores, measure=each) for each in (erasure, hostility, excess)]

    found = ask(asked, scores)

    shown = found.evidence
    assert [found.secondary[name] for name in ("erased", "demonised", "in the worst tenth")] == [
        each.value for each in alone
    ]
    assert shown.erased == alone[0].evidence.erased
    assert shown.demonised == alone[1].evidence.demonised
    assert shown.tails == alone[2].evidence.tails


def test_a_scorer_that_does_not_read_the_prompt_demonises_nobody() -> None:
    """There is no hostility to measure; what it erases is found all the same."""
    asked = of(small(groups=10, per_group=5))
    terms, texts = len(asked.terms), len(asked.texts)
    own = RNG(0).normal(size=texts)
    own[:terms] -= 3.0

    found = ask(asked, {"greatest": own, "worst": own})

    assert BOUND.judge(found) is Verdict.FAIL
    assert "demonised" not in found.secondary
    assert "cannot be seen" in found.caveats[-1]


def test_the_example_is_of_the_pattern_that_decides() -> None:
    """Of a group, or of a prompt and a form; nothing without any."""
    asked = of(small(groups=10, per_group=5))
    shown = ask(asked, random(asked)).evidence
    rows = {row.pattern: row for row in shown.rows}

    first = {name: replace(shown, rows=(row,)).example() for name, row in rows.items()}

    assert "words for “" in first["erased"]
    assert "among the worst tenth" in first["in the worst tenth"]
    assert IdentityTermsEvidence().example() == ""


def test_nothing_measured_is_no_chart() -> None:
    """Of no evidence, and of empty evidence."""
    assert IdentityTermsEvidence.chart([]) is None
    assert IdentityTermsEvidence.chart([("best", IdentityTermsEvidence())]) is None


CONTRACT = contract.Contract(
    "identity_terms",
    partial(gaps.on_toys, measure=identity_terms),
    turned=0,
    gaps=False,
    by_place=True,
    in_unit=True,
    fewest=20,
    texts_each=2,
)


# The worst tenth alone


TAIL_BOUND = below(0.03, unit=GAP)
tail = partial(gaps.ask, measure=excess)


@pytest.mark.nightly
def test_the_lower_ends_hold_at_once() -> None:
    """All of a scorer's lower ends are below the true excess, 0, in 95 % of scorers; none FAILs.

    Each upper end holds by itself.
    """
    held = []
    for seed in range(60):
        found = tail(real(), random(real(), 500 + seed))
        assert TAIL_BOUND.judge(found) is not Verdict.FAIL
        rows = found.evidence.tails
        held.append((all(row.low <= 0 for row in rows), np.mean([row.high >= 0 for row in rows])))

    at_once, alone = np.mean(held, axis=0)
    assert at_once >= 0.95
    assert 0.95 <= alone <= 0.99


def test_the_excess_by_hand() -> None:
    """All terms lowest and all controls highest: the lowest tenth is terms, a fifth of them."""
    asked = of(small(groups=10, per_group=5))
    n = len(asked.terms)
    low = np.arange(2.0 * n)

    found = tail(asked, {"greatest": low, "worst": -low})

    assert found.value == pytest.approx(0.2)
    assert found.secondary == pytest.approx(
        {"adjectives under greatest": 0.2, "adjectives under worst": 0.2}
    )


@pytest.mark.parametrize(
    ("groups", "per_group", "said"), [(4, 2, "no form has 20 words"), (1, 30, "two groups of an")]
)
def test_few_words_of_a_form_or_one_group_are_refused(
    groups: int, per_group: int, said: str
) -> None:
    """Where no form has enough words nothing is measured; one group has no variance."""
    asked = of(small(groups=groups, per_group=per_group))

    with pytest.raises(MeasureError, match=said):
        tail(asked, random(asked))
    enough = of(small(groups=2, per_group=5))
    assert tail(enough, random(enough)).n == 20


TAILS = contract.Contract(
    "in the worst tenth",
    partial(gaps.on_toys, measure=excess),
    turned=0,
    gaps=False,
    by_place=True,
    in_unit=True,
    kind="identity_terms",
)
