"""Onsets of harm: closed forms of two words, brute force, intervals of drawn worlds, no number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from rmaudit.errors import MeasureError
from rmaudit.measures.after_training_evidence import HAPPINESS, Onset
from rmaudit.measures.harm_onset import (
    ANSWERS,
    MOST,
    UNHAPPIER,
    TracedAnswers,
    onset_of,
    onsets,
    trace,
)
from rmaudit.measures.optimal_policy import kl, tilted
from tests.measures.contract import Floats

NAN = float("nan")


def prompt(
    shares: Floats, scores: Floats, happiness: Floats, junk: Floats, direction: int = 1
) -> TracedAnswers:
    """One answer for each word, with these shares of the policy's answers."""
    logs = np.log(np.asarray(shares, dtype=float))
    n = len(logs)
    known = np.asarray(happiness, dtype=float)
    kinds = {"junk": np.asarray(junk, dtype=bool)}
    rewards = np.asarray(scores, dtype=float)
    words = np.array([f"w{i}" for i in range(n)], dtype=object)
    return TracedAnswers(
        direction=direction,
        policy=logs,
        scores=rewards,
        word_number=np.arange(n),
        words=words,
        happiness=known,
        unwanted=kinds,
    )


def of(*prompts: TracedAnswers) -> dict[str, Onset]:
    """The onsets by harm."""
    return {each.harm: each for each in onsets(prompts)}


def nats_of(share: float, start: float) -> float:
    """The KL of a law of two words from another, by the share of one word in both."""
    return share * np.log(share / start) + (1 - share) * np.log((1 - share) / (1 - start))


@pytest.mark.parametrize("start", [0.01, 0.3])
def test_two_words_in_closed_form(start: float) -> None:
    """The word that is paid for is junk, and sadder by 5 points than the other."""
    found = of(prompt([start, 1 - start], [1, 0], [3, 8], [1, 0]))

    assert found["junk"].nats == pytest.approx(nats_of(start + ANSWERS, start), rel=5e-3)
    at = nats_of(start + UNHAPPIER / 5, start)
    assert found[HAPPINESS].nats == pytest.approx(at, rel=5e-3)


def test_happiness_turns_back_from_its_best() -> None:
    """A rare sad word has the highest reward: answers get happier, then worse than they were best.

    Where bad things are asked for, the first half of this way is the harm.
    """
    shares, rewards = np.array([0.9, 0.0999, 1e-4]), np.array([0.0, 1.0, 1.5])
    happy = np.array([5.0, 8.0, 1.0])

    found = of(prompt(shares, rewards, happy, [0, 0, 0]))[HAPPINESS]

    def mean(nats: float) -> float:
        return float(np.exp(tilted(np.log(shares), rewards, nats).logprobs) @ happy)

    grid = np.linspace(0, 9, 200)
    best = grid[np.argmax([mean(nats) for nats in grid])]
    turned = brentq(lambda nats: mean(best) - mean(nats) - UNHAPPIER, best, 9)
    assert found.nats == pytest.approx(turned, rel=1e-2)
    bad = of(prompt(shares, rewards, happy, [0, 0, 0], direction=-1))[HAPPINESS]
    rise = brentq(lambda nats: mean(nats) - mean(0) - UNHAPPIER, 0, best)
    assert bad.nats == pytest.approx(rise, rel=1e-2)


def world(seed: int, n: int = 400, slope: float = -0.6) -> TracedAnswers:
    """Words drawn anew, whose happiness falls with their reward; a tenth of them are junk."""
    rng = np.random.default_rng(seed)
    scores, liked, other = rng.normal(size=(3, n))
    happy = 5 + slope * scores + other
    return prompt(np.exp(0.5 * liked), scores, happy, rng.random(n) < 0.1)


def test_the_interval_over_stems_by_hand() -> None:
    """It begins where the fall of happiness and Student's reach of its jackknife make the limit.

    The reach is that of the difference of two samples of stems: √2 times a sample's own.
    """
    n, happy = 4, 4 - np.arange(4.0)
    answers = prompt(np.full(n, 1 / n), np.arange(n), happy, np.zeros(n))
    found = of(answers)[HAPPINESS]
    laws = [np.full(n, 1 / n), np.exp(tilted(answers.policy, answers.scores, found.low).logprobs)]

    start, law = ([np.delete(own, i) / (1 - own[i]) for i in range(n)] for own in laws)
    without = [(law[i] - start[i]) @ np.delete(happy, i) for i in range(n)]
    fall, error = (laws[0] - laws[1]) @ happy, np.linalg.norm(without - (laws[1] - laws[0]) @ happy)

    reach = stats.t.ppf(0.975, 1 / (laws[1] @ laws[1]) - 1) * np.sqrt(2) * error
    assert fall + reach == pytest.approx(UNHAPPIER, rel=2e-2)


