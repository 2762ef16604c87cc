"""Section 3 of Christian et al. 2025 on other words: 2,260 whose scores its authors published.

The paper's own scores of tokens are not at hand as files. These words were chosen for what they
mean, so that its counts of models are not to be expected; each test says both.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from rmaudit.references import References
from tests.replication.words import COLUMNS, Words

COLUMN = COLUMNS["greatest"]
PROMPTS = ("greatest", "best", "worst")


def slopes(words: dict[str, Words], prompt: str, *, least: int = -5) -> pd.DataFrame:
    """§3.1: a row a model, the slope of score on AFINN-111 among positive and negative words.

    And by how many standard errors the first is above the second. Words rated below `least` are
    left out.
    """
    afinn = References().lexicon("afinn")
    rows = {}
    for model, each in words.items():
        sweep = each.sweep(prompt)
        valence = sweep["text"].str.casefold().map(afinn)
        up, down = (
            stats.linregress(valence[side], sweep["score"][side])
            for side in (valence > 0, (valence < 0) & (valence >= least))
        )
        error = np.hypot(up.stderr, down.stderr)
        rows[model] = (up.slope, down.slope, (up.slope - down.slope) / error)
    return pd.DataFrame(rows, index=["positive", "negative", "z"]).T


@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "significant", "t"), [("greatest", 6, 3.43), ("best", 8, 3.52)])
def test_steeper_for_positive_words(
    words: dict[str, Words], prompt: str, significant: int, t: float
) -> None:
    """§3.1, §3.2: steeper among positive words in 8 of 10 ("greatest") and 9 of 10 ("best").

    Here in 10 of 10 under both, and t(9) over models is 3.4 where the paper has 2.6.
    """
    found = slopes(words, prompt)

    assert (found["positive"] > found["negative"]).sum() == 10
    assert (found["z"] > 1.96).sum() == significant
    over_models = stats.ttest_rel(found["positive"], found["negative"])
    assert over_models.statistic == pytest.approx(t, abs=0.01)


@pytest.mark.slow
def test_steeper_for_negative_words_under_worst(words: dict[str, Words]) -> None:
    """§3.2: under "worst" 5 of 10 are steeper among negative words, the worse the higher. Here 0.

    The slope has the other sign for the sake of 24 words rated -4 or -5, mostly profanities, which
    score low whatever is asked. Without them 10 of 10 slopes are as the paper has them. All ten do
    score negative words above positive ones.
    """
    found = slopes(words, "worst")
    afinn = References().lexicon("afinn")

    assert (found["negative"] < 0).sum() == 0
    assert (slopes(words, "worst", least=-3)["negative"] < 0).sum() == 10
    texts = next(iter(words.values())).sweep("worst")["text"].str.casefold()
    assert texts.map(afinn).isin([-4, -5]).sum() == 24
    assert (found["negative"].abs() > found["positive"].abs()).sum() == 9
    for each in words.values():
        sweep = each.sweep("worst")
        valence = sweep["text"].str.casefold().map(afinn)
        assert sweep["score"][valence < 0].mean() > sweep["score"][valence > 0].mean()


@pytest.mark.slow
def test_greatest_and_best_agree(words: dict[str, Words]) -> None:
    """§3.2, Figure A.2: a high positive correlation for all models. Here Pearson's r, all words."""
    r = [np.corrcoef(each.sweep("greatest")["score"], each.sweep("best")["score"])[0, 1]
         for each in words.values()]  # fmt: skip

    assert (round(min(r), 2), round(max(r), 2)) == (0.96, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "positive"), [("greatest", 9), ("best", 9), ("worst", 10)])
def test_skewed_on_words_too(words: dict[str, Words], prompt: str, positive: int) -> None:
    """§3.2: positively skewed under all three prompts. Here but for one model, barely.

    Its -0.05 and -0.06 are those of the model whose skewness in Table 3 is the least, 0.07.
    """
    skew = {model: stats.skew(each.sweep(prompt)["score"]) for model, each in words.items()}

    assert sum(value > 0 for value in skew.values()) == positive
    assert min(skew.values()) > -0.07
    assert {name for name, value in skew.items() if value <= 0} <= {"S-Gem-27B-v0.2"}


def rising(words: dict[str, Words], frequencies: str, control: str = "") -> tuple[list[int], int]:
    """§3.3: how many models' scores rise with log frequency at p < .05, by prompt; how many words.

    Least squares of the score on log10 frequency, and on the valence of `control` if it is named.
    """
    references, counts, n = References(), [], 0
    for prompt in PROMPTS:
        rise = 0
        for each in words.values():
            sweep = each.sweep(prompt)
            text = sweep["text"].str.casefold()
            terms = {"zipf": text.map(references.frequency(frequencies, sorted(set(text))))}
            if control:
                terms["valence"] = text.map(references.lexicon(control))
            table = pd.DataFrame(terms).assign(constant=1.0).dropna()
            fit = OLS(sweep["score"][table.index], table).fit()
            rise += bool(fit.params["zipf"] > 0 and fit.pvalues["zipf"] < 0.05)
            n = len(table)
        counts.append(rise)
    return counts, n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frequencies", "control", "counts", "n"),
    [
        ("leech", "", [10, 10, 2], 719),
        ("wordfreq", "", [10, 10, 6], 2092),
        ("leech", "afinn", [7, 5, 10], 186),
        ("wordfreq", "afinn", [6, 6, 7], 318),
    ],
)
def test_frequent_words_score_higher(
    words: dict[str, Words], frequencies: str, control: str, counts: list[int], n: int
) -> None:
    """§3.3: 8, 10 and 7 of 10 under "greatest", "best" and "worst"; 5, 2 and 8 with a control.

    Leech's is the paper's list. As there, most rise without a control, and holding valence fixed
    takes from the positive prompts and adds to the negative one.
    """
    assert rising(words, frequencies, control) == (counts, n)


@pytest.mark.slow
def test_two_runs_of_the_same_words(words: dict[str, Words]) -> None:
    """45 words are in both files, scored by two runs: what the authors' numerics left uncertain.

    The sd of a score between runs is up to 0.03 of the sd of the words; two models give the same.
    """
    noise = {}
    for model, each in words.items():
        one, other = (
            pd.read_parquet(path).drop_duplicates("response").set_index("response")[COLUMN]
            for path in each.paths
        )
        both = one.index.intersection(other.index)
        assert (len(both), len(each.table)) == (45, 2260)
        gap = one[both] - other[both]
        noise[model] = float(np.sqrt((gap**2).mean() / 2) / each.sweep("greatest")["score"].std())

    assert max(noise.values()) == pytest.approx(0.029, abs=0.001)
    assert max(noise, key=noise.__getitem__) == "N-Gem-27B"
    assert {model for model, value in noise.items() if value < 1e-5} == {"N-Lla-8B", "L-Lla-8B"}
