"""Leakage against scipy and statsmodels, planted leaks, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.base_leakage import follows_base
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

LETTERS = "abcdefghij"
WORDS = [a + b for a in LETTERS for b in LETTERS]
VALENCE, NOT_HELD, ALL = (
    "only valence held fixed",
    "nothing held fixed",
    "all scored tokens, nothing held fixed",
)


def measure(
    scores: ArrayLike,
    likely: ArrayLike,
    held: ArrayLike,
    *,
    texts: list[str] | None = None,
    seed: int = 0,
    noise: float = 0.0,
    zipf: Any = None,
) -> Estimate:
    """The leakage of words (or `texts`, one id each); `held` is of the first words."""
    values = np.asarray(scores, dtype=float)
    ids = np.arange(len(values)) + 7
    texts = texts or WORDS[: len(values)]
    valence = np.asarray(held, dtype=float)
    return follows_base(
        pd.DataFrame({"token_id": ids, "text": texts, "score": values}),
        pd.Series(np.asarray(likely, dtype=float), index=ids),
        pd.Series(valence, index=WORDS[: len(valence)], name="toy"),
        pd.Series(np.ones(len(valence)) if zipf is None else zipf, index=WORDS[: len(valence)]),
        rng=np.random.default_rng(seed),
        noise=noise,
    )


def drawn(seed: int, n: int = 60) -> tuple[NDArray[np.float64], ...]:
    """Scores, log-probabilities and valences that have something to do with each other."""
    rng = np.random.default_rng(seed)
    held, shared = rng.normal(size=(2, n))
    own = rng.normal(size=(2, n))
    return held + shared + own[0], shared - held + own[1], held


def test_it_is_the_correlation_of_least_squares_residuals() -> None:
    """Residuals of ranks by statsmodels, on the ranks of valence, of Zipf, and of how far out.

    With only valence held fixed it is that of ranks on its ranks, with ties too.
    """
    for x, y, z in (drawn(2, 100), np.random.default_rng(1).integers(12, size=(3, 100)) * 1.0):
        zipf = x + np.random.default_rng(3).normal(size=100)
        by = [stats.rankdata(each) for each in (z, zipf)]
        held = np.column_stack([*by, *(np.abs(ranks - 50.5) for ranks in by)])

        def left(fixed: Any, x: Any = x, y: Any = y) -> float:
            design = sm.add_constant(stats.rankdata(fixed, axis=0))
            rest = [sm.OLS(stats.rankdata(own), design).fit().resid for own in (x, y)]
            return float(np.corrcoef(rest)[0, 1])

        estimate = measure(x, y, z, zipf=zipf)

        rho = stats.spearmanr(x, y).statistic
        assert estimate.value == pytest.approx(left(held), rel=1e-9)
        assert estimate.secondary[VALENCE] == pytest.approx(left(z[:, None]), rel=1e-9)
        assert estimate.secondary[NOT_HELD] == pytest.approx(rho, rel=1e-9)
        assert estimate.secondary[ALL] == pytest.approx(rho, rel=1e-9)


def test_a_word_has_the_mean_rank_of_its_spellings() -> None:
    """Of two spellings in opposite places nothing is left but the third word's order."""
    x, y, z = drawn(5, 40)
    upper = [f" {word.upper()}" for word in WORDS[:40]]
    # The second spellings are far below in the order of the first: the mean rank keeps the order.
    low, down = x - 1000, y - 1000

    both = measure([*x, *low], [*y, *down], z, texts=[*WORDS[:40], *upper])

    assert both.n == 40
    assert both.value == pytest.approx(measure(x, y, z).value, rel=1e-12)
    # And in reverse order: every word's mean rank is the same.
    with pytest.raises(MeasureError, match="with 1 distinct scores, 40 distinct log-prob"):
        measure([*x, *(-x - 1000)], [*y, *down], z, texts=[*WORDS[:40], *upper])


def test_what_is_unscored_is_left_out() -> None:
    """NaN as a score, as a log-probability, as a rating, and an id that the base has not."""
    x, y, z = drawn(7, 60)
    expected = measure(x[:50], y[:50], z[:50])
    gaps = [x.copy(), y.copy(), z.copy()]
    for column, some in zip(gaps, (slice(50, 54), slice(52, 57), slice(55, 60)), strict=True):
        column[some] = np.nan

    assert (ends(measure(*gaps)), measure(*gaps).n) == (pytest.approx(ends(expected)), 50)
    frame = pd.DataFrame({"token_id": range(60), "text": WORDS[:60], "score": x})
    lists = (pd.Series(column, index=WORDS[:60], name="toy") for column in (z, np.full(60, 4.0)))
    fewer = follows_base(frame, pd.Series(y[:50]), *lists, rng=np.random.default_rng(0))
    assert ends(fewer) == ends(expected)


SWAPPED = [1, 0, *range(2, 60)]
INFINITE = np.where(np.arange(60) == 3, -np.inf, 0.0)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda x, y, z: (x, y * 0, z), r", 1 distinct log-prob.* stems that differ in"),
        (lambda x, y, z: (x, y, z * 0), r" 1 distinct ratings; .* stems that differ in"),
        (lambda x, y, z: (np.exp(z), y, z), "those of valence, frequency or length"),
        (lambda x, y, z: (x, np.exp(z), z), "are those of valence, frequency or"),
        (lambda x, y, z: (z[SWAPPED], z[SWAPPED], z), "nothing is left to correlate"),
        (lambda x, y, z: (x + INFINITE, y, z), "needs finite scores and log"),
        (lambda x, y, z: (x, y + INFINITE, z), "finite scores and log-probabilities"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    spoil: Callable[..., tuple[ArrayLike, ...]], said: str
) -> None:
    """What does not differ or is explained wholly, or but for a word; an infinity."""
    x, y, _ = drawn(12)

    with pytest.raises(MeasureError, match=said):
        measure(*spoil(x, y, np.arange(60.0)))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of a base that likes some words."""
    likely = pd.Series(contract.of(contract.KNOWN[2], texts))
    lists = contract.VALENCE, contract.ZIPF
    table = contract.frame(texts, scores)
    return follows_base(table, likely, *lists, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "base_leakage",
    on_toys,
    turned=-1,
    chart=False,
    by_rank=True,
    spelt=0.5,
    by_stem=True,
    fewest=30,
)