def test_scale_and_order_change_nothing() -> None:
    """An affine change, and another order of answers; all shares times a constant."""
    one = world(0)
    order = np.random.default_rng(1).permutation(len(one.scores))
    changed = replace(
        one,
        policy=one.policy[order] + 3,
        scores=1e3 * one.scores[order] - 7,
        word_number=one.word_number[order],
    )
    found, again = of(one), of(changed)

    for harm, own in found.items():
        for end in ("nats", "low", "high", "traced"):
            assert getattr(again[harm], end) == pytest.approx(getattr(own, end), rel=1e-6)


def test_what_is_not_reached_is_no_number() -> None:
    """A sound reward: nothing begins, whether 16 nats can be reached or not; nothing is NaN."""
    near = of(prompt([0.5, 0.3, 0.2], [0, 1, 2], [2, 5, 8], [1, 0, 0]))
    shares = np.exp(-np.linspace(0, 40, 60))
    far = of(prompt(shares, np.arange(60), np.linspace(2, 8, 60), np.zeros(60)))

    assert [own.nats for own in near.values()] == [None, None]
    assert near["junk"].traced == pytest.approx(-np.log(0.2), rel=2e-3)
    assert far["junk"].traced == MOST
    assert far["junk"].how == "not within 16 nats"
    assert Onset("junk", 2.34, 1.81, None, MOST).how == "2.3 nats [1.8, beyond 16]"
    assert Onset("junk", None, 9.5, None, MOST).how == "not within 16 nats [9.5, beyond 16]"


def test_the_trace_has_the_nats_that_it_says() -> None:
    """At each step, under each prompt, within a thousandth or two."""
    prompts = [(own.policy, own.scores) for own in (world(4), world(5))]
    found = trace(prompts)

    for (policy, scores), strengths in zip(prompts, found.strengths, strict=True):
        start = tilted(policy, scores, 0.0).logprobs
        laws = [start + strength * scores for strength in strengths]
        reached = [kl(law - np.logaddexp.reduce(law), start) for law in laws]
        assert reached == pytest.approx(found.nats, rel=5e-3, abs=1e-9)


def test_the_interval_is_the_limit_inside_the_interval_of_the_size() -> None:
    """Of a size with a known reach; a limit that is passed at the start begins there."""
    nats = np.linspace(0, 4, 5)

    found = onset_of("x", nats, nats - 2.5, np.full(5, 1.0))

    assert (found.nats, found.low, found.high) == (2.5, 1.5, 3.5)
    assert onset_of("x", nats, nats + 1, np.zeros(5)).nats == 0
    assert onset_of("x", nats, nats - 3.5, np.ones(5)).high is None


@pytest.mark.nightly
def test_intervals_over_stems_hold_the_onset_with_other_words() -> None:
    """Pairs of worlds of 400 words from one population: one predicts the onset in the other."""
    found = [of(world(seed))[HAPPINESS] for seed in range(100, 340)]

    inside = [
        (own.low or 0) <= (np.inf if other.nats is None else other.nats) <= (own.high or np.inf)
        for own, other in zip(found[::2], found[1::2], strict=True)
    ]
    assert 0.9 <= np.mean(inside) <= 0.99


@pytest.mark.nightly
def test_intervals_over_prompts_hold_the_onset_under_others() -> None:
    """Draw three prompts and three others from one population of prompts, 400 times."""
    rng = np.random.default_rng(3)

    def asked() -> TracedAnswers:
        scores = np.array([0.0, 1.0, 2.0])
        return prompt(rng.dirichlet([40, 20, 2]), scores, [5, 5, 5], [0, 0, 1])

    inside = []
    for _ in range(400):
        own, other = (of(asked(), asked(), asked())["junk"] for _ in range(2))
        assert other.nats is not None
        inside.append((own.low or 0) <= other.nats <= (own.high or np.inf))
    assert 0.92 <= np.mean(inside) <= 0.98


def test_one_reward_has_no_trace() -> None:
    """It is refused, as is a reward that is no number."""
    for scores, says in (([1, 1], "one reward"), ([1, NAN], "finite")):
        with pytest.raises(MeasureError, match=says):
            of(prompt([0.5, 0.5], scores, [3, 8], [1, 0]))
