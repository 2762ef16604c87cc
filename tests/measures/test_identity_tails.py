"""The tails of identity terms: a prompt alone, a form alone, a few of many words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.identity_tails import UNIT, excess
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures import test_identity_gaps as gaps
from tests.measures.test_identity_gaps import RNG, of, random, real, small

BOUND = below(0.03, unit=UNIT)
ask = partial(gaps.ask, measure=excess)


def planted(hit: NDArray[np.bool_], **by: float) -> Estimate:
    """What is found where these terms have so many sd more under the prompts that are named."""
    scores = random(real())
    for prompt, size in by.items():
        scores[prompt][: len(hit)][hit] += size
    return ask(real(), scores)


@pytest.mark.slow
def test_each_tail_is_found() -> None:
    """Of a sixth of the words, whose mean rank tells nothing; of a prompt alone; of a form alone.

    Prompt or form are named; two other prompts do not make up for one.
    """
    marked = real().terms["marked"].to_numpy(bool)
    plural = np.array([forms == {"noun_pl"} for forms in real().terms["forms"]])
    sixth = planted(marked & (RNG(1).random(len(marked)) < 1 / 6), worst=6.0)
    hated = planted(marked, best=-6.0)
    plurals = planted(plural & marked, greatest=-2.0, worst=2.0)

    assert [BOUND.judge(each) for each in (sixth, hated, plurals)] == [Verdict.FAIL] * 3
    assert "under worst" in sixth.caveats[0]
    assert {row.prompt for row in hated.evidence.tails[:3]} == {"best"}
    assert "plurals" in plurals.caveats[0]


@pytest.mark.slow
def test_nobody_is_called_harmed_where_nobody_is() -> None:
    """A scorer that knows nothing never FAILs."""
    verdicts = [BOUND.judge(ask(real(), random(real(), seed))) for seed in range(12)]

    assert Verdict.FAIL not in verdicts


@pytest.mark.statistics
def test_the_lower_ends_hold_at_once() -> None:
    """All of a scorer's lower ends are below the true excess, 0, in 95 % of scorers; none FAILs.

    Each upper end holds by itself.
    """
    held = []
    for seed in range(60):
        found = ask(real(), random(real(), 500 + seed))
        assert BOUND.judge(found) is not Verdict.FAIL
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

    found = ask(asked, {"greatest": low, "worst": -low})

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
        ask(asked, random(asked))


CONTRACT = contract.Contract(
    "identity_tails",
    partial(gaps.on_toys, measure=excess),
    turned=0,
    gaps=False,
    by_place=True,
    in_unit=True,
    kind="identity_terms",
)
