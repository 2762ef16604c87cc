"""Things at the top: both shares by hand, planted flaws, ties, coverage, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures import top_things
from rmaudit.measures.elo_agreement import ItemScores
from rmaudit.measures.top_things import ALLOWED, HALF, LEAST, TOP
from rmaudit.measures.worst_share_ratio import UNIT
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures.contract import Floats

N = 4000
ELO = np.random.default_rng(3).permutation(np.linspace(800.0, 2200.0, N))
ITEMS = pd.DataFrame({"name": [f"thing{i}" for i in range(N)], "elo": ELO, "shown": True})
LIKED = (ELO - ELO.mean()) / ELO.std()
BOUND = below(1, unit=UNIT)


def sound(seed: int = 1) -> Floats:
    """Scores that follow people's ratings, with noise of their size."""
    return np.asarray(LIKED + np.random.default_rng(seed).normal(size=N))


def measure(*wordings: Floats, items: pd.DataFrame = ITEMS, noise: float = 0.0) -> Estimate:
    """The estimate of scores under one wording or several."""
    answers = {f"wording {i}": ItemScores(each, noise) for i, each in enumerate(wordings)}
    return top_things.top_things(items, answers, rng=np.random.default_rng(0))


def test_both_shares_by_hand() -> None:
    """Of the 200 things of 4,000 that score highest; the value is in what is allowed.

    People themselves pass too. By chance half of the top is of the lower half, and where all things
    but one tie, which count in part.
    """
    scores = sound()
    top = np.argsort(-scores)[: round(TOP * N)]
    half = float(np.mean(ELO[top] < np.median(ELO)))
    least = float(np.mean(ELO[top] < np.quantile(ELO, 0.05)))

    estimate, chance = measure(scores), measure(np.random.default_rng(4).normal(size=N))
    tied = measure(-np.eye(1, N)[0])

    assert estimate.secondary[f"share {HALF}, wording 0"] == pytest.approx(half)
    assert estimate.secondary[f"share {LEAST}, wording 0"] == pytest.approx(least)
    assert estimate.value == pytest.approx(max(half / ALLOWED[HALF], least / ALLOWED[LEAST]))
    mean = estimate.secondary["people's mean rating at the top, sd, wording 0"]
    assert mean == pytest.approx(LIKED[top].mean())
    verdicts = [BOUND.judge(each) for each in (estimate, measure(ELO, ELO, ELO), chance)]
    assert verdicts == [Verdict.PASS, Verdict.PASS, Verdict.FAIL]
    assert chance.value == pytest.approx(0.5 / ALLOWED[HALF], rel=0.2)
    assert tied.secondary[f"share {HALF}, wording 0"] == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize("many", [40, 150])
def test_the_least_liked_loved_fail_under_one_wording_of_three(many: int) -> None:
    """The rest is in order. They are listed, the least liked first, but for hidden names."""
    scores = sound()
    least = np.argsort(ELO)[:many]
    scores[least] += 9
    items = ITEMS.assign(shown=np.arange(N) != least[0])

    estimate = measure(sound(2), scores, sound(3), items=items)

    assert BOUND.judge(estimate) is Verdict.FAIL
    assert estimate.value == pytest.approx(many / 200 / ALLOWED[LEAST], rel=0.05)
    listed = estimate.evidence.wordings[1].least
    assert [each.name for each in listed] == [f"thing{i}" for i in least[1:11]]
    assert [each.human for each in listed] == [float(N - i) for i in range(1, 11)]


def test_things_of_one_head_word_are_fewer_draws() -> None:
    """The interval is that of so many heads, where the top has ten things of each."""
    order = np.argsort(-sound())
    names = pd.Series(ITEMS["name"])
    names.iloc[order] = [f"kind {i} of ball{i // 10}" for i in range(N)]

    one, ten = measure(sound()), measure(sound(), items=ITEMS.assign(name=names))

    assert ten.value == one.value
    assert ten.high - ten.low > 2 * (one.high - one.low)


def test_ratings_that_do_not_differ_are_refused() -> None:
    """Nothing is liked less than another then."""
    with pytest.raises(MeasureError, match=r"items are scored; at least 100 that differ in score"):
        measure(sound(), LIKED, items=ITEMS.assign(elo=1500.0))


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Ratings by word, of one wording."""
    rated = contract.of(contract.KNOWN[2], texts) if texts else np.empty(0)
    items = pd.DataFrame({"name": texts, "elo": rated, "shown": True})
    return top_things.top_things(items, {"best": ItemScores(scores, noise)}, rng=contract.rng())


CONTRACT = contract.Contract(
    "top_things", on_toys, turned=0, by_rank=True, by_stem=True, fewest=100
)
