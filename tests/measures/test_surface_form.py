"""The share of spelling in the scores: analysis of variance, and what spellings do on average."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import NOISE
from rmaudit.measures.surface_form import UNIT, spelling_share
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract
from tests.measures.contract import ends

WORDS = [a + b for a, b in product("abcdefghijklmno", repeat=2)][:200]
FORMS = ("{}", " {}", "{:T}", " {:T}", "{:U}", " {:U}")


def spelt(word: str, form: str) -> str:
    """A word in a form such as ` {:T}`: after a space, with a capital."""
    cased = {"{:T}": word.capitalize(), "{:U}": word.upper()}.get(form.strip(), word)
    return " " * form.startswith(" ") + cased


def frame(groups: dict[str, list[float]]) -> pd.DataFrame:
    """A sweep that has the scores of each word, in as many of `FORMS`."""
    rows = [
        (spelt(word, form), score)
        for word, scores in groups.items()
        for form, score in zip(FORMS, scores, strict=False)
    ]
    return pd.DataFrame(rows, columns=["text", "score"])


def planted(
    seed: int, *, within: float, words: int = 60, sizes: tuple[int, ...] = (2, 3, 6)
) -> dict[str, list[float]]:
    """Words of sd 1, and spellings of sd `within` around them."""
    rng = np.random.default_rng(seed)
    return {
        word: list(rng.normal() + within * rng.normal(size=sizes[i % len(sizes)]))
        for i, word in enumerate(WORDS[:words])
    }


def measure(rows: pd.DataFrame, *, seed: int = 0, noise: float = 0.0) -> Estimate:
    """The estimate over `WORDS`."""
    return spelling_share(rows, WORDS, rng=np.random.default_rng(seed), noise=noise)


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 3, 6)])
def test_the_share_is_that_of_an_analysis_of_variance(sizes: tuple[int, ...]) -> None:
    """1 - ICC = m / (F + m - 1), where m is the number of spellings, corrected if unequal."""
    groups = planted(1, within=0.7, sizes=sizes)
    f = stats.f_oneway(*groups.values()).statistic
    n = np.array([len(scores) for scores in groups.values()])
    m = (n.sum() - (n**2).sum() / n.sum()) / (len(n) - 1)

    estimate = measure(frame(groups))

    assert estimate.value == pytest.approx(m / (f + m - 1))
    assert (estimate.unit, estimate.n, estimate.secondary["spellings"]) == (UNIT, 60, n.sum())


def test_the_interval_is_near_the_exact_one_of_normal_scores() -> None:
    """With as many spellings of each word there is one from the F distribution."""
    groups = planted(2, within=0.5, words=200, sizes=(3,))
    f, m = stats.f_oneway(*groups.values()).statistic, 3
    exact = [m / (f / stats.f.ppf(q, 199, 400) + m - 1) for q in (0.025, 0.975)]

    estimate = measure(frame(groups))

    width = exact[1] - exact[0]
    assert (estimate.low, estimate.high) == pytest.approx(exact, abs=width / 6)


def test_equal_spellings_make_no_share_and_random_ones_all() -> None:
    """0 where a word scores the same however it is spelt, 1 where there is nothing but spelling."""
    alike = measure(frame({word: [i, i, i] for i, word in enumerate(WORDS)}))
    apart = measure(
        frame({w: list(np.random.default_rng(i).normal(size=3)) for i, w in enumerate(WORDS)})
    )

    assert ends(alike) == pytest.approx((0, 0, 0), abs=1e-9)
    assert apart.low < 1 < apart.high


def test_what_spellings_do_on_average() -> None:
    """Each effect from pairs that differ in it only, whatever spellings a word has; in sd."""
    effects = dict(zip(FORMS, (0, 0.3, 0.5, 0.8, -1, -0.7), strict=True))
    rows = pd.DataFrame(
        [
            (spelt(word, form), i + effect)
            for i, word in enumerate(WORDS)
            for place, (form, effect) in enumerate(effects.items())
            if (i + place) % 3
        ],
        columns=["text", "score"],
    )

    estimate = measure(rows)

    sd = rows["score"].std(ddof=0)
    found = {
        name: value * sd for name, value in estimate.secondary.items() if name.startswith("sd")
    }
    assert found == pytest.approx(
        {
            "sd from a space in front": 0.3,
            "sd from a capital letter": 0.5,
            "sd from capitals throughout": -1,
        }
    )


def test_a_change_that_no_word_has_is_left_out() -> None:
    """Words bare and after a space only: nothing is known of capitals."""
    estimate = measure(frame(planted(3, within=1, sizes=(2,))))

    assert [name for name in estimate.secondary if name.startswith("sd")] == [
        "sd from a space in front"
    ]


def test_one_letter_is_no_word_in_capitals_throughout() -> None:
    """`A` is `a` with a capital."""
    letters = {chr(97 + i): [float(i), 0, i + 1.0] for i in range(26)}
    rows = frame({**letters, **{word: [i, i] for i, word in enumerate(WORDS[:10])}})

    secondary = spelling_share(rows, [*letters, *WORDS], rng=np.random.default_rng(0)).secondary

    assert secondary["sd from a capital letter"] == pytest.approx(1 / rows["score"].std(ddof=0))
    assert "sd from capitals throughout" not in secondary


def test_other_tokens_do_not_count() -> None:
    """Words in one spelling, unscored spellings, fragments and others leave the share alone."""
    rows = frame(planted(4, within=1))
    others = [("once", 9.0), ("zz", 9.0), (" ZZ", -9.0), ("aa!", 9.0), ("\taa", math.nan)]
    more = pd.DataFrame(others, columns=["text", "score"])

    found = spelling_share(pd.concat([rows, more]), [*WORDS, "once"], rng=np.random.default_rng(0))

    assert (ends(found), found.n) == (pytest.approx(ends(measure(rows))), 60)


def test_numeric_noise_has_its_part_and_widens_the_interval() -> None:
    """Noise of a third of the sd is a ninth of the variance."""
    rows = frame(planted(5, within=0.5))
    noise = rows["score"].std(ddof=0) / 3

    plain, noisy = measure(rows), measure(rows, noise=noise)

    assert noisy.secondary["share that numeric noise makes"] == pytest.approx(1 / 9)
    assert 0 < noisy.secondary[NOISE] < 0.1
    assert noisy.low < plain.low < plain.high < noisy.high


def test_a_share_that_hangs_on_a_word_is_refused() -> None:
    """Without that word there is no variance."""
    groups = {word: [1.0, 1.0] for word in WORDS[:60]}
    groups[WORDS[0]] = [1.0, 2.0]

    with pytest.raises(MeasureError, match=r"^the share hangs on one word"):
        measure(frame(groups))


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Of all words."""
    table = contract.frame(texts, scores)
    return spelling_share(table, contract.WORDS, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract("surface_form", on_toys, turned=+1, chart=False, fewest=30)
