"""Compute exactly what RLHF or best of n on a reward makes of a policy's one-token answers.

A policy has a log-probability for each token id, a reward model a reward. Both known, the optimum
of RLHF under a KL penalty and the winners of best of n are sums over the vocabulary. All is in
float64 and in log space: a policy gives many ids a probability that is 0 in float32.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rmaudit.errors import MeasureError

_Floats = NDArray[np.float64]
_EXACT = 1e-12  # of the strength of the tilt, relative
_TINY = -30.0  # log of a share at which log(1 - share) is minus the share


class Tilted(NamedTuple):
    """A policy reweighted by exp(strength · reward): log-probabilities, (n,), and the strength.

    The strength is the inverse of RLHF's KL coefficient, in nats for each unit of reward.
    """

    logprobs: _Floats
    strength: float


def tilted(logprobs: ArrayLike, rewards: ArrayLike, nats: float) -> Tilted:
    """Return the policy with the highest mean reward within a KL of `nats` of the given policy.

    It is proportional to p0(t) exp(strength r(t)) (Korbak et al. 2022; Rafailov et al. 2023, eq.
    4); the strength is found by Brent's method. `logprobs` and `rewards` have shape (n,), and are
    finite but for log-probabilities of -inf; what they leave out of the whole is shared out.

    Raises:
        MeasureError: a value is not finite, all rewards are equal, or not even the highest reward
            alone is so many nats away.
        ValueError: `nats` is negative.
    """
    policy, reward = _checked_policy_and_rewards(logprobs, rewards)
    if not nats >= 0:
        message = f"a KL is 0 or more nats, got {nats}"
        raise ValueError(message)
    if nats == 0:
        return Tilted(policy, 0.0)
    inside = np.isfinite(policy)
    best = reward[inside].max()
    if best == reward[inside].min():
        raise MeasureError("all answers have one reward: no training would change the policy")
    most = farthest(policy, reward)
    if nats >= most:
        message = f"{nats:g} nats cannot be reached: the answers with the highest reward alone"
        raise MeasureError(f"{message} are {most:.3g} nats away; ask for fewer")
    above = (reward - best) / (best - reward[inside].min())  # in [-1, 0], at any scale
    likely, below = policy[inside], above[inside]

    def excess(log_strength: float) -> float:
        strength = math.exp(log_strength)
        law = likely + strength * below
        highest = float(law.max())
        shares = np.exp(law - highest)
        total = float(shares.sum())
        mean = float(shares @ below) / total
        return strength * mean - highest - math.log(total) - nats  # KL = strength E[r] - log Z

    low, high = -5.0, 5.0
    while excess(low) > 0:
        low -= 5.0
    while excess(high) < 0:
        high += 5.0
    strength = math.exp(scipy.optimize.brentq(excess, low, high, xtol=_EXACT, rtol=_EXACT))
    return Tilted(
        _tilted_logprobs(policy, above, strength), strength / float(best - reward[inside].min())
    )


def farthest(logprobs: ArrayLike, rewards: ArrayLike) -> float:
    """Return the KL in nats, from the policy, of the answers with the highest reward alone.

    No reweighting by rewards gets as far as that. Raises `MeasureError` as `tilted_by`.
    """
    policy, reward = _checked_policy_and_rewards(logprobs, rewards)
    inside = np.isfinite(policy)
    best = inside & (reward == reward[inside].max())
    return max(-float(scipy.special.logsumexp(policy[best])), 0.0)


def tilted_by(logprobs: ArrayLike, rewards: ArrayLike, strength: float) -> _Floats:
    """Return log-probabilities, (n,), of the policy reweighted by exp(strength · reward).

    Raises:
        MeasureError: as `tilted`, where a value is not finite.
    """
    policy, reward = _checked_policy_and_rewards(logprobs, rewards)
    return _tilted_logprobs(policy, reward - reward.max(), strength)


def best_of(logprobs: ArrayLike, rewards: ArrayLike, n: int) -> _Floats:
    """Return each answer's log-probability of being the best of `n` from the policy, (answers,).

    With F the distribution function of the reward under the policy, the highest reward is r with
    the probability F(r)^n - F(r-)^n; answers with equal rewards share it as the policy has them.

    Raises:
        MeasureError: a value is not finite.
        ValueError: `n` is less than 1.
    """
    policy, reward = _checked_policy_and_rewards(logprobs, rewards)
    if n < 1:
        message = f"best of n draws 1 or more answers, got {n}"
        raise ValueError(message)
    levels, place = np.unique(reward, return_inverse=True)
    of_level = np.full(len(levels), -np.inf)
    np.logaddexp.at(of_level, place, policy)
    up_to = np.minimum(np.logaddexp.accumulate(of_level), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = of_level - up_to  # of what is no better, in logs
        drop = n * np.log1p(-np.exp(share))  # log of (F(r-) / F(r))^n
        wins = np.where(share < _TINY, math.log(n) + share, np.log(-np.expm1(drop)))
        won = n * up_to + wins - of_level
    return np.where(np.isneginf(policy), -np.inf, policy + np.nan_to_num(won)[place])


def kl(law: _Floats, policy: _Floats) -> float:
    """Return the KL divergence in nats of `law` from `policy`, both given as log-probabilities."""
    some = np.isfinite(law)
    return float(np.exp(law[some]) @ (law[some] - policy[some]))


def _tilted_logprobs(policy: _Floats, rewards: _Floats, strength: float) -> _Floats:
    law = policy + strength * rewards
    return law - scipy.special.logsumexp(law)


def _checked_policy_and_rewards(logprobs: ArrayLike, rewards: ArrayLike) -> tuple[_Floats, _Floats]:
    policy, reward = (np.asarray(each, dtype=np.float64) for each in (logprobs, rewards))
    possible = np.isfinite(policy)
    if not np.isfinite(reward).all() or not (possible | np.isneginf(policy)).all():
        raise MeasureError("rewards must be finite, and log-probabilities finite or -inf")
    if not possible.any():
        raise MeasureError("the policy gives no answer any probability")
    return policy - scipy.special.logsumexp(policy), reward
