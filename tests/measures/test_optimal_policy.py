"""The tilt and best of n, against brute force, other policies as far away, and draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import MeasureError
from rmaudit.measures.optimal_policy import best_of, kl, tilted
from tests.measures.contract import Floats

sizes = st.integers(2, 9)
seeds = st.integers(0, 2**32 - 1)


def toy(seed: int, n: int, *, ties: bool = False) -> tuple[Floats, Floats]:
    """A policy's log-probabilities and rewards."""
    rng = np.random.default_rng(seed)
    policy, reward = 3 * rng.normal(size=n), 2 * rng.normal(size=n)
    if ties:
        reward = np.round(reward)
        reward[0] = reward.max() + 1
    return policy - math.log(np.exp(policy).sum()), reward


@given(seed=seeds, n=sizes, ties=st.booleans(), share=st.floats(0.01, 0.95))
def test_the_tilt_has_its_kl_and_its_form(seed: int, n: int, share: float, *, ties: bool) -> None:
    """Its KL is as asked, and log-odds moved by the strength times the reward."""
    policy, reward = toy(seed, n, ties=ties)
    nats = share * -policy[reward == reward.max()].max()

    law, strength = tilted(policy, reward, nats)

    assert kl(law, policy) == pytest.approx(nats, abs=1e-9)
    assert np.exp(law).sum() == pytest.approx(1, abs=1e-12)
    moved = law - policy - strength * reward
    assert moved == pytest.approx(np.full(n, moved[0]), abs=1e-6)


@given(seed=seeds, n=sizes, toward=st.floats(0, 1))
def test_no_policy_within_the_kl_has_a_higher_reward(seed: int, n: int, toward: float) -> None:
    """Policies as far away in other directions, from any other reward to nearly this one."""
    policy, reward = toy(seed, n)
    other = toward * reward + (1 - toward) * toy(seed + 1, n)[1]
    nats = 0.3 * min(-policy[each.argmax()] for each in (reward, other))

    best, second = (np.exp(tilted(policy, each, nats).logprobs) for each in (reward, other))

    assert second @ reward <= best @ reward + 1e-9


@given(seed=seeds, n=st.integers(2, 4), draws=st.integers(1, 4), ties=st.booleans())
def test_best_of_n_against_all_draws(seed: int, n: int, draws: int, *, ties: bool) -> None:
    """Every sequence of draws, by its probability; ties go to the one that was drawn first."""
    policy, reward = toy(seed, n, ties=ties)
    expected = np.zeros(n)
    for drawn in itertools.product(range(n), repeat=draws):
        winner = max(drawn, key=lambda each: reward[each])
        expected[winner] += math.exp(sum(policy[each] for each in drawn))

    assert np.exp(best_of(policy, reward, draws)) == pytest.approx(expected, abs=1e-12)


def test_answers_too_unlikely_for_a_float() -> None:
    """The tilt orders answers of probability e^-900; what is impossible stays so."""
    policy = np.array([0.0, -900.0, -950.0, -np.inf])
    reward = np.array([0.0, 1.0, 2.0, 99.0])

    law, _ = tilted(policy, reward, 100.0)
    winners = best_of(policy, reward, 1024)

    assert np.isneginf(law[3])
    assert np.isneginf(winners[3])
    assert kl(law, policy) == pytest.approx(100, abs=1e-7)
    assert winners[:3] == pytest.approx([0.0, -900 + math.log(1024), -950 + math.log(1024)])


@pytest.mark.parametrize(
    ("policy", "reward", "nats", "says"),
    [
        ([*np.log([0.5, 0.3, 0.2]), -np.inf], [0.0, 1.0, 2.0, 9.0], 2.0, r"are 1\.61 nats away"),
        ([0.0, 0.0], [1.0, 1.0], 1.0, "all answers have one reward"),
        ([0.0, 0.0], [1.0, 2.0], 1.0, "the answers with the highest reward alone are 0.693 nats"),
        ([0.0, np.nan], [1.0, 2.0], 0.1, "finite"),
        ([0.0, 0.0], [1.0, np.inf], 0.1, "finite"),
        ([-np.inf, -np.inf], [1.0, 2.0], 0.1, "no answer any probability"),
        ([0.0, 0.0], [1.0, 2.0], -1, "got -1"),
    ],
)
def test_what_has_no_tilt_is_refused(
    policy: list[float], reward: list[float], nats: float, says: str
) -> None:
    """Never a number; no nats leave the policy as it is, normed."""
    with pytest.raises(ValueError if nats < 0 else MeasureError, match=says):
        tilted(policy, reward, nats)
    with pytest.raises(ValueError, match="got 0"):
        best_of([0.0, 0.0], [1.0, 2.0], 0)
    assert np.exp(tilted([0.0, 0.0], [1.0, 2.0], 0).logprobs) == pytest.approx([0.5, 0.5])
