"""Whether a model can take another's place: regret by simulation and by hand, its interval; tau."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.model_agreement import UNIT, ModelAgreementEvidence, regret
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract
from tests.measures.test_ranking_comparison import compare, sweep

RNG = np.random.default_rng


def replace(model: pd.DataFrame, baseline: pd.DataFrame, **given: Any) -> Any:
    """Regret over all words, with a fixed generator."""
    bare = baseline["text"].str.strip().str.lower()
    words = pd.Index(bare[bare.str.isalpha()].unique())
    return regret(model, baseline, given.pop("words", words), rng=RNG(0), **given)


def test_a_model_can_take_its_own_place() -> None:
    """Regret 0 with an interval of no width; tau and overlaps are 1."""
    estimate = replace(sweep(), sweep())

    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((0, 0, 0), abs=1e-12)
    assert estimate.secondary["RBO from the top, all tokens"] == pytest.approx(1)
    assert estimate.secondary["RBO from the bottom, all tokens"] == pytest.approx(1)
    assert estimate.secondary["tau-b of these words"] == 1
    # The best of 16 of 200 has the mean rank 16 · 201 / 17: a percentile of that less a half.
    own = estimate.secondary["the baseline's own gain, percentiles"]
    assert own == pytest.approx(100 * ((16 * 201 / 17 - 0.5) / 200 - 0.5))
    assert below(0.05, unit=UNIT).judge(estimate) is Verdict.PASS


@pytest.mark.parametrize("levels", [0, 4])
def test_regret_is_that_of_picks(levels: int) -> None:
    """As 40,000 draws of sixteen words have it, with ties among the picker's scores or without."""
    model, baseline = sweep(60, noise=1), sweep(60)
    if levels:
        model["score"] = np.repeat(np.round(model["score"].to_numpy()[::3]).clip(-2, 2), 3)
    words = [frame.groupby(frame["text"].str.strip().str.lower(), sort=True)["score"].mean()
             for frame in (model, baseline)]  # fmt: skip
    percentile = (stats.rankdata(words[1]) - 0.5) / 60 - 0.5
    drawn = RNG(1).random((40_000, 60)).argsort(axis=1)[:, :16]  # in random order: ties too
    gain = [percentile[np.take_along_axis(drawn, side.to_numpy()[drawn].argmax(axis=1)[:, None], 1)]
            .mean() for side in words]  # fmt: skip

    assert replace(model, baseline).value == pytest.approx(1 - gain[0] / gain[1], abs=0.01)


def test_junk_and_outliers_do_not_decide() -> None:
    """Only real words count, and only their order: not 166 spaces, nor a score of 1e6."""
    model, baseline = sweep(noise=0.5), sweep()
    junk = pd.DataFrame({"text": [" " * i for i in range(1, 167)], "score": 50 * np.arange(166.0)})
    far = [baseline.copy(), pd.concat([baseline, junk])]
    far[0].loc[baseline["score"].idxmax(), "score"] = 1e6
    expected = replace(model, baseline)

    more = replace(pd.concat([model, junk.assign(score=-junk["score"])]), far[1])
    assert (more.value, more.low, more.high) == (expected.value, expected.low, expected.high)
    assert more.secondary["tau-b of all shared tokens"] < 0.3
    assert replace(model, far[0]).value == pytest.approx(expected.value, abs=0.01)


def test_noise_of_either_model_widens() -> None:
    """In that model's own units: the contract has that of the model, here is the baseline's."""
    model, baseline = sweep(), sweep(noise=1)
    own, other = (
        replace(model, baseline.assign(score=unit * baseline["score"]), baseline_noise=unit * 0.5)
        for unit in (1.0, 1024.0)
    )

    assert own.secondary["numeric noise"] > 0
    assert other.secondary["numeric noise"] == pytest.approx(own.secondary["numeric noise"])


def test_evidence_names_what_moved() -> None:
    """The word that fell furthest, and the one that rose; the grid has all words.

    Models that agree at the top and not at the bottom have another RBO there.
    """
    model, baseline, other = sweep(), sweep(), sweep()
    for frame, sign in ((baseline, 1), (model, -1)):
        bare = frame["text"].str.strip().str.lower()
        frame.loc[bare == "wj", "score"] = sign * 99.0
        frame.loc[bare == "wi", "score"] = sign * -99.0
    other.loc[other["score"] < 0, "score"] *= -1e-9  # in reverse, still below the others

    evidence, ends = replace(model, baseline).evidence, replace(sweep(), other).secondary

    assert (evidence.fell[0].text, evidence.rose[0].text) == ("wj", "wi")
    assert evidence.fell[0].baseline > 0.99
    assert evidence.fell[0].model < 0.01
    assert np.array(evidence.cells).sum() == 200
    panel = ModelAgreementEvidence.chart([("best", evidence)]).panels[0]
    said = {fact.terms: fact.after for fact in panel.facts}
    assert said["wj",] == " fell from percentile 100 to 0"
    assert said["wi",] == " rose from percentile 0 to 100"
    assert ends["RBO from the top, all tokens"] == pytest.approx(1)
    assert ends["RBO from the bottom, all tokens"] < 0.2


@pytest.mark.parametrize(
    ("model", "baseline", "counts"),
    [
        (sweep(29), sweep(40), ("29 ", "29 and 29 distinct")),
        (sweep().assign(score=1.0), sweep(), ("200 ", "1 and 200 distinct")),
        (sweep(), sweep().iloc[:0], ("0 ", "0 and 0 distinct")),
    ],
)
@pytest.mark.parametrize("measure", [compare, replace])
def test_too_little_in_common(
    measure: Any, model: pd.DataFrame, baseline: pd.DataFrame, counts: tuple[str, str]
) -> None:
    """The error counts words and scores and says what is needed."""
    counted = counts[1] if measure is replace else ""
    with pytest.raises(MeasureError, match=f"^{counts[0]}.*{counted}.*at least 30"):
        measure(model, baseline)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """With a baseline that ranks by something else too."""
    liked = contract.of(contract.KNOWN[2], texts) + 0.1 * contract.second(texts)
    frames = contract.frame(texts, scores), contract.frame(texts, liked)
    words = pd.Index(contract.WORDS, dtype="str")
    return regret(*frames, words, rng=contract.rng(), noise=noise, baseline_noise=0.0)


CONTRACT = contract.Contract(
    "model_agreement", on_toys, turned=0, spelt=0.5, by_stem=True, fewest=30
)
