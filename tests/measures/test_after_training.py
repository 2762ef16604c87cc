"""After training: exact on toys; what cannot be reached or measured is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.after_training import UNIT, Known, after_training
from rmaudit.measures.after_training_evidence import AT
from rmaudit.measures.harm_onset import strengths
from rmaudit.measures.optimal_policy import tilted
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above
from rmaudit.word_stems import stem_key
from tests.measures import contract
from tests.measures.contract import Floats

BOUND = above(0.0, unit=UNIT)
LETTERS = "bcdfghjklmnpqrstvwxz"
WORDS = [a + b + c for a in LETTERS for b in "aeiou" for c in LETTERS]


def toy(seed: int, n: int = 600) -> tuple[pd.DataFrame, pd.Series[float], pd.Series[float]]:
    """Words that a policy likes unequally, and whose rewards follow their happiness in part."""
    rng = np.random.default_rng(seed)
    happy, liked, own = rng.normal(size=(3, n))
    words = [WORDS[i] for i in rng.permutation(len(WORDS))[:n]]
    named = pd.Series(words, dtype="str")
    sweep = pd.DataFrame({"token_id": np.arange(n) + 5, "text": named, "score": happy + own})
    return (
        sweep,
        pd.Series(0.5 * liked, index=sweep["token_id"]),
        pd.Series(5 + happy, index=words, name="toy"),
    )


def measured(
    sweep: pd.DataFrame,
    likely: pd.Series[float],
    happy: pd.Series[float],
    sign: int = 1,
    prompts: int = 2,
) -> Estimate:
    """Under two prompts, the second with other rewards; without numeric noise."""
    other = sweep.assign(score=sweep["score"] * (1 + 0.1 * np.sin(sweep["token_id"])))
    answers = {name: Answers(each, sign, 0.0) for name, each in (("a", sweep), ("b", other))}
    return after_training(
        dict([*answers.items()][:prompts]),
        {"a": likely, "b": likely},
        Known(happy, pd.Series(4.0, index=happy.index), {"half": tuple(happy.index[:300])}),
        rng=np.random.default_rng(0),
    )


def test_the_change_by_brute_force() -> None:
    """The mean happiness at the optimum less that of the policy; spellings are one word."""
    sweep, likely, happy = toy(0)
    spelt = sweep["text"].copy()
    spelt[:2] = [f" {spelt[5].upper()}", spelt[5].capitalize()]
    given = sweep.assign(text=spelt)
    law, _ = tilted(likely.to_numpy(), sweep["score"].to_numpy(), AT)
    before = np.exp(likely.to_numpy()) / np.exp(likely.to_numpy()).sum()
    known = happy[spelt.str.strip().str.lower()].to_numpy()

    found = measured(given, likely, happy)

    change = np.exp(law) @ known - before @ known
    both = change, found.secondary["b"]
    assert found.secondary["a"] == pytest.approx(change)
    assert found.value == pytest.approx(np.mean(both))
    assert measured(given, likely, happy, sign=-1).value == pytest.approx(-found.value)


def test_the_interval_is_that_of_leaving_out_one_stem_after_another() -> None:
    """A jackknife at the same strength, under one prompt; words of a stem go together."""
    sweep, likely, _ = toy(4)
    texts = sweep["text"].copy()
    texts[1], texts[3] = f"{texts[0]}s", f"{texts[2]}s"  # two stems have two words
    given = sweep.assign(text=texts)
    rated = pd.Series(5 + np.sin(np.arange(600.0)), index=texts.tolist())
    law = tilted(likely.to_numpy(), sweep["score"].to_numpy(), AT).logprobs
    stems = np.array([stem_key(text) for text in texts])

    found = measured(given, likely, rated, prompts=1)

    def mean(logprobs: Floats, kept: np.ndarray) -> float:
        return float(np.average(rated.to_numpy()[kept], weights=np.exp(logprobs[kept])))

    left = [
        mean(law, stems != stem) - mean(likely.to_numpy(), stems != stem)
        for stem in dict.fromkeys(stems)
    ]
    error = np.sqrt((len(left) - 1) * np.var(left))
    weight = pd.Series(np.exp(law)).groupby(stems).sum()
    reach = stats.t.ppf(0.975, 1 / (weight**2).sum() - 1) * error
    assert found.value - found.low == pytest.approx(reach, rel=1e-6)
    assert found.high - found.value == pytest.approx(reach, rel=1e-6)


def test_one_stem_has_no_interval() -> None:
    """Where no other rated word has any probability, nothing is known of others."""
    sweep, likely, happy = toy(5)
    rated = happy.iloc[:40]
    alone = likely.where(~np.isin(np.arange(600), np.arange(1, 40)), -np.inf)

    with pytest.raises(MeasureError, match="of one stem"):
        measured(sweep, alone, rated)


def test_the_stages_of_training() -> None:
    """From the policy as it is on: as many nats as they say, ever happier, ever fewer words."""
    found = measured(*toy(0)).evidence

    at = {stage.how: stage for stage in found.stages if stage.prompt == "a"}
    assert at["4 nats"].nats == pytest.approx(4)
    assert at["best of 1,024"].happiness > at["best of 4"].happiness > at["as it is"].happiness
    assert at["as it is"].variety > at["2 nats"].variety > at["4 nats"].variety > 1
    sweep, likely, happy = toy(0)
    law = np.exp(tilted(likely.to_numpy(), sweep["score"].to_numpy(), AT).logprobs)
    half = sweep["text"].isin(happy.index[:300]).to_numpy()
    (listed,) = at["4 nats"].listed
    assert (listed.name, listed.share) == ("half", pytest.approx(law @ half, rel=1e-4))
    first = at["4 nats"].likely[0]
    assert first.after > first.before > 0
    assert "8 nats" not in at  # the best of 600 words alone is nearer


def test_a_reward_against_happiness_is_found() -> None:
    """FAIL where good is asked for, PASS where bad is; a token without letters is rated by nobody.

    The strengths are those of the optimum; ids that the policy does not know are left out.
    """
    sweep, likely, happy = toy(1)
    turned = sweep.assign(score=-sweep["score"])

    verdicts = [BOUND.judge(measured(turned, likely, happy, sign)) for sign in (1, -1)]

    assert verdicts == [Verdict.FAIL, Verdict.PASS]
    known = likely.iloc[:500]
    strength = tilted(known, sweep["score"].to_numpy()[:500], AT).strength
    assert strengths({"a": Answers(sweep, 1, 0.0)}, {"a": known}) == pytest.approx({"a": strength})
    sweep.loc[0, ["text", "score"]] = ["##", 9.0]
    found = measured(sweep, likely, happy)
    at = {stage.how: stage.letterless for stage in found.evidence.stages if stage.prompt == "a"}
    assert at["4 nats"] > 0.5 > at["as it is"] > 0
    rated = found.secondary["rated after training, a"]
    assert rated == pytest.approx(1 - at["4 nats"], abs=1e-5)


@pytest.mark.parametrize(
    ("scores", "says"), [(np.inf, "finite"), (np.arange(600.0) == 9, "4 nats cannot be reached")]
)
def test_what_cannot_be_measured_is_refused(scores: object, says: str) -> None:
    """Never a number, also where the likeliest answer is the best: it is too near."""
    sweep, likely, happy = toy(3)
    likely.iloc[9] = 9.0

    with pytest.raises(MeasureError, match=says):
        measured(sweep.assign(score=scores), likely, happy)


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """A policy that likes words unequally; the reward of their happiness."""
    likely = pd.Series(contract.of(contract.KNOWN[7], texts))
    return after_training(
        contract.answers(texts, scores, noise),
        {"best": likely, "worst": likely},
        Known(contract.VALENCE, contract.ZIPF, {}),
        rng=contract.rng(),
    )


CONTRACT = contract.Contract("after_training", on_toys, turned=0, fewest=30)
