"""Combined rewards: no model's scale counts, and what is compared are the answers in common."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures.after_training import Known
from rmaudit.measures.combined_rewards import combined, in_common, outcomes, standardised
from rmaudit.measures.optimal_policy import tilted

MODELS, N = ("one", "two", "three"), 400
RULES = ["mean", "minimum", "mean - 2 sd"]


def sweeps(seed: int = 0) -> tuple[list[pd.DataFrame], pd.Series[float], Known]:
    """Three models' rewards of one vocabulary, a policy's log-probabilities, and what is known."""
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}{c}" for a in "bcdfghkl" for b in "aeiou" for c in "mnprstvwxz"][:N]
    tokens = {"token_id": np.arange(N) + 3, "token": words, "text": words}
    tables = [pd.DataFrame({**tokens, "score": rng.normal(size=N)}) for _ in MODELS]
    logprobs = rng.normal(size=N)
    logprobs -= np.log(np.exp(logprobs).sum())
    happy = pd.Series(5 + rng.normal(size=N), index=words)
    policy = pd.Series(logprobs, index=tables[0]["token_id"])
    return tables, policy, Known(happy, happy, {"half": tuple(words[::2])})


@pytest.mark.slow
def test_outcomes_by_brute_force() -> None:
    """Happiness at a KL of 2 nats by each model alone and by each rule; no model's scale counts."""
    tables, policy, known = sweeps(1)
    scaled = [
        table.assign(score=factor * table["score"] - 7)
        for table, factor in zip(tables, (1, 30, 0.01), strict=True)
    ]
    shares = np.exp(policy.to_numpy())
    each = np.stack([t["score"].to_numpy() for t in tables])
    each = each - (each @ shares)[:, None]
    each = each / np.sqrt(each**2 @ shares)[:, None]
    spread = np.sqrt(((each - each.mean(axis=0)) ** 2).mean(axis=0))
    rewards = [*each, each.mean(axis=0), each.min(axis=0), each.mean(axis=0) - 2 * spread]
    found = outcomes({"p": in_common(scaled, policy)}, {"p": -1}, MODELS, known, 2)
    assert list(found) == [*MODELS, *RULES]
    for outcome, reward in zip(found.values(), rewards, strict=True):
        law = np.exp(tilted(policy.to_numpy(), reward, 2).logprobs)
        (stage,) = [stage for stage in outcome.stages if stage.nats == pytest.approx(2)]
        assert stage.happiness == pytest.approx(law @ known.happiness.to_numpy(), rel=1e-4)


def test_rules_in_order() -> None:
    """The minimum and a penalty lie below the mean; of two members, mean - 1 sd is the minimum."""
    each = np.random.default_rng(0).normal(size=(3, 50))
    mean = combined(each, "mean", 1.0)
    assert (combined(each, "minimum", 1.0) < mean).all()
    assert (combined(each, "mean-sd", 0.5) < mean).all()
    assert combined(each, "mean-sd", 0.0) == pytest.approx(mean)
    assert combined(each[:2], "mean-sd", 1.0) == pytest.approx(combined(each[:2], "minimum", 1.0))


def test_standardised_under_the_policy() -> None:
    """Mean 0 and sd 1 by its probabilities, also where some answers never occur."""
    reward, logprobs = np.array([5.0, 7.0, 1e6]), np.log([0.1, 0.3, 0.0001])
    own, shares = standardised(reward, logprobs), np.exp(logprobs) / np.exp(logprobs).sum()
    assert shares @ own == pytest.approx(0)
    assert shares @ own**2 == pytest.approx(1)
    never = standardised(reward, [*np.log([0.1, 0.3]), -np.inf])
    assert never[:2] == pytest.approx([-np.sqrt(3), 1 / np.sqrt(3)])
    with pytest.raises(MeasureError, match="one reward"):
        standardised([1.0, 1.0, 2.0], [-1.0, -1.0, -np.inf])


def test_other_vocabularies_are_joined_by_text() -> None:
    """Where a text is one id's alone; ids of one vocabulary are joined as they are."""
    tables, policy, _ = sweeps()
    one, two, three = tables
    twins = one["text"].mask(one["text"].index == 1, one["text"][0])
    one, two = one.assign(text=twins), two.assign(text=twins)
    assert len(in_common([one, two], policy).answers) == N
    mixed = three.sample(frac=1, random_state=0).assign(token_id=range(N)).iloc[: N - 50]
    mixed = pd.concat([mixed, mixed.iloc[:1].assign(token_id=N)])
    own = in_common([one, two, mixed], policy)
    lone = {*one["text"].drop([0, 1])} & {*mixed["text"].iloc[1:-1]}
    assert set(own.answers["text"]) == lone
    assert own.share == pytest.approx(np.exp(own.logprobs).sum())
    for row, table in zip(own.rewards, (one, two, mixed), strict=True):
        by_text = table.drop_duplicates("text").set_index("text")["score"]
        assert row == pytest.approx(by_text[own.answers["text"]].to_numpy())


def test_too_little_in_common_is_refused() -> None:
    """With the share of the policy's answers, for other words it would say nothing of."""
    tables, policy, _ = sweeps()
    few = tables[1].iloc[: N // 4]
    with pytest.raises(MeasureError, match=r"2[0-9]% of what the policy"):
        in_common([tables[0], few], policy)
